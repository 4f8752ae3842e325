//! The maps of a sweep over a claim show what the summary of its cells says.

use crate::common::CATALOGUE;
use crate::sweeps::run;
use attnlab::claim::VerdictKind;
use attnlab::figure::{Figure, Scale};
use attnlab::folder::RunFolder;
use attnlab::run::store::Shard;
use attnlab::sweep::{self, CellMark, CellSummary};
use std::path::Path;

/// Runs the sweep `text` into `folder`: its cells and figures.
fn drawn(text: &str, folder: &Path) -> (Vec<CellSummary>, Vec<Figure>) {
    run(text, folder, Shard::WHOLE);
    let opened = RunFolder::open(folder, &CATALOGUE).unwrap();
    let cells = sweep::summarise(&opened.plan, &opened.stored).unwrap();
    let marks: Vec<CellMark> = cells.iter().map(CellSummary::mark).collect();
    let figures = sweep::figures(&opened.plan, &marks).unwrap();
    (cells, figures)
}

#[test]
fn a_map_shows_every_cell_as_the_summary_has_it() {
    let folder = tempfile::tempdir().unwrap();
    // Refuted for two clusters, supported for one.
    let text = "claim = 'aot.lemma2_16'\ntrials = 8\nbeyond_hypotheses = 'judge'\n[axes]\n\
                tokens = [200, 400]\ndim = [16, 32, 64]\nclusters = [1, 2]\n";
    let (cells, figures) = drawn(text, folder.path());
    let [figure] = &figures[..] else { panic!("{} figures", figures.len()) };
    assert_eq!(figure.name, "aot_lemma2_16");
    let titles: Vec<&str> = figure.panels.iter().map(|p| p.title.as_str()).collect();
    assert_eq!(titles, ["clusters = 1", "clusters = 2"]);
    let mut compared = 0;
    for (panel, k) in figure.panels.iter().zip([1, 2]) {
        assert_eq!((panel.x.label.as_str(), panel.y.label.as_str()), ("*tokens*", "*dim*"));
        assert_eq!(panel.y.scale, Scale::Log, "16, 32, 64");
        let heat = panel.heat.as_ref().unwrap();
        for cell in cells.iter().filter(|cell| cell.parameters["clusters"] == k) {
            let setting = |name: &str| cell.parameters[name].as_f64().unwrap();
            let i = heat.x.iter().position(|x| *x == setting("tokens")).unwrap();
            let j = heat.y.iter().position(|y| *y == setting("dim")).unwrap();
            let (shown, e) = (heat.cells[j][i], cell.estimate.unwrap());
            assert_eq!((shown.value, shown.interval), (e.value, Some((e.low, e.high))));
            assert_eq!(shown.hatched, cell.verdict == VerdictKind::Inconclusive);
            let marked = |label: &str| {
                let labelled = panel.series.iter().filter(|s| s.label == label);
                labelled.flat_map(|s| &s.points).any(|p| (p.x, p.y) == (setting("tokens"), setting("dim")))
            };
            for verdict in [VerdictKind::Refuted, VerdictKind::Supported, VerdictKind::Vacuous] {
                assert_eq!(marked(verdict.name()), cell.verdict == verdict);
            }
            compared += 1;
        }
    }
    assert_eq!(compared, cells.len());
    let count = |verdict| cells.iter().filter(|c| c.verdict == verdict).count();
    assert_eq!([VerdictKind::Supported, VerdictKind::Refuted].map(count), [6, 6]);
}

#[test]
fn one_axis_makes_curves_and_words_alone_make_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = "claim = 'aot.lemma1'\ntrials = 20\n[axes]\ndim = [10, 40, 160]\n";
    let (cells, figures) = drawn(text, &folder.path().join("curve"));
    let series = &figures[0].panels[0].series;
    assert_eq!((figures.len(), series.len(), series[0].points.len()), (1, 1, cells.len()));
    for (point, cell) in series[0].points.iter().zip(&cells) {
        let e = cell.estimate.unwrap();
        assert_eq!((point.y, point.interval), (e.value, Some((e.low, e.high))));
    }
    let text = "claim = 'aot.lemma1'\ntrials = 20\n[axes]\ndim = [10]\n";
    assert!(drawn(text, &folder.path().join("point")).1.is_empty());
}

#[test]
fn panels_beyond_one_figure_make_further_figures() {
    let folder = tempfile::tempdir().unwrap();
    // Equally long axes: the first two span the maps, the third makes the panels.
    let text = "claim = 'aot.lemma1'\ntrials = 1\n[axes]\ndim = [8, 9, 10, 11, 12, 13, 14]\n\
                delta = { from = 1, to = 2, steps = 7 }\nt = { from = 1, to = 2, steps = 7 }\n";
    let (_, figures) = drawn(text, folder.path());
    let panels: Vec<usize> = figures.iter().map(|f| f.panels.len()).collect();
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!((&panels[..], &names[..]), (&[6, 1][..], &["aot_lemma1_1", "aot_lemma1_2"][..]));
}
