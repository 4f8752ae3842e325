//! A page of runs under way is written anew as rows and curves grow, and ends as the report.

use crate::common::{CATALOGUE, attnlab, complete, ended, experiment, stderr, wait_until};
use attnlab::experiment::{self, RunOptions};
use attnlab::folder::{Contents, Follower, PageUpdate, STALE_AFTER};
use attnlab::report::html;
use attnlab::run::store::Manifest;
use attnlab::run::{Origin, Silent, TrainingCurve};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const COMMAND: &str = "attnlab report run";
const EVERY: Duration = Duration::from_secs(7);

/// A run that has ended, and a folder in which the same run has just begun.
struct Case {
    folder: tempfile::TempDir,
    rows: Vec<u8>,
}

impl Case {
    fn new() -> Case {
        attnlab::state_build();
        let folder = tempfile::tempdir().unwrap();
        let settings = "trials = 2\ntokens = 40\ndim = 12\nlayers = 3\nfigure4_tokens = 20\nfigure4_clusters = 2\n\
                        figure4_dim = 6\nphi = [\"softmax\"]";
        let small = experiment("snr_per_layer").configure(false, None, &settings.parse().unwrap()).unwrap();
        let options = RunOptions { seed: 3, command: Some("attnlab run snr_per_layer"), ..RunOptions::default() };
        let (whole, run) = (folder.path().join("whole"), folder.path().join("run"));
        experiment::run(&*small, &whole, &options, &Silent).unwrap();
        fs::create_dir(&run).unwrap();
        for file in [Manifest::FILE, Origin::FILE] {
            fs::copy(whole.join(file), run.join(file)).unwrap();
        }
        Case { rows: fs::read(whole.join("rows.jsonl")).unwrap(), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn folders(&self) -> [PathBuf; 1] {
        [self.path("run")]
    }

    /// Number of rows of the whole run.
    fn wanted(&self) -> usize {
        self.ends().len()
    }

    /// Places after the last byte of every row.
    fn ends(&self) -> Vec<usize> {
        (1..=self.rows.len()).filter(|end| self.rows[end - 1] == b'\n').collect()
    }

    fn append(&self, bytes: &[u8]) {
        let file = fs::OpenOptions::new().create(true).append(true).open(self.path("run/rows.jsonl"));
        file.unwrap().write_all(bytes).unwrap();
    }

    /// Writes the curve of the training of a row.
    fn write_curve(&self, row: usize, text: &str) {
        let row: Value = serde_json::from_slice(self.rows.split(|b| *b == b'\n').nth(row).unwrap()).unwrap();
        let folder = self.path("run/checkpoints").join(format!("{}-{}", row["cell"].as_str().unwrap(), row["trial"]));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(TrainingCurve::FILE), text).unwrap();
    }
}

/// A time by seconds, far from now.
fn time(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(7_000_000_000 + seconds)
}

fn page(look: attnlab::Result<PageUpdate>) -> String {
    match look.unwrap() {
        PageUpdate::Page(html) => html,
        PageUpdate::Last { .. } => panic!("the run has not ended"),
        PageUpdate::Unchanged => panic!("no page"),
    }
}

#[track_caller]
fn unchanged(look: attnlab::Result<PageUpdate>) {
    assert!(matches!(look.unwrap(), PageUpdate::Unchanged));
}

/// Returns path and content of every file at or below a folder.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(tree(&path)) } else { files.push((path.clone(), fs::read(&path).unwrap())) }
    }
    files.sort();
    files
}

#[test]
fn rows_appear_as_they_are_appended_in_pieces_that_cut_them() {
    let case = Case::new();
    let (folders, ends, wanted) = (case.folders(), case.ends(), case.wanted());
    let mut follower = Follower::new(&folders, COMMAND, EVERY, &CATALOGUE);
    // No row, not even a file of rows.
    let first = page(follower.look(time(0)));
    assert!(first.contains(&format!("running: 0 of {wanted} rows")) && first.contains("itself every 7 s"), "{first}");
    unchanged(follower.look(time(1)));
    // Pieces of lengths without a common measure, of which each cuts a row, and one that ends with a row.
    let cuts = [1, ends[0] - 1, ends[0], ends[1] + 17, ends[wanted / 2] - 3, ends[wanted - 2] + 40];
    let mut from = 0;
    for (i, cut) in cuts.into_iter().enumerate() {
        case.append(&case.rows[from..cut]);
        from = cut;
        let before = tree(&folders[0]);
        let html = page(follower.look(time(10 + 10 * i as u64)));
        let rows = ends.iter().filter(|end| **end <= cut).count();
        assert!(html.contains(&format!("running: {rows} of {wanted} rows")), "{cut}");
        assert!(html.contains("data-every=\"7\"") && html.contains("location.reload"));
        // What is drawn is marked as incomplete; a figure that needs more rows says so.
        assert!(rows == 0 || html.contains("incomplete: ") || html.contains("Its figures need more rows"), "{cut}");
        assert_eq!(tree(&folders[0]), before, "the follower writes nothing into the folder");
        unchanged(follower.look(time(11 + 10 * i as u64)));
    }
    let ended = follower.without_reloads().unwrap().unwrap();
    assert!(!ended.contains("location.reload") && ended.contains("no longer written anew"));
    case.append(&case.rows[from..]);
    let report =
        || html(&Contents::of_folders(&folders, &CATALOGUE, false).unwrap().report(COMMAND, None, &CATALOGUE)).unwrap();
    // The date of a page may change between two of them.
    let before = report();
    let PageUpdate::Last { html, notes } = follower.look(time(200)).unwrap() else { panic!("the run has ended") };
    assert!(html == before || html == report());
    assert_eq!(notes, [""; 0]);
}

#[test]
fn a_training_has_its_curve_until_its_row_is_there() {
    let case = Case::new();
    let (folders, ends) = (case.folders(), case.ends());
    let curve = |points: usize| {
        let steps: Vec<usize> = (1..=points).map(|i| 100 * i).collect();
        let losses: Vec<Value> = steps.iter().map(|step| json!(250.0 / *step as f64)).collect();
        json!({ "steps": 3000, "done": steps, "loss": losses, "held_out": losses }).to_string()
    };
    case.write_curve(0, &curve(12));
    let mut follower = Follower::new(&folders, COMMAND, EVERY, &CATALOGUE);
    let html = page(follower.look(time(0)));
    assert!(html.contains("running: step 1200 of 3000, 0 of "), "{html}");
    for part in ["Losses of the trainings", "held out", "<td>1200</td><td>3000</td><td>0.2083</td>"] {
        assert!(html.contains(part), "no {part}");
    }
    unchanged(follower.look(time(1)));
    case.write_curve(0, &curve(13));
    assert!(page(follower.look(time(2))).contains("running: step 1300 of 3000, 0 of "));
    // Two trainings; a loss that is not finite is left out.
    case.write_curve(1, r#"{"steps": 3000, "done": [0], "loss": [null]}"#);
    let html = page(follower.look(time(3)));
    assert!(html.contains("running: 2 trainings, 0 of ") && html.contains("<td>0</td><td>3000</td><td></td>"));
    // Its row is there.
    case.append(&case.rows[..ends[0]]);
    let html = page(follower.look(time(4)));
    assert!(html.contains("running: step 0 of 3000, 1 of ") && !html.contains("<td>1300</td>"));
}

#[test]
fn a_run_without_growth_is_stale_until_it_grows() {
    let case = Case::new();
    let (folders, ends) = (case.folders(), case.ends());
    let mut follower = Follower::new(&folders, COMMAND, EVERY, &CATALOGUE);
    let words = "Nothing new since then";
    // The files were written long before; that is the time which the page tells.
    let html = page(follower.look(time(0)));
    assert!(html.contains(words) && !html.contains("as of <time datetime=\"2191"), "{html}");
    case.append(&case.rows[..ends[0]]);
    let html = page(follower.look(time(5)));
    // date -u -d @7000000005
    assert!(!html.contains(words) && html.contains("as of <time datetime=\"2191-10-27T12:26:45Z\">"), "{html}");
    unchanged(follower.look(time(5 + STALE_AFTER.as_secs() - 1)));
    let html = page(follower.look(time(5 + STALE_AFTER.as_secs())));
    assert!(html.contains(words) && html.contains("as of <time datetime=\"2191-10-27T12:26:45Z\">"));
    unchanged(follower.look(time(9000)));
    case.append(&case.rows[ends[0]..ends[1]]);
    assert!(!page(follower.look(time(9001))).contains(words));
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_read_again() {
    let case = Case::new();
    let (folders, ends) = (case.folders(), case.ends());
    let mut follower = Follower::new(&folders, COMMAND, EVERY, &CATALOGUE);
    page(follower.look(time(0)));
    let rows = case.path("run/rows.jsonl");
    fs::write(&rows, "{}\n").unwrap();
    unchanged(follower.look(time(1)));
    fs::write(&rows, &case.rows[..ends[0]]).unwrap();
    assert!(page(follower.look(time(2))).contains("running: 1 of "));
    // What stays broken is refused.
    case.append(b"{}\n");
    unchanged(follower.look(time(3)));
    let error = follower.look(time(4)).err().unwrap().to_string();
    assert!(error.contains("rows.jsonl: line 2 is not a row"), "{error}");
}

#[test]
fn folders_that_cannot_be_followed_are_refused_at_once() {
    let case = Case::new();
    let refused = |folders: &[PathBuf]| {
        Follower::new(folders, COMMAND, EVERY, &CATALOGUE).look(time(0)).err().unwrap().to_string()
    };
    let empty = case.path("empty");
    fs::create_dir(&empty).unwrap();
    assert!(refused(&[empty]).contains("no run.json there or below. Give a folder"));
    assert!(refused(&[case.path("missing")]).contains("Give a folder with rows"));
    assert!(refused(&[case.path("run/run.json")]).contains("Give a folder with rows"));
    case.write_curve(0, "{");
    assert!(refused(&case.folders()).contains("must be the curve of a training"));
    fs::remove_dir_all(case.path("run/checkpoints")).unwrap();
    let text = fs::read_to_string(case.path("run/run.json")).unwrap();
    let write = |name: &str, value: Value| {
        let mut manifest: Value = serde_json::from_str(&text).unwrap();
        manifest[name] = value;
        fs::write(case.path("run/run.json"), manifest.to_string()).unwrap();
    };
    write("later", json!(1));
    assert!(refused(&case.folders()).contains("must be a description of a run that this version can read"));
    write("schema", json!(99));
    assert!(refused(&case.folders()).contains("its rows have schema = 99, not 1. Read them with the build"));
    write("id", json!("reproduce"));
    assert!(refused(&case.folders()).contains("it holds verdicts alone"));
}

/// The command writes a page, follows the run to its end, and leaves what it writes of the ended run.
#[test]
fn the_command_ends_with_the_report() {
    let case = Case::new();
    let (ends, wanted) = (case.ends(), case.wanted());
    let [followed, report] = ["followed", "report"].map(|name| {
        let folder = case.path(name);
        fs::create_dir(&folder).unwrap();
        folder
    });
    let command = |folder: &Path, more: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
        command.args(["report", "../run", "--out", "page.html"]).args(more).current_dir(folder);
        command.env("SOURCE_DATE_EPOCH", "1800000000").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    case.append(&case.rows[..ends[0] + 9]);
    let mut child = command(&followed, &["--follow=0.01"]).spawn().unwrap();
    let shows = |rows: usize| {
        let html = fs::read_to_string(followed.join("page.html")).unwrap_or_default();
        html.contains(&format!("running: {rows} of {wanted} rows"))
    };
    wait_until(&mut child, "a page of one row", || shows(1));
    case.append(&case.rows[ends[0] + 9..ends[2]]);
    wait_until(&mut child, "a page of three rows", || shows(3));
    case.append(&case.rows[ends[2]..]);
    let output = ended(child);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(output.stdout, b"page.html\n");
    assert!(complete(command(&report, &[])).status.success());
    let [followed, report] = [followed, report].map(|folder| fs::read_to_string(folder.join("page.html")).unwrap());
    assert!(followed == report);
}

/// Ctrl-C leaves a page that does not reload itself. Where the machine is busy for a second the command ends with 130 before
/// its last page, but not five times.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_page_that_stays() {
    let case = Case::new();
    let out = case.path("page.html");
    let (run, name) = (case.path("run").display().to_string(), out.display().to_string());
    let html = || fs::read_to_string(&out).unwrap_or_default();
    let ends_with_its_last_page = || {
        let _ = fs::remove_file(&out);
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
        command.args(["report", &run, "--follow", "--out", &name]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_until(&mut child, "a page", || html().contains("location.reload"));
        crate::common::interrupt(&child);
        let output = ended(child);
        assert!(html().contains("running: 0 of "));
        assert!([0, 130].map(Some).contains(&output.status.code()), "{output:?}");
        assert!(!output.status.success() || !html().contains("location.reload"));
        output.status.success()
    };
    assert!((0..5).any(|_| ends_with_its_last_page()));
}

#[test]
fn seconds_between_two_looks_have_a_range() {
    for (follow, words) in [
        ("--follow=0", "follow = 0: must be a number of seconds > 0"),
        ("--follow=soon", "follow = soon: must be a number of seconds > 0"),
    ] {
        let output = attnlab(&["report", "run", follow]).output().unwrap();
        assert!(output.status.code() == Some(2) && stderr(&output).contains(words), "{}", stderr(&output));
    }
}
