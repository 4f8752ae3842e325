//! Readers of the laboratory: sweep files, expressions, settings, rows and manifests.

use crate::files::Files;
use attnlab_lab::catalogue::{Catalogue, Room};
use attnlab_lab::run::Origin;
use attnlab_lab::run::store::{self, Frame, Manifest, Repair, Row};
use attnlab_lab::sweep::{Axis, Expression, Of, Plan, Product, Sweep};
use attnlab_lab::toy;
use serde_json::Map;
use std::collections::BTreeSet;
use std::str::from_utf8;
use std::sync::LazyLock;
use toml::Table;

/// Claims and experiments of the sweeps and settings.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()])).with(attnlab_aot::room())
});

/// Expressions: the text is kept, and brackets and spaces around it change neither names nor value.
pub fn expression(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    let Ok(expression) = Expression::parse("x", text) else { return };
    assert_eq!(expression.text(), text);
    let names: BTreeSet<&str> = expression.names();
    let value = |expression: &Expression| expression.value(&|name| Some(1.5 + name.len() as f64)).to_bits();
    for around in [format!("({text})"), format!(" {text}\t+ 0 * 1"), format!("-(-({text}))")] {
        // The limits of length and depth may refuse it.
        if let Ok(same) = Expression::parse("x", &around) {
            assert_eq!(same.names(), names);
            let (value, same) = (value(&expression), value(&same));
            let both = [value, same].map(f64::from_bits);
            assert!(value == same || both[0] == both[1] || both.iter().all(|x| x.is_nan()), "{both:?}");
        }
    }
}

/// Largest number of cells of a sweep that are made.
const MAX_CELLS: usize = 500;

/// Sweep files: what `run.json` keeps restores the sweep, and a plan has a cell for each combination of the axes.
pub fn sweep(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    let Ok(sweep) = Sweep::parse(text, "sweep.toml".as_ref()) else { return };
    restored(&sweep);
    let length = |(_, axis): &(String, Axis)| match axis {
        Axis::List(values) => values.len(),
        Axis::Range(range) => range.steps as usize,
        Axis::Computed(_) => 1,
    };
    let cells = sweep.axes.iter().map(length).fold(1, usize::saturating_mul);
    if cells > MAX_CELLS {
        return;
    }
    if let Ok(product) = Product::new(&sweep.axes, &sweep.set) {
        assert_eq!(product.len(), cells);
        for cell in (0..cells).filter_map(|place| product.get(place).ok()) {
            assert!(cell.keys().eq(sweep.axes.iter().map(|(name, _)| name)));
            assert!(cell.values().all(|value| !value.is_null()), "{cell:?}");
        }
    }
    if let Of::Claim(_) = sweep.of
        && let Ok(plan) = Plan::new(&sweep, &CATALOGUE)
    {
        assert_eq!(plan.cells.len(), cells);
    }
}

/// Asserts that the settings of a sweep restore it from the text of `run.json`.
fn restored(sweep: &Sweep) {
    let read = reread(&Manifest::new("fuzz", sweep.seed, sweep.settings()));
    let again = Sweep::of_manifest(&read).expect("the settings are those of a sweep").expect("they name axes");
    assert_eq!(Sweep { origin: sweep.origin.clone(), ..again }, *sweep);
}

/// Writes a manifest and reads it again, which must give the same.
fn reread(manifest: &Manifest) -> Manifest {
    let text = serde_json::to_string(manifest).expect("a manifest has a JSON form");
    let read = serde_json::from_str(&text).expect("a manifest that was written can be read");
    assert_eq!(manifest, &read);
    read
}

/// Files of settings for experiments: what a run stores builds the same experiment.
pub fn settings(bytes: &[u8]) {
    let files = Files::new(bytes, &["settings.toml"]);
    for entry in CATALOGUE.experiments().filter(|entry| entry.lacks().is_none()) {
        for quick in [false, true] {
            let Ok(experiment) = entry.configure(quick, Some(&files.at("settings.toml")), &Table::new()) else {
                continue;
            };
            let stored = experiment.settings();
            assert_eq!(entry.with_settings(&stored).expect("stored settings build the experiment").settings(), stored);
        }
    }
}

/// `run.json` with what lies beside it: what is written again is the same, and a run differs in nothing from itself.
pub fn manifest(bytes: &[u8]) {
    let files = Files::new(bytes, &[Manifest::FILE, "inputs-0-of-2.json", Origin::FILE]);
    let _ = Origin::read(files.folder());
    let Ok(Some(manifest)) = Manifest::read(files.folder()) else { return };
    reread(&manifest);
    let streams = manifest.inputs.iter().any(|input| input.content == "stream");
    assert!(streams || manifest.difference(&manifest).is_none());
    assert_eq!(manifest.grown_to(&manifest), None);
    assert!(manifest.has_builds_of(&manifest));
    if let Ok(Some(sweep)) = Sweep::of_manifest(&manifest) {
        restored(&sweep);
    }
}

/// Files of rows: they are read if and only if a repair finds nothing but torn lines, and a row that is written again is
/// the same.
pub fn rows(bytes: &[u8]) {
    let files = Files::new(bytes, &["rows.jsonl", "rows-0-of-2.jsonl", "rows-1-of-2.jsonl"]);
    let manifest = Manifest { build: "attnlab of the corpus".into(), ..Manifest::new("demo", 5, Map::new()) };
    let text = serde_json::to_string(&manifest).expect("a manifest has a JSON form");
    files.add(Manifest::FILE, text.as_bytes());
    let repair = Repair::find(files.folder(), &Frame::without_cells(&manifest)).expect("the files can be read");
    let (torn, wrong): (Vec<_>, Vec<_>) = repair.faults.iter().partition(|fault| fault.why == "was torn by a kill");
    match store::read(files.folder()) {
        Err(e) => assert!(!wrong.is_empty(), "nothing to repair: {e}"),
        Ok(rows) => {
            assert!(wrong.is_empty(), "{wrong:?}");
            assert_eq!(rows.dropped.len(), torn.len());
            assert!(rows.rows.len() as u64 <= repair.kept);
            for row in &rows.rows {
                let text = serde_json::to_string(row).expect("a row has a JSON form");
                let again: Row = serde_json::from_str(&text).expect("a row that was written can be read");
                assert_eq!(row, &again);
            }
        }
    }
}
