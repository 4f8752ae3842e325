//! The experiments of in-context denoising, at small sizes: what their rows say, and that they draw.

use super::{configured, rows_of};
use attnlab_lab::experiment::Experiment;
use attnlab_lab::figure;
use attnlab_lab::run::Row;

fn rows(experiment: &dyn Experiment) -> Vec<Row> {
    let (rows, folder) = (rows_of(experiment), tempfile::tempdir().unwrap());
    let figures = experiment.figures(&rows).unwrap();
    assert_eq!(figure::write_all(&figures, folder.path()).unwrap().len(), 4 * figures.len());
    for figure in &figures {
        let words = figure.caption.split(|c: char| !c.is_alphanumeric());
        assert!(words.into_iter().all(|w| w != "NaN" && w != "inf"), "{}", figure.caption);
    }
    rows
}

#[test]
fn the_landscape_of_figure_3() {
    let rows = rows(&*configured("denoise_landscape", true, "grid = 20\nprompts = 400\nsteps = 30"));
    assert_eq!(rows.len(), 2);
    let series = |row: &Row, name: &str| row.series(name).unwrap();
    // At the printed noise the energy has one minimum, near the mean of the context, and all paths
    // end there whatever the query.
    let printed = &rows[0];
    assert_eq!(series(printed, "minimum_x").len(), 1);
    let mean = series(printed, "token_x").iter().sum::<f64>() / 20.0;
    let minimum = series(printed, "minimum_x")[0];
    assert!((minimum - mean).abs() < 0.05, "{minimum} {mean}");
    for i in 1..=4 {
        let path = series(printed, &format!("path_{i}_x"));
        assert_eq!(path.len(), 31);
        assert_eq!(path[0], series(printed, "query_x")[i - 1]);
        assert!((path[30] - minimum).abs() < 1e-9);
    }
    // The minimum is the lowest cell's neighbour: no cell of the landscape lies below it.
    for row in &rows {
        let lowest = series(row, "minimum_energy").into_iter().fold(f64::INFINITY, f64::min);
        assert!(series(row, "energy").iter().all(|e| *e >= lowest));
    }
    // With little noise the context decides: several minima.
    assert!(series(&rows[1], "minimum_x").len() > 1);
    // The loss of the query itself is n sigma_Z^2 = 20, up to its interval.
    let (low, high) = (series(printed, "loss_low")[0], series(printed, "loss_high")[0]);
    assert!(low < 20.0 * 1.1 && high > 20.0 * 0.9);
    // Predicting zero loses R^2 = 1.
    assert!((series(printed, "zero")[0] - 1.0).abs() < 1e-12);
    // The Bayes optimum is best, by more than chance.
    for row in &rows {
        let bayes = series(row, "bayes_high")[0];
        assert!(series(row, "loss").iter().all(|l| *l > bayes - 0.1));
    }
}

#[test]
fn clusters_too() {
    let set = "task = 'clusters'\nnoise = [0.2]\ngrid = 20\nprompts = 50\nsteps = 5\nbeta = 0.5";
    assert_eq!(rows(&*configured("denoise_landscape", true, set)).len(), 1);
}

#[test]
fn the_minimum_of_figure_6_is_displaced_at_finite_context_only() {
    let set = "trials = 2\nprompts = 500\npoints = 12\ncontexts = [60]\nambient = 6\nsphere_dim = 3";
    let rows = rows(&*configured("denoise_alpha_beta", true, set));
    assert_eq!(rows.len(), 2 * 2 * 2);
    for row in &rows {
        let (case, context) = (row.word("case").unwrap(), row.parameter("context").unwrap());
        let beta = row.number("beta_min").unwrap();
        // Of the same prompts, the minimum is no worse than the heuristic.
        assert!(row.number("more").unwrap() >= -1e-12);
        if case == "sphere" && context == 0.0 {
            // The valley is flat: .25 is the scatter at this size.
            assert!((beta / 10.0).ln().abs() < 1.0, "{beta}");
        }
        if case == "sphere" && context == 60.0 {
            assert!(beta < 7.0, "{beta}");
        }
    }
    let other = configured("denoise_alpha_beta", true, &set.replace("points = 12", "points = 14"));
    assert!(other.figures(&rows).is_err());
}
