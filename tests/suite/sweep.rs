//! Sweeps give the same rows to the bit whatever the shards, threads, kills and full disks.

use crate::common::CATALOGUE;
use crate::common::attnlab;
use crate::sweeps::{MAP, files, parse, run, stopping, with_threads};
use attnlab::experiment::{self, RunOptions};
use attnlab::rng::Streams;
use attnlab::run::Silent;
use attnlab::run::grid::GridOptions;
use attnlab::run::store::{Shard, read};
use attnlab::sweep::{self, MergeOptions, merge};
use rand::RngExt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn shards_and_threads_change_nothing() {
    for text in [MAP.to_string(), stopping()] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        with_threads(1, || run(&text, &at("one"), Shard::WHOLE));
        let whole = files(&at("one"));
        assert!(whole[0].lines().count() > 100 && whole[1].lines().count() == 12);
        with_threads(2, || run(&text, &at("two"), Shard::WHOLE));
        assert_eq!(whole, files(&at("two")), "1 and 2 threads");
        for count in [1, 3, 7] {
            // Half of the shards share a folder, half have their own.
            let shared = at(&format!("shared{count}"));
            let mut folders = vec![];
            for index in 0..count {
                let out = match index % 2 {
                    0 => shared.clone(),
                    _ => at(&format!("own{count}-{index}")),
                };
                let shard = Shard { index, count };
                with_threads(1 + index as usize % 2, || run(&text, &out, shard));
                folders.push(out);
            }
            folders.dedup();
            let merged = at(&format!("merged{count}"));
            merge(&folders, &CATALOGUE, &merged, MergeOptions::default()).unwrap();
            assert_eq!(whole, files(&merged), "{count} shards");
            // What was merged is the run itself: nothing is left to do.
            let again = sweep::run(&parse(&text), &CATALOGUE, &merged, GridOptions::default(), &Silent);
            assert_eq!(again.unwrap().computed, 0);
        }
    }
}

#[test]
fn an_experiment_is_sharded_and_merged_in_the_same_way() {
    let entry = crate::common::experiment("theorem1_horizon");
    let set = "trials = 3\ntokens = [40, 80]\ndim = 16\nnoise = [0.1, 0.2]";
    let small = entry.configure(false, None, &set.parse().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, shard| {
        let options = RunOptions { shard, ..RunOptions::default() };
        let out = folder.path().join(name);
        experiment::run(&*small, &out, &options, &Silent).unwrap();
        out
    };
    let whole = fs::read(run("whole", Shard::WHOLE).join("rows.jsonl")).unwrap();
    let part = |index| run(&format!("part{index}"), Shard { index, count: 3 });
    let parts: Vec<PathBuf> = (0..3).map(part).collect();
    let merged = folder.path().join("merged");
    merge(&parts, &CATALOGUE, &merged, MergeOptions::default()).unwrap();
    assert_eq!(whole, fs::read(merged.join("rows.jsonl")).unwrap());
    // Figures are drawn from the merged folder as from any other.
    let (rows, plots) = (merged.display().to_string(), folder.path().join("plots"));
    let plots = plots.display().to_string();
    let args = ["figure", "theorem1_horizon", "--rows", &rows, "--out", &plots];
    assert_eq!(attnlab(&args).output().unwrap().status.code(), Some(0));

    // A shard is missing, or is one of another run.
    let error = merge(&parts[..2], &CATALOGUE, &folder.path().join("no"), MergeOptions::default())
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("4 trials are missing"), "{error}");
    assert!(!folder.path().join("no").exists());
    let other = folder.path().join("other");
    let seed = RunOptions { seed: 1, ..RunOptions::default() };
    experiment::run(&*small, &other, &seed, &Silent).unwrap();
    let mixed = [parts[0].clone(), other];
    let error = merge(&mixed, &CATALOGUE, &merged, MergeOptions::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("seed = 0") && error.contains("seed = 1"), "{error}");
}

/// Writes a sweep file and gives the command that runs it.
fn command(folder: &Path, text: &str, out: &str) -> Command {
    let file = folder.join("map.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
    command.args(["sweep", "--threads", "2"]).arg(file);
    command.arg("--out").arg(folder.join(out));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Waits until the rows are `bytes` long, or the process has ended.
fn wait_for(path: &Path, bytes: u64, child: &mut std::process::Child) {
    let started = Instant::now();
    let length = || fs::metadata(path).map_or(0, |m| m.len());
    while length() < bytes && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no progress");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn killed_five_times_at_random_points() {
    for (name, text) in [("fixed", MAP.to_string()), ("stop", stopping())] {
        let folder = tempfile::tempdir().unwrap();
        run(&text, &folder.path().join("whole"), Shard::WHOLE);
        let whole = files(&folder.path().join("whole"));
        let mut rng = Streams::new(1, "tests.sweep", 0, 0).part(name, 0);
        let mut points: Vec<f64> = (0..5).map(|_| rng.random_range(0.02..0.9)).collect();
        points.sort_by(f64::total_cmp);
        let rows = folder.path().join("killed/rows.jsonl");
        let mut killed = 0;
        for point in points {
            let mut child = command(folder.path(), &text, "killed").spawn().unwrap();
            wait_for(&rows, (point * whole[0].len() as f64) as u64, &mut child);
            // SIGKILL: nothing can be tidied up.
            child.kill().unwrap();
            killed += usize::from(child.wait().unwrap().code().is_none());
        }
        assert!(killed >= 4, "{killed} of 5 were still running");
        let last = command(folder.path(), &text, "killed").output().unwrap();
        let told = String::from_utf8_lossy(&last.stderr).to_string();
        assert!(last.status.success() && told.contains("trials were there already"), "{told}");
        assert_eq!(whole, files(&folder.path().join("killed")), "{name}");
    }
}

#[test]
fn ctrl_c_keeps_the_rows_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let text = MAP.replace("trials = 12", "trials = 200");
    let mut child = command(folder.path(), &text, "out").spawn().unwrap();
    let rows = folder.path().join("out/rows.jsonl");
    wait_for(&rows, 4000, &mut child);
    let pid = child.id().to_string();
    let signalled = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(signalled.success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("give the same command again"), "{told}");
    let kept = read(&folder.path().join("out")).unwrap();
    assert!(kept.dropped.is_empty());
    let said = format!("stopped after {} of 2400 trials", kept.rows.len());
    assert!(told.contains(&said), "{said}: {told}");
}

/// A file system of 64 KiB, gone at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Result<Self, String> {
        fs::create_dir(folder).map_err(|e| e.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder);
        match mount.output() {
            Ok(done) if done.status.success() => Ok(SmallDisk(folder.to_path_buf())),
            Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_string()),
            Err(e) => Err(e.to_string()),
        }
    }

    fn enlarge(&self) {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,size=4m"]).arg(&self.0);
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_loses_no_finished_row() {
    let folder = tempfile::tempdir().unwrap();
    let disk = match SmallDisk::mount(&folder.path().join("disk")) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: a small file system needs root and mount ({reason})");
            return;
        }
    };
    let text = MAP.replace("trials = 12", "trials = 20");
    run(&text, &folder.path().join("whole"), Shard::WHOLE);
    let whole = files(&folder.path().join("whole"));
    assert!(whole[0].len() > 65_536, "{} bytes would fit", whole[0].len());
    let full = command(folder.path(), &text, "disk/out").output().unwrap();
    let told = String::from_utf8_lossy(&full.stderr).to_string();
    assert_eq!(full.status.code(), Some(2), "{told}");
    let advice = "The rows so far are kept: make room and give the same command again";
    assert!(told.contains(advice) && told.contains("rows.jsonl"), "{told}");
    // Every row that is there is whole, and there are as many as fit.
    let out = folder.path().join("disk/out");
    let kept = read(&out).unwrap();
    assert!(kept.dropped.is_empty(), "{:?}", kept.dropped);
    assert!(kept.rows.len() > 40, "{} rows", kept.rows.len());
    // Again without room: nothing is lost.
    let again = command(folder.path(), &text, "disk/out").output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(read(&out).unwrap().rows.len() >= kept.rows.len());
    disk.enlarge();
    let last = command(folder.path(), &text, "disk/out").output().unwrap();
    let told = String::from_utf8_lossy(&last.stderr).to_string();
    assert!(last.status.success() && told.contains("trials were there already"), "{told}");
    assert_eq!(whole, files(&out));
}

#[test]
fn two_processes_do_not_write_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text = MAP.replace("trials = 12", "trials = 2000");
    let mut first = command(folder.path(), &text, "out").spawn().unwrap();
    wait_for(&folder.path().join("out/rows.jsonl"), 1, &mut first);
    let second = command(folder.path(), &text, "out").output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(2));
    let told = String::from_utf8_lossy(&second.stderr).to_string();
    assert!(told.contains("another process is writing into this folder (process "), "{told}");
}
