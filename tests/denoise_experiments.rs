//! The experiments of in-context denoising, at small sizes: what their rows say, and that they draw.

mod common;

use attnlab::experiment::{self, Experiment, RunOptions};
use attnlab::figure;
use attnlab::run::{Row, Silent};

fn configured(id: &str, set: &str) -> Box<dyn Experiment> {
    let set = set.parse().unwrap();
    experiment::find(id)
        .unwrap()
        .configure(true, None, &set)
        .unwrap()
}

fn rows(experiment: &dyn Experiment) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let options = RunOptions::default();
    let report = experiment::run(experiment, folder.path(), &options, &Silent).unwrap();
    let figures = experiment.figures(&report.rows).unwrap();
    let written = figure::write_all(&figures, folder.path()).unwrap();
    assert_eq!(written.len(), 3 * figures.len());
    for figure in &figures {
        let words = figure.caption.split(|c: char| !c.is_alphanumeric());
        assert!(
            words.into_iter().all(|w| w != "NaN" && w != "inf"),
            "{}",
            figure.caption
        );
    }
    report.rows
}

#[test]
fn the_landscape_of_figure_3() {
    let experiment = configured("denoise_landscape", "grid = 20\nprompts = 400\nsteps = 30");
    let rows = rows(&*experiment);
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
        let lowest = series(row, "minimum_energy")
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        assert!(series(row, "energy").iter().all(|e| *e >= lowest));
    }
    // With little noise the context decides: several minima.
    assert!(series(&rows[1], "minimum_x").len() > 1);
    // The loss of the query itself is n sigma_Z^2 = 20, up to its interval.
    let (low, high) = (
        series(printed, "loss_low")[0],
        series(printed, "loss_high")[0],
    );
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
    assert_eq!(rows(&*configured("denoise_landscape", set)).len(), 1);
}

#[test]
fn the_minimum_of_figure_6_is_displaced_at_finite_context_only() {
    let set =
        "trials = 2\nprompts = 500\npoints = 12\ncontexts = [60]\nambient = 6\nsphere_dim = 3";
    let experiment = configured("denoise_alpha_beta", set);
    let rows = rows(&*experiment);
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
    // Rows of another grid are refused, not drawn wrongly.
    let other = configured(
        "denoise_alpha_beta",
        &set.replace("points = 12", "points = 14"),
    );
    assert!(other.figures(&rows).is_err());
}

/// What a user types: exit status 2, one line that names the wrong value, no panic.
#[test]
fn bad_settings_exit_2() {
    let refused = |args: &[&str], start: &str| {
        let output = common::attnlab(args).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(
            message.starts_with(&format!("error: {start}")),
            "{args:?}: {message}"
        );
    };
    let check = |id, set, start: &str| refused(&["check", id, "--set", set], start);
    check("denoise.theorem3_1", "L=0", "L = 0 is not allowed");
    check("denoise.theorem3_1", "d=16", "d = 16 is not allowed");
    check(
        "denoise.theorem3_2",
        "sigma_z2=0",
        "sigma_z2 = 0 is not allowed",
    );
    check(
        "denoise.prop2_loss",
        "sigma0_2=-1",
        "sigma0_2 = -1 is not allowed",
    );
    check(
        "denoise.clusters",
        "weights=[0.5,0.4,0.2]",
        "sum of weights = 1.1",
    );
    check(
        "denoise.clusters",
        "variances=[0.1,0.2]",
        "variances has shape 2",
    );
    check("denoise.prop3_bessel", "sigma_z2=1e-9", "sigma_z2 = ");
    check("denoise.prop4", "R=NaN", "R = ");
    check("denoise.prop2_mean", "n=1000000", "one trial needs");
    check("denoise.one_step_wins", "against=nothing", "against = ");
    check("denoise.a25", "L=1", "L = 1 is not allowed");
    check("denoise.a23_corrected", "sigma_z2=1e-9", "sigma_z2 = ");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    let run = |id, set, start: &str| refused(&["run", id, "--set", set, "--out", &out], start);
    run("denoise_landscape", "task=square", "unknown task 'square'");
    run(
        "denoise_landscape",
        "noise=[0.1,-1.0]",
        "noise[1] = -1 is not allowed",
    );
    run(
        "denoise_landscape",
        "context=0",
        "context = 0 is not allowed",
    );
    run("denoise_landscape", "alpha=0", "alpha = 0 is not allowed");
    run(
        "denoise_alpha_beta",
        "sphere_dim=16",
        "d = 16 is not allowed",
    );
    run(
        "denoise_alpha_beta",
        "contexts=[]",
        "contexts = [] is not allowed",
    );
    run(
        "denoise_alpha_beta",
        "noise=0.0",
        "noise = 0 is not allowed",
    );
    run(
        "denoise_alpha_beta",
        "beta_range=[1.0,0.0]",
        "beta_range = [1, 0] is not allowed",
    );
}
