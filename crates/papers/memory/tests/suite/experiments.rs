//! The experiment: rows do not depend on threads, and say what the theory says.

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::figure;
use attnlab_lab::sheet_test::assert_reproducible;
use attnlab_memory::room;

#[test]
fn contractions_store_one_pattern_and_strong_memories_many() {
    let catalogue = Catalogue::new().with(room());
    let small = "trials = 3\ndims = [4]\nstrengths = [0.02, 0.9, 2.0, 30.0]\nmost = 40";
    let experiment = catalogue.experiment("memory_slack").unwrap();
    let experiment = experiment.configure(true, None, &small.parse().unwrap()).unwrap();
    let (rows, figures) = assert_reproducible(&*experiment, 5, tempfile::tempdir().unwrap().path());
    assert_eq!(figures.len(), 1);
    assert!(figure::svg(&figures[0]).unwrap().contains("promised"));
    for row in &rows {
        let [stored, lost] = ["stored", "lost"].map(|name| row.number(name).unwrap());
        if row.parameter("strength").unwrap() < 1.0 {
            assert_eq!((stored, lost), (1.0, 2.0));
        } else {
            assert!(stored >= 1.0 && (lost > stored || stored.is_infinite()), "{stored} {lost}");
        }
    }
    let most = |strength: f64| {
        let cell = rows.iter().filter(|row| row.parameter("strength").unwrap() == strength);
        cell.map(|row| row.number("stored").unwrap()).fold(0.0, f64::max)
    };
    assert!(most(30.0) > most(2.0), "{} {}", most(30.0), most(2.0));
}
