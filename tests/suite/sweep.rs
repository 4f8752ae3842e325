//! Sweeps give the same rows to the bit whatever the shards, threads, kills and full disks; endless trials are stopped by
//! Ctrl-C and at the time limit.

use crate::common::{CATALOGUE, attnlab, complete, kill, rows_in, stderr, wait_until};
#[cfg(unix)]
use crate::common::{ended, interrupt, skipped};
use crate::sweeps::{MAP, command, files, parse, run, stopping, with_threads};
use attnlab::experiment::{self, RunOptions};
use attnlab::rng::Streams;
use attnlab::run::grid::GridOptions;
use attnlab::run::store::{Shard, read};
use attnlab::run::{Silent, pause};
use attnlab::sweep::{self, MergeOptions, merge};
use rand::RngExt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

#[test]
fn shards_and_threads_change_nothing() {
    for text in [MAP.to_string(), stopping()] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        with_threads(1, || run(&text, &path("one"), Shard::WHOLE));
        let whole = files(&path("one"));
        assert!(whole[0].lines().count() > 100 && whole[1].lines().count() == 12);
        with_threads(2, || run(&text, &path("two"), Shard::WHOLE));
        assert_eq!(whole, files(&path("two")), "1 and 2 threads");
        // Two of three shards share a folder, one has its own; the folder that is given twice counts once.
        let folders = ["shared", "own", "shared"].map(path);
        for (index, out) in (0..).zip(&folders) {
            let shard = Shard { index, count: 3 };
            with_threads(1 + index as usize % 2, || run(&text, out, shard));
        }
        let merged = path("merged");
        merge(&folders, &CATALOGUE, &merged, MergeOptions::default()).unwrap();
        assert_eq!(whole, files(&merged), "3 shards");
        // What was merged is the run itself: nothing is left to do.
        let again = sweep::run(&parse(&text), &CATALOGUE, &merged, GridOptions::default(), &Silent);
        assert_eq!(again.unwrap().computed, 0);
    }
}

#[test]
fn an_experiment_is_sharded_and_merged_in_the_same_way() {
    let entry = crate::common::experiment("theorem1_horizon");
    let set = "trials = 3\ntokens = [40, 80]\ndim = 16\nnoise = [0.1, 0.2]";
    let small = entry.configure(false, None, &set.parse().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, seed, shard| {
        let out = folder.path().join(name);
        experiment::run(&*small, &out, &RunOptions { seed, shard, ..RunOptions::default() }, &Silent).unwrap();
        out
    };
    let whole = fs::read(run("whole", 0, Shard::WHOLE).join("rows.jsonl")).unwrap();
    let parts: Vec<PathBuf> = (0..3).map(|index| run(&format!("part{index}"), 0, Shard { index, count: 3 })).collect();
    let merged = folder.path().join("merged");
    merge(&parts, &CATALOGUE, &merged, MergeOptions::default()).unwrap();
    assert_eq!(whole, fs::read(merged.join("rows.jsonl")).unwrap());
    // Figures are drawn from the merged folder as from any other.
    let [rows, plots] = [merged.clone(), folder.path().join("plots")].map(|path| path.display().to_string());
    let args = ["figure", "theorem1_horizon", "--rows", &rows, "--out", &plots];
    assert_eq!(attnlab(&args).output().unwrap().status.code(), Some(0));

    let refused = |parts: &[PathBuf], out: &Path| {
        merge(parts, &CATALOGUE, out, MergeOptions::default()).err().unwrap().to_string()
    };
    let nowhere = folder.path().join("no");
    let error = refused(&parts[..2], &nowhere);
    assert!(error.contains("4 trials are missing"), "{error}");
    assert!(!nowhere.exists());
    let error = refused(&[parts[0].clone(), run("other", 1, Shard::WHOLE)], &merged);
    assert!(error.contains("seed = 0") && error.contains("seed = 1"), "{error}");
}

/// Starts a sweep into the folder `out`, and returns when its file has exactly so many rows. The process then waits for
/// a signal.
fn paused(mut command: Command, out: &Path, rows: u64) -> Child {
    let mut child = command.env(pause::AFTER_ROWS, rows.to_string()).spawn().unwrap();
    wait_until(&mut child, &format!("{rows} rows"), || rows_in(out) as u64 == rows);
    child
}

/// Runs a command to its end, on top of the rows that are there.
#[track_caller]
fn assert_goes_on(command: Command) {
    let output = complete(command);
    let error = stderr(&output);
    assert!(output.status.success() && error.contains("trials were there already"), "{error}");
}

#[test]
fn killed_five_times_at_random_points() {
    for (name, text) in [("fixed", MAP.to_string()), ("stop", stopping())] {
        let folder = tempfile::tempdir().unwrap();
        run(&text, &folder.path().join("whole"), Shard::WHOLE);
        let whole = files(&folder.path().join("whole"));
        let mut rng = Streams::new(1, "tests.sweep", 0, 0).part(name, 0);
        let count = whole[0].lines().count() as u64;
        let mut points: Vec<u64> = (0..5).map(|_| rng.random_range(1..count)).collect();
        points.sort_unstable();
        let out = folder.path().join("killed");
        for rows in points {
            kill(paused(command(folder.path(), &text, "2", "killed"), &out, rows));
            assert_eq!(read(&out).unwrap().rows.len() as u64, rows);
        }
        assert_goes_on(command(folder.path(), &text, "2", "killed"));
        assert_eq!(whole, files(&out), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_rows_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let text = MAP.replace("trials = 12", "trials = 200");
    let out = folder.path().join("out");
    let child = paused(command(folder.path(), &text, "2", "out"), &out, 20);
    interrupt(&child);
    let output = ended(child);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("give the same command again"), "{told}");
    let stored = read(&out).unwrap();
    assert!(stored.dropped.is_empty());
    // Two threads: at most two trials were under way.
    assert!((20..=22).contains(&stored.rows.len()), "{told}");
    // Where the machine is busy for a second, the trials under way are ended and not counted.
    if told.contains("stopped after") {
        let said = format!("stopped after {} of 2400 trials", stored.rows.len());
        assert!(told.contains(&said), "{said}: {told}");
    }
}

/// A file system of 64 KiB, gone at the end.
#[cfg(unix)]
struct SmallDisk(PathBuf);

#[cfg(unix)]
impl SmallDisk {
    fn mount(folder: &Path) -> Result<Self, String> {
        use std::os::unix::fs::MetadataExt;
        fs::create_dir(folder).map_err(|e| e.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder);
        let done = mount.output().map_err(|e| e.to_string())?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).trim().to_string());
        }
        let disk = SmallDisk(folder.to_path_buf());
        // Every file takes whole pages.
        let page = fs::metadata(folder).map_err(|e| e.to_string())?.blksize();
        if page > 4096 {
            return Err(format!("pages of {page} bytes"));
        }
        Ok(disk)
    }

    fn enlarge(&self) {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,size=4m"]).arg(&self.0);
        assert!(mount.status().unwrap().success());
    }
}

#[cfg(unix)]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_loses_no_finished_row() {
    let folder = tempfile::tempdir().unwrap();
    let disk = match SmallDisk::mount(&folder.path().join("disk")) {
        Ok(disk) => disk,
        Err(reason) => {
            let reason = format!("a small file system needs root and mount ({reason})");
            return skipped("sweep::a_full_disk_loses_no_finished_row", &reason);
        }
    };
    let text = MAP.replace("trials = 12", "trials = 20");
    run(&text, &folder.path().join("whole"), Shard::WHOLE);
    let whole = files(&folder.path().join("whole"));
    assert!(whole[0].len() > 65_536, "{} bytes would fit", whole[0].len());
    let sweep = || command(folder.path(), &text, "2", "disk/out");
    let full = complete(sweep());
    let told = stderr(&full);
    assert_eq!(full.status.code(), Some(2), "{told}");
    let advice = "The rows so far are kept: make room and give the same command again";
    assert!(told.contains(advice) && told.contains("rows.jsonl"), "{told}");
    // Every row that is there is whole, and there are as many as fit.
    let out = folder.path().join("disk/out");
    let stored = read(&out).unwrap();
    assert!(stored.dropped.is_empty(), "{:?}", stored.dropped);
    assert!(stored.rows.len() > 40, "{} rows", stored.rows.len());
    // Again without room: nothing is lost.
    assert_eq!(complete(sweep()).status.code(), Some(2));
    assert!(read(&out).unwrap().rows.len() >= stored.rows.len());
    disk.enlarge();
    assert_goes_on(sweep());
    assert_eq!(whole, files(&out));
}

#[test]
fn two_processes_do_not_write_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text = MAP.replace("trials = 12", "trials = 2000");
    let out = folder.path().join("out");
    let sweep = || command(folder.path(), &text, "2", "out");
    let first = paused(sweep(), &out, 1);
    let second = complete(sweep());
    kill(first);
    assert_eq!(second.status.code(), Some(2));
    let told = stderr(&second);
    assert!(told.contains("another process is writing into this folder (process "), "{told}");
}

#[test]
fn an_endless_trial_ends_at_the_time_limit_with_its_settings() {
    let stopped_after = |limit: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(folder.path(), MAP, "1", "out");
        command.args(["--time-limit", limit]).env(pause::IN_TRIAL, "0");
        let output = complete(command);
        let told = stderr(&output);
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
    let folder = tempfile::tempdir().unwrap();
    let (out, sweep) = (folder.path().join("out"), || command(folder.path(), MAP, "1", "out"));
    let mut child = sweep().env(pause::IN_TRIAL, "1").spawn().unwrap();
    wait_until(&mut child, "the first row", || rows_in(&out) == 1);
    interrupt(&child);
    let output = ended(child);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("give the same command again"), "{told}");
    assert_eq!(rows_in(&out), 1);
    assert!(complete(sweep()).status.success());
    let whole = folder.path().join("whole");
    run(MAP, &whole, Shard::WHOLE);
    assert_eq!(files(&whole), files(&out));
}
