//! The binaries of the experiments: each there is one of the catalogue, and takes the options of
//! `attnlab run`.

#[test]
fn a_binary_takes_the_options_of_attnlab_run() {
    let help = |command: &mut assert_cmd::Command| {
        let output = command.arg("--help").output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let binary = help(&mut assert_cmd::Command::cargo_bin("snr_per_layer").unwrap());
    for option in ["--config", "--set", "--quick", "--out", "--seed", "--force", "--show", "--threads"] {
        assert!(binary.contains(option), "{option}");
    }
    assert!(binary.contains("Examples:"));
    let bad = |args: &[&str]| {
        let mut binary = assert_cmd::Command::cargo_bin("snr_per_layer").unwrap();
        let output = binary.args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let message = bad(&["--seed", "-1"]);
    let expected = "error: seed = -1: must be a whole number from 0 to 18446744073709551615\n";
    assert_eq!(message, expected);
    assert!(bad(&["--set", "sed=1"]).starts_with("error: unknown setting 'sed'"));
    assert!(bad(&["--config", "/nowhere.toml"]).starts_with("error: /nowhere.toml"));
}

#[test]
fn every_binary_names_its_experiment() {
    let catalogue = attnlab::catalogue();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        catalogue.experiment(&name).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(&format!("\"{name}\"")), "{name}");
    }
}
