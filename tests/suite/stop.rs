//! Endless trials, stopped by Ctrl-C and at the time limit.

use crate::common::{ended, output_of, wait_until};
use crate::sweeps::{MAP, files, run};
use attnlab::run::pause;
use attnlab::run::store::Shard;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command of a sweep into the folder `out`, with one thread.
fn sweep(folder: &Path, more: &[&str]) -> Command {
    let file = folder.join("map.toml");
    fs::write(&file, MAP).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
    command.args(["sweep", "--threads", "1"]).arg(file).arg("--out").arg(folder.join("out")).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn an_endless_trial_ends_at_the_time_limit_with_its_settings() {
    let stopped_after = |limit: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = sweep(folder.path(), &["--time-limit", limit]);
        command.env(pause::IN_TRIAL, "0");
        let output = output_of(&mut assert_cmd::Command::from_std(command)).unwrap();
        let told = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(130), "{told}");
        assert!(told.contains(&format!("the time limit of {limit} s is over")), "{told}");
        told
    };
    // A machine on which the trial has not begun by then gets more time.
    let told = ["3", "30", "300"].into_iter().map(stopped_after).find(|told| told.contains("stopped in trial 0"));
    let told = told.unwrap();
    assert!(told.contains(" of aot.theorem1_bounded (") && told.contains("tokens = "), "{told}");
}

/// What was done before is kept, and the same command goes on to the rows of a run without a stop.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_an_endless_trial() {
    use nix::sys::signal::{self, Signal};
    use nix::unistd::Pid;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut child = sweep(folder.path(), &[]).env(pause::IN_TRIAL, "1").spawn().unwrap();
    let rows = || fs::read_to_string(out.join("rows.jsonl")).unwrap_or_default().lines().count();
    wait_until(&mut child, "the first row", || rows() == 1);
    signal::kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    let output = ended(child);
    let told = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("give the same command again"), "{told}");
    assert_eq!(rows(), 1);
    assert!(output_of(&mut assert_cmd::Command::from_std(sweep(folder.path(), &[]))).unwrap().status.success());
    let whole = folder.path().join("whole");
    run(MAP, &whole, Shard::WHOLE);
    assert_eq!(files(&whole), files(&out));
}
