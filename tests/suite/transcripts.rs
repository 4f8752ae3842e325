//! Sessions of the command line: the commands in `transcripts/*.md`, in `tests/transcripts` of the rooms and in
//! `docs/tutorial` end and print as their pages show. `ATTNLAB_BLESS=1 cargo test --test suite transcripts` writes into
//! the transcripts what has changed.
//!
//! Every page has a folder of its own, in which bash runs its blocks one after another:
//!
//! - `console`: each `$ COMMAND` prints the lines that follow, on standard output and then on standard error, and ends
//!   with status 0, or with `? STATUS` after the command. A refusal, status 2, says so on standard error alone and
//!   leaves every file as it was, but for `run.lock`, which names the last process.
//! - `sh`: commands; the `text` blocks that follow show parts of what they print, in this order.
//! - a word and a name, as in `toml map.toml`: the content of a file of this name.
//!
//! Printed numbers are equal up to rounding ([`fits`]); a line `...` stands for any lines and `[..]` for any part of a
//! line. `<!-- needs: COMMAND -->` leaves out the next block where this command fails. (The crate trycmd reads the same
//! notation, but compares digits as they are, and neither writes files nor has a shell.)

use crate::common::{limit, root, skipped};
use crate::rounding::fits;
use attnlab::run::store::Owner;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::SystemTime;
use std::{env, fs, thread};

/// A command of a `console` block, a block of commands, or a file.
#[derive(Default)]
struct Step {
    /// Commands, or the content of the file.
    text: String,
    /// Name of the file, if it is one.
    file: String,
    /// Command without which the step is left out.
    needs: String,
    status: i32,
    shown: Vec<String>,
    /// Lines of the page with status and output; empty at 0 for blocks of commands.
    place: Range<usize>,
}

fn steps(page: &str) -> Vec<Step> {
    let (mut steps, mut block, mut needs) = (vec![], None, "");
    for (number, line) in page.lines().enumerate() {
        if let Some(command) = line.strip_prefix("<!-- needs: ") {
            needs = command.strip_suffix(" -->").unwrap();
            continue;
        }
        let new = |text: &str, file: &str| {
            let [text, file, needs] = [text, file, needs].map(String::from);
            Step { text, file, needs, place: number + 1..number + 1, ..Step::default() }
        };
        if let Some(info) = line.strip_prefix("```") {
            let (kind, file) = info.split_once(' ').unwrap_or((info, ""));
            if block.take().is_some() {
                needs = "";
            } else {
                block = Some(if file.is_empty() { kind } else { "file" });
                if kind == "sh" {
                    steps.push(Step { shown: vec!["...".into()], place: 0..0, ..new("", "") });
                } else if !file.is_empty() {
                    steps.push(new("", file));
                }
            }
            continue;
        }
        match (block, line.strip_prefix("$ "), steps.last_mut()) {
            (Some("console"), Some(command), _) => steps.push(new(command, "")),
            (Some("console"), None, Some(step)) if step.text.ends_with('\\') => {
                *step = Step { text: format!("{}\n{line}", step.text), needs: step.needs.clone(), ..new("", "") };
            }
            (Some("console"), None, Some(step)) => {
                match line.strip_prefix("? ") {
                    Some(status) if step.place.is_empty() => step.status = status.parse().unwrap(),
                    _ => step.shown.push(line.to_string()),
                }
                step.place.end = number + 1;
            }
            (Some("text"), _, Some(step)) if line != "..." => {
                step.shown.extend([format!("[..]{line}[..]"), "...".to_string()]);
            }
            (Some("sh" | "file"), _, Some(step)) => step.text += &format!("{line}\n"),
            _ => {}
        }
    }
    steps
}

/// Runs commands in a folder, for [`limit`] at most, and writes the folder in which they end into the file `end`.
fn run(commands: &str, folder: &Path, end: &Path) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_attnlab")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), env::var("PATH").unwrap());
    let child = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("{commands}\npwd > \"$END\"")])
        .current_dir(folder)
        .env("PATH", path)
        .env("END", end)
        .env("ATTNLAB", root())
        // Neither the width of the terminal nor its colours, and messages of other programs in English.
        .env_remove("COLUMNS")
        // Pages that are compared are of one day.
        .env("SOURCE_DATE_EPOCH", "1800000000")
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    // At the limit bash is killed and whatever it has started.
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let (ended, end) = channel::<()>();
    thread::spawn(move || {
        if end.recv_timeout(limit()) == Err(RecvTimeoutError::Timeout) {
            let _ = killpg(group, Signal::SIGKILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    assert!(output.status.code().is_some(), "killed after {} s (ATTNLAB_TEST_SECONDS): {commands}", limit().as_secs());
    output
}

/// Returns the lines of the output. On a slow machine a long command says on standard error how far it is, and a build
/// with the feature gpu that it takes no software renderer.
fn printed(output: &Output) -> Vec<String> {
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).to_string());
    let of_the_machine = |line: &&str| {
        let parts = [" steps, about ", ": computing on the CPU", "; the others take about "];
        parts.iter().any(|part| line.contains(part)) || line.contains(" trials, ") && line.ends_with(" left")
    };
    out.lines().chain(error.lines().filter(|line| !of_the_machine(line))).map(String::from).collect()
}

/// Decides whether the printed lines are those that are shown.
fn lines_fit(shown: &[String], printed: &[String]) -> bool {
    // Numbers of printed lines that the shown lines so far may stand for.
    let mut counts = vec![0];
    for line in shown {
        counts = match (line.as_str(), counts.first()) {
            ("...", Some(least)) => (*least..=printed.len()).collect(),
            _ => counts.into_iter().filter(|n| printed.get(*n).is_some_and(|p| fits(line, p))).map(|n| n + 1).collect(),
        };
    }
    counts.contains(&printed.len())
}

/// Returns every file and folder below a folder with the time of its last change.
fn files(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_entry = |path: PathBuf| {
        if path.ends_with(Owner::FILE) {
            return BTreeMap::new();
        }
        let within = if path.is_dir() && !path.is_symlink() { files(&path) } else { BTreeMap::new() };
        let changed = fs::symlink_metadata(&path).unwrap().modified().unwrap();
        within.into_iter().chain([(path, changed)]).collect()
    };
    entries.flat_map(of_entry).collect()
}

/// Runs a page and returns what is not as it shows.
fn differences(page: &Path) -> Vec<String> {
    let name = page.file_name().unwrap().to_string_lossy();
    let text = fs::read_to_string(page).unwrap();
    if text.contains("perl") && Command::new("perl").arg("-v").output().is_err() {
        skipped(&format!("transcripts: {name}"), "it needs perl");
        return vec![];
    }
    let (mut lines, mut differences): (Vec<String>, _) = (text.lines().map(String::from).collect(), vec![]);
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut place, end) = (folder.path().to_path_buf(), elsewhere.path().join("end"));
    let (blessed, mut blocks, mut met) = (env::var_os("ATTNLAB_BLESS").is_some(), vec![], BTreeMap::new());
    for step in steps(&text) {
        let is_met = |needs: &String| {
            let met = needs.is_empty() || run(needs, &place, &end).status.success();
            if !met {
                skipped(&format!("a block of {name}"), &format!("it needs {needs}"));
            }
            met
        };
        if !*met.entry(step.needs.clone()).or_insert_with_key(is_met) {
            continue;
        }
        if !step.file.is_empty() {
            fs::write(place.join(&step.file), &step.text).unwrap();
            continue;
        }
        let before = files(folder.path());
        let output = run(&step.text, &place, &end);
        let (status, mut printed) = (output.status.code().unwrap(), printed(&output));
        if output.status.success() {
            place = fs::read_to_string(&end).unwrap().trim_end().into();
        }
        if status != step.status || !lines_fit(&step.shown, &printed) {
            if status != 0 {
                printed.insert(0, format!("? {status}"));
            }
            if blessed && step.place.start > 0 {
                blocks.push((step.place, printed));
            } else {
                differences.push(format!("{name}: {}\nprints\n{}\n", step.text, printed.join("\n")));
            }
        }
        if status == 2 && (!output.stdout.is_empty() || files(folder.path()) != before) {
            differences.push(format!("{name}: {}\nrefuses, but writes files or on standard output\n", step.text));
        }
    }
    if !blocks.is_empty() {
        for (place, printed) in blocks.into_iter().rev() {
            lines.splice(place, printed);
        }
        fs::write(page, lines.join("\n") + "\n").unwrap();
    }
    differences
}

/// Runs the pages of folders of the repository, several at a time; with `ATTNLAB_PAGE=sweep` those alone that have this
/// word in their name.
#[track_caller]
fn assert_pages(folders: &[PathBuf]) {
    let word = env::var("ATTNLAB_PAGE").unwrap_or_default();
    let pages = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let pages: Vec<PathBuf> =
        pages.filter(|page| page.file_name().unwrap().to_string_lossy().contains(&word)).collect();
    assert!(!pages.is_empty(), "no page has '{word}' in its name");
    let differences: Vec<String> = pages.par_iter().flat_map(|page| differences(page)).collect();
    let advice = "read the change, then ATTNLAB_BLESS=1 cargo test --test suite transcripts";
    assert!(differences.is_empty(), "{}\n{advice}", differences.join("\n"));
}

#[test]
fn commands_print_what_the_transcripts_show() {
    let papers = fs::read_dir(root().join("crates/papers")).unwrap();
    let of_rooms = papers.map(|paper| paper.unwrap().path().join("tests/transcripts")).filter(|folder| folder.exists());
    let folders: Vec<PathBuf> = of_rooms.chain([root().join("tests/suite/transcripts")]).collect();
    assert_pages(&folders);
}

#[test]
#[ignore = "builds packages: .ci/tutorial"]
fn commands_print_what_the_tutorial_shows() {
    assert_pages(&[root().join("docs/tutorial")]);
}

/// Every text of a check has the promise, the estimate, the trials and the reach, and the power of every mutant.
#[test]
fn no_field_of_a_check_is_left_out() {
    let page = fs::read_to_string(root().join("tests/suite/transcripts/check-text.md")).unwrap();
    let texts: Vec<&str> = page.split("\n\n").filter(|text| text.contains("  promise")).collect();
    assert!(texts.len() >= 16, "{}", texts.len());
    for text in texts {
        let has = |field: &str| text.contains(&format!("\n  {field} "));
        assert!(["promise", "estimate", "trials", "reach"].into_iter().all(has), "{text}");
        assert_eq!(has("power"), text.contains(" / mutant "), "{text}");
    }
}
