//! Input that cannot be used: each is named, with what to write instead; exit status
//! 2, and nothing is written.

use crate::common::attnlab;
use std::path::Path;

/// Names that are near nothing: the message says which there are, or where they are listed.
#[test]
fn every_unknown_name_is_answered_with_names_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows").display().to_string();
    let sweep = folder.path().join("map.toml").display().to_string();
    let of_sweep = |line: &str, message: &str| {
        std::fs::write(&sweep, format!("{line}\n[axes]\ntokens = [200]\n")).unwrap();
        let message = format!("{sweep}: {message}");
        crate::common::refused(&["sweep", &sweep, "--out", &out], &message);
    };
    let subjects = crate::common::CATALOGUE.subjects().join(", ");
    let subjects = format!("subject = zzz: must be one of {subjects}");
    for (args, message) in [
        (&["check", "zzz"][..], "unknown claim 'zzz'; see `attnlab list`"),
        (&["check", ""], "unknown claim ''; see `attnlab list`"),
        (
            &["check", "aot.mssa_is_mhsa", "--set", "zzz=1"],
            "unknown parameter 'zzz'; write one of tokens, clusters, dim, delta, eta, phi, tau",
        ),
        (&["check", "--all", "--set", "zzz=1"], "unknown parameter 'zzz'; see `attnlab show ID`"),
        (&["eval", "zzz"], "unknown formula 'zzz'; see `attnlab list formulas`"),
        (&["eval", "aot.min_tokens", "--set", "zzz=1"], "unknown parameter 'zzz'; write clusters"),
        (
            &["list", "zzz"],
            "unknown claim, formula or experiment 'zzz'; see `attnlab list`, `attnlab list \
             formulas`, `attnlab list experiments`",
        ),
        (&["list", "--subject", "zzz"], &subjects),
        (
            &["reproduce", "--out", &out, "--only", "zzz"],
            "unknown claim or experiment 'zzz'; see `attnlab list` and `attnlab list experiments`",
        ),
        (
            &["run", "joma_critical", "--out", &out, "--set", "zzz=1"],
            "unknown setting 'zzz'; write one of dim, nu, points, flow_nu, minus, away, until",
        ),
        (
            &["run", "denoise_training", "--out", &out, "--set", "sphere.zzz=1"],
            "unknown setting 'sphere.zzz'; did you mean sphere.dim, sphere.epochs, sphere.radius?",
        ),
        (
            &["run", "denoise_training", "--out", &out, "--set", "tasks=[\"zzz\"]"],
            "unknown task 'zzz'; write one of subspace, sphere, clusters",
        ),
        (
            &["run", "denoise_training", "--out", &out, "--set", "variants=[\"zzz\"]"],
            "unknown variant 'zzz'; write one of code, text",
        ),
        (
            &["run", "denoise_training", "--out", &out, "--set", "form=zzz"],
            "unknown form of the weights 'zzz'; write one of full, scaled-identity",
        ),
        (
            &["run", "denoise_landscape", "--out", &out, "--set", "task=zzz"],
            "unknown task 'zzz'; write one of circle, clusters",
        ),
        (
            &["run", "lsa_training", "--out", &out, "--set", "starts=[\"zzz\"]"],
            "unknown start 'zzz'; write one of theorem, normal, mirrored",
        ),
        (
            &["run", "snr_per_layer", "--out", &out, "--set", "phi=[\"zzz\"]"],
            "unknown phi 'zzz'; write one of softmax, hard-threshold, thresholded-softmax, hardmax, \
             linear, relu-normalised",
        ),
        (&["horizon", "--backend", "zzz"], "backend = zzz: must be one of auto, cpu, gpu, gpu-f32"),
        (&["completions", ""], "shell = \"\": must be one of bash, elvish, fish, powershell, zsh"),
        (&["export", &out, "--format", "xml"], "format = xml: must be one of csv, parquet"),
    ] {
        crate::common::refused(args, message);
    }
    let message = "unknown experiment 'zzz'; see `attnlab list experiments`";
    crate::common::refused(&["run", "zzz", "--out", &out], message);
    of_sweep("experiment = \"zzz\"", message);
    of_sweep("claim = \"zzz\"", "unknown claim 'zzz'; see `attnlab list`");
    of_sweep(
        "claim = \"aot.theorem1\"\nzzz = 1",
        "unknown key 'zzz'; write one of claim, experiment, trials, seed, level, beyond_hypotheses, axes, set, stop",
    );
    assert!(!Path::new(&out).exists(), "nothing is written for a refused run");
}

/// Input is refused before anything is computed or written: numbers that no machine can use, bytes that are
/// no text, folders without rows, one file for two results.
#[test]
fn what_cannot_be_used_is_refused_and_nothing_written() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str| folder.path().join(name).display().to_string();
    let (out, config, empty) = (inside("rows"), inside("mine.toml"), inside("empty"));
    std::fs::create_dir(&empty).unwrap();
    let run = |experiment: &str, line: &str, message: &str| {
        std::fs::write(&config, line).unwrap();
        let args = ["run", experiment, "--quick", "--config", &config, "--out", &out];
        crate::common::refused(&args, message);
    };
    let finite = "must be a number, at most 1e50 in size";
    run("joma_critical", "minus = nan", &format!("minus = NaN: {finite}"));
    run("joma_critical", "minus = -inf", &format!("minus = -inf: {finite}"));
    run("joma_convergence", "gap = 1e300", &format!("gap = {:?}: {finite}", 1e300));
    run("snr_per_layer", "noise = [0.1, nan]", &format!("noise[1] = NaN: {finite}"));
    run("denoise_training", "[sphere]\nradius = inf", &format!("sphere.radius = inf: {finite}"));
    let most = "must be a whole number, at most 10000000";
    for (experiment, name) in [
        ("coherence_map", "tokens"),
        ("denoise_alpha_beta", "clusters"),
        ("denoise_excess_risk", "fresh"),
        ("horizon_map", "base_tokens"),
        ("joma_critical", "points"),
        ("joma_training", "classes"),
        ("lsa_flow", "dim"),
        ("lsa_training", "context"),
        ("phi_map", "tokens"),
    ] {
        let huge = 1_000_000_000_000_000_000_u64;
        run(experiment, &format!("{name} = {huge}"), &format!("{name} = {huge}: {most}"));
    }
    // Within that bound the memory decides, however many sizes it is a product of.
    for (experiment, line) in [
        ("coherence_map", "dim = 1000000\nambient = [10000000]\ntokens = 10000000"),
        ("denoise_excess_risk", "fresh = 10000000\nambient = 10000000"),
        ("lsa_flow", "dim = 10000000"),
    ] {
        std::fs::write(&config, line).unwrap();
        let args = ["run", experiment, "--quick", "--config", &config, "--out", &out];
        let output = attnlab(&args).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{experiment}: {error}");
        assert!(error.contains(" of memory and ") && !error.contains("panicked"), "{error}");
    }
    let quick = "quick = 3: must not be set; it is the table of small sizes in a settings file. \
                 Write --quick";
    run("snr_per_layer", "quick = 3", quick);
    crate::common::refused(&["run", "snr_per_layer", "--out", &out, "--set", "quick=3"], quick);
    let no_run = "it has no run.json. Give a folder that attnlab sweep, run or merge wrote";
    for args in [
        &["export", &empty][..],
        &["merge", &empty, "--out", &out],
        &["figure", "snr_per_layer", "--rows", &empty, "--out", &out],
    ] {
        crate::common::refused(args, &format!("{empty}: {no_run}"));
    }
    crate::common::refused(&["export", &config], &format!("{config}: {no_run}"));
    // A run that was killed before its first row.
    let begun = inside("begun");
    std::fs::create_dir(&begun).unwrap();
    let settings = r#"{"schema":1,"id":"joma_tree","seed":0,"settings":{},"build":"0.1.0"}"#;
    std::fs::write(Path::new(&begun).join("run.json"), settings).unwrap();
    let message = format!("{begun}: it holds no rows yet. Give the command that began the run again: it continues");
    crate::common::refused(&["export", &begun], &message);
    let both = ["--csv", &out, "--save-tokens", &out];
    let unroll = ["unroll", "--tokens", "z.npy", "--bases", "u.npy", "--labels", "y.npy"];
    let message = format!("save-tokens = {out}: must be another name than that of --csv");
    crate::common::refused(&[&unroll[..], &both].concat(), &message);
    let seeds = "mutant-seeds = 1e19: must be a whole number from 1 to 10000";
    crate::common::refused(&["reproduce", "--out", &out, "--mutant-seeds", "1e19"], seeds);
    assert!(!Path::new(&out).exists(), "nothing is written for a refused run");
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn arguments_that_are_no_text_are_named() {
    use std::os::unix::ffi::OsStrExt;
    let broken = std::ffi::OsStr::from_bytes(b"tokens\xff=3");
    let mut command = attnlab(&["check", "aot.mssa_is_mhsa", "--set"]);
    let output = command.arg(broken).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: argument = tokens\u{fffd}=3: must be UTF-8; only names of files and \
         folders may have other bytes\n"
    );
}

#[test]
fn a_whole_number_may_be_written_as_a_power_of_ten() {
    let entry = crate::common::experiment("snr_per_layer");
    let tokens = |text: &str| {
        let set = text.parse().unwrap();
        entry.configure(true, None, &set).map(|e| e.settings()["tokens"].clone())
    };
    assert_eq!(tokens("tokens = 4e2").unwrap(), 400);
    assert!(tokens("tokens = 400.5").is_err() && tokens("tokens = 1e30").is_err());
}

#[test]
fn a_report_replaces_a_report_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows").display().to_string();
    let line = ["run", "joma_tree", "--quick", "--out", &rows, "--set", "draws=200"];
    attnlab(&line).assert().success();
    let mine = folder.path().join("mine.html").display().to_string();
    for text in ["", "<!DOCTYPE html>\nmy thesis"] {
        std::fs::write(&mine, text).unwrap();
        let message = "it is not a report and is left as it is. Choose another file with --out";
        crate::common::refused(&["report", &rows, "--out", &mine], &format!("{mine}: {message}"));
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), text);
    }
    std::fs::remove_file(&mine).unwrap();
    for _ in 0..2 {
        attnlab(&["report", &rows, "--out", &mine]).assert().success();
    }
}
