//! The experiment `icl`: its sizes, and a small run with its pictures.

use crate::catalogue;
use crate::configured::complete;
use attnlab_aot::experiments::icl::Icl;
use attnlab_lab::experiment::{Described, Experiment};
use attnlab_train::model::preset;

fn configured(quick: bool, set: &str) -> Box<dyn Experiment> {
    catalogue().experiment(Icl::NAME).unwrap().configure(quick, None, &set.parse().unwrap()).unwrap()
}

/// The TOML holds the papers' sizes: its networks are the presets whose counts are tested elsewhere.
#[test]
fn the_default_sizes_are_the_papers() {
    let settings = configured(false, "").settings();
    let number = |path: &[&str]| {
        path[1..].iter().fold(&settings[path[0]], |value, name| &value[name]).as_u64().unwrap() as usize
    };
    for (name, list) in [
        ("aot-mssa", "icl-aot-mssa"),
        ("aot-mhsa", "icl-aot-mhsa"),
        ("transformer", "icl-transformer"),
        ("hybrid", "icl-hybrid"),
        ("full-mlp", "icl-full-mlp"),
        ("llama", "icl-llama"),
    ] {
        let paper = preset(list).unwrap();
        assert_eq!(number(&["layers", name]), paper.layers, "{name}");
        assert_eq!((number(&["width"]), number(&["heads"])), (paper.width, paper.heads));
        assert_eq!(2 * number(&["places"]), paper.context);
    }
    assert_eq!(number(&["plan", "steps"]), 50_000);
    assert_eq!(number(&["plan", "batch"]), 64);
    assert_eq!(number(&["evaluation", "prompts"]), 1280);
    assert_eq!((number(&["dim"]), number(&["points"]), number(&["nonzero"])), (20, 41, 3));
}

/// A network without SNR (MHSA), one with, and the baselines: every row has its numbers, and every figure can be drawn.
#[test]
fn a_small_run_has_every_row_and_figure() {
    let set = "dim = 3\npoints = 6\nplaces = 8\nwidth = 8\nheads = 2\nlayers.aot-mssa = 2\n\
               layers.aot-mhsa = 1\nplan.steps = 6\nplan.batch = 4\nplan.report_every = 3\n\
               curriculum.dims.every = 2\ncurriculum.points.from = 2\ncurriculum.points.to = 6\n\
               evaluation.prompts = 8\nevaluation.longer = 7\nevaluation.activations = 2";
    let icl = configured(true, set);
    let folder = tempfile::tempdir().unwrap();
    let report = complete(&*icl, &folder.path().join("rows"));
    assert_eq!(report.rows.len(), 6, "two networks and the baselines, two seeds");
    for row in &report.rows {
        let baselines = row.word("model").unwrap() == "baselines";
        let curve = if baselines { "noise.bayes.mean" } else { "noise.mean" };
        assert_eq!(row.series(curve).unwrap().len(), 6);
        assert_eq!(row.data.contains_key("loss"), !baselines);
        assert_eq!(row.data.contains_key("trained.snr_after"), row.word("model").unwrap() == "aot-mssa");
    }
    let figures = icl.figures(&report.rows).unwrap();
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["icl_examples", "icl_training", "icl_plateau", "icl_shifted", "icl_depth"]);
}
