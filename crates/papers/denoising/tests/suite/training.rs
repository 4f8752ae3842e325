//! The experiments that train one-layer attention: resuming, pinned first losses, settings.

use super::{catalogue, configured, rows_of};
use attnlab_lab::experiment::{self, RunOptions};
use attnlab_lab::figure;
use attnlab_lab::run::Silent;

/// Settings of a run of some tenths of a second.
const TINY: &str = r#"
    seeds = 2
    ambient = 4
    code = { context = 17, bases = "qr-uniform", shared_data = true }
    variants = ["code", "text"]
    text.context = 16
    training = { train = 40, test = 10, batch = 20 }
    subspace = { dim = 2, epochs = 3 }
    sphere = { dim = 2, epochs = 3 }
    clusters = { clusters = 2, epochs = 3 }
"#;

#[test]
fn the_experiment_resumes_to_the_same_rows() {
    let experiment = configured("denoise_training", false, TINY);
    let (whole, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run =
        |folder: &std::path::Path| experiment::run(&*experiment, folder, &RunOptions::default(), &Silent).unwrap();
    let first = run(whole.path());
    assert_eq!(first.computed, 12);
    run(cut.path());
    let rows = cut.path().join("rows.jsonl");
    let text = std::fs::read_to_string(&rows).unwrap();
    // Killed while writing the fifth row.
    let lines: Vec<&str> = text.lines().collect();
    let torn = format!("{}\n{}", lines[..4].join("\n"), &lines[4][..40]);
    std::fs::write(&rows, torn).unwrap();
    let second = run(cut.path());
    assert_eq!((second.resumed, second.rows), (4, first.rows.clone()));
    assert_eq!(std::fs::read_to_string(&rows).unwrap(), text);
    // Shared data: the seeds of `code` see the same baselines, those of `text` do not.
    let zero = |i: usize| first.rows[i].series("baseline.zero").unwrap();
    assert_eq!(zero(0), zero(1));
    assert_ne!(zero(6), zero(7));
    assert_ne!(first.rows[0].series("linear.train").unwrap(), first.rows[1].series("linear.train").unwrap());
    let figures = experiment.figures(&first.rows).unwrap();
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    let expected = [
        "denoise_training_code",
        "denoise_training_code_weights_linear",
        "denoise_training_code_weights_softmax",
        "denoise_training_text",
        "denoise_training_text_weights_linear",
        "denoise_training_text_weights_softmax",
    ];
    assert_eq!(names, expected);
    for figure in &figures {
        figure::svg(figure).unwrap();
        figure::to_csv(figure).unwrap();
    }
}

/// The first losses at the authors' settings, pinned: a change is a change of published results. The
/// loss of predicting zero is known: d σ0² / n = 1, R² / n = .0625 and (R² + n σ0²) / n = .0825.
#[test]
fn first_losses_are_pinned() {
    let set = "seeds = 2\nvariants = [\"code\"]\nsubspace.epochs = 1\nsphere.epochs = 1\nclusters.epochs = 1";
    let rows = rows_of(&*configured("denoise_training", false, set));
    let start = |row: usize, name: &str| rows[row].series(name).unwrap()[0];
    for (row, zero) in [(0, 1.0), (2, 0.0625), (4, 0.0825)] {
        // 800 prompts: 1/√(800 · 4) = 1.8 % for the subspace, less for the others; four of them.
        assert!((start(row, "baseline.zero") / zero - 1.0).abs() < 0.07);
    }
    let losses = [0, 2, 4].map(|row| ["linear.train", "softmax.train"].map(|name| start(row, name)));
    // Sums in f32 may round differently on other vector units.
    let gaps = losses.iter().flatten().zip(FIRST.iter().flatten());
    let worst = gaps.map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-5, "{losses:?}");
}

/// Linear and softmax attention; subspace, sphere, clusters.
const FIRST: [[f64; 2]; 3] = [[1.4658212, 1.3646702], [0.062656427, 0.062427959], [0.083634369, 0.085827390]];

#[test]
fn settings_in_tables_are_laid_over_one_by_one() {
    let entry = *catalogue().experiment("denoise_training").unwrap();
    let merged = configured("denoise_training", false, "sphere = { dim = 4 }\ntraining.batch = 40").settings();
    assert_eq!((&merged["sphere"]["dim"], &merged["sphere"]["radius"]), (&4.into(), &1.0.into()));
    assert_eq!(merged["training"]["batch"], 40);
    // As --set gives it: one name with a dot in it.
    let mut dotted = toml::Table::new();
    dotted.insert("sphere.sigma_z2".into(), toml::Value::Integer(1));
    let merged = entry.configure(true, None, &dotted).unwrap().settings();
    assert_eq!(merged["sphere"]["sigma_z2"], 1.0);
}

#[test]
fn the_other_experiments_run_and_draw() {
    let small = "seeds = 2\nfresh = 10\ntraining = { train = 20, test = 5, batch = 10 }";
    for (id, more) in [
        (
            "denoise_generalisation",
            "ambient = 6\ncontexts = [10, 20]\ntrained_context = 20\ntested_contexts = [12, 20]\n\
             tested_dims = [1, 3, 5]\nsubspace = { dim = 3, epochs = 2 }",
        ),
        (
            "denoise_excess_risk",
            "ambient = 6\ncontexts = [10, 20]\nnoises = [0.5, 1.0]\nambients = [4, 8]\nshares = [0.25, 0.5]\n\
             context = 12\nsubspace = { dim = 2, epochs = 2 }\nsphere = { dim = 2, epochs = 2 }",
        ),
    ] {
        let experiment = configured(id, false, &format!("{small}\n{more}"));
        let figures = experiment.figures(&rows_of(&*experiment)).unwrap();
        assert_eq!(figures.len(), 2, "{id}");
        for figure in &figures {
            figure::svg(figure).unwrap();
        }
        assert!(experiment.figures(&[]).is_err());
    }
}
