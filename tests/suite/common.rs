//! Processes of tests with a limit against a hang, skipped tests, and the catalogue.

use attnlab::catalogue::Catalogue;
use attnlab::claim::Claim;
use attnlab::experiment::Entry;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Returns the longest time that a test waits for a process: a guard against a hang alone, so that no slow or busy
/// machine reaches it. `ATTNLAB_TEST_SECONDS` sets another than 600 s.
pub fn limit() -> Duration {
    let seconds = std::env::var("ATTNLAB_TEST_SECONDS").map_or(600, |text| {
        text.parse::<u64>().unwrap_or_else(|_| panic!("ATTNLAB_TEST_SECONDS = {text}: must be a whole number"))
    });
    Duration::from_secs(seconds)
}

/// Runs a command to its end, for [`limit`] at most. Panics if a signal ended it, as the limit does: its output is then
/// not what it had to say.
#[track_caller]
pub fn output_of(command: &mut assert_cmd::Command) -> io::Result<Output> {
    let (limit, started) = (limit(), Instant::now());
    let output = command.timeout(limit).output()?;
    if output.status.code().is_some() {
        return Ok(output);
    }
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words: Vec<_> = std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    panic!(
        "killed after {} s: {} ({}; the limit is {} s, ATTNLAB_TEST_SECONDS)",
        started.elapsed().as_secs(),
        words.join(" "),
        output.status,
        limit.as_secs()
    )
}

/// Runs a command of the standard library as [`output_of`] does.
#[track_caller]
pub fn complete(command: Command) -> Output {
    output_of(&mut assert_cmd::Command::from_std(command)).unwrap()
}

/// Returns what a process wrote on standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The `attnlab` command, which runs as [`output_of`] says.
pub struct Attnlab(assert_cmd::Command);

impl Attnlab {
    #[cfg(any(feature = "gpu", target_os = "linux"))]
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.0.env(name, value);
        self
    }

    #[cfg(feature = "gpu")]
    pub fn env_remove(&mut self, name: &str) -> &mut Self {
        self.0.env_remove(name);
        self
    }

    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        output_of(&mut self.0)
    }
}

pub fn attnlab(args: &[&str]) -> Attnlab {
    let mut command = assert_cmd::Command::cargo_bin("attnlab").unwrap();
    command.args(args).env_remove("COLUMNS");
    Attnlab(command)
}

/// Settings of the experiment `snr_per_layer` with which a trial takes milliseconds.
pub fn small_snr() -> Vec<&'static str> {
    let settings = "tokens=40 dim=12 layers=3 figure4_tokens=20 figure4_clusters=2 figure4_dim=6";
    settings.split(' ').flat_map(|setting| ["--set", setting]).collect()
}

/// Starts `attnlab` so that it waits after `number` of whatever `variable` of `run::pause` counts, and returns when it
/// has come there: `reached` is true then.
#[track_caller]
pub fn paused(arguments: &[impl AsRef<OsStr>], variable: &str, number: usize, reached: impl Fn() -> bool) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
    command.args(arguments).env(variable, number.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until(&mut child, &format!("{variable} = {number}"), reached);
    child
}

/// Waits until `ready`, while `child` runs. Panics if the process ends before, or at [`limit`], and leaves no process.
#[track_caller]
pub fn wait_until(child: &mut Child, awaited: &str, ready: impl Fn() -> bool) {
    poll(child, awaited, |child| {
        let ended = child.try_wait().unwrap();
        let ready = ready();
        assert!(ready || ended.is_none(), "{ended:?} before {awaited}");
        ready
    });
}

/// Waits for the end of a process and returns what is left of its output. Panics at [`limit`], after a kill.
#[track_caller]
pub fn ended(mut child: Child) -> Output {
    poll(&mut child, "the end", |child| child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap()
}

/// Kills a process with SIGKILL, so that it can tidy up nothing, and asserts that it was running until then.
#[track_caller]
pub fn kill(mut child: Child) {
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it had ended before the kill");
}

/// Sends a process the signal of Ctrl-C.
#[cfg(unix)]
pub fn interrupt(child: &Child) {
    use nix::sys::signal::{Signal, kill};
    kill(nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
}

/// Returns the number of whole rows in a folder; 0 if it has no file of rows.
pub fn rows_in(folder: &Path) -> usize {
    fs::read(folder.join("rows.jsonl")).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

#[track_caller]
fn poll(child: &mut Child, awaited: &str, mut ready: impl FnMut(&mut Child) -> bool) {
    let (limit, started) = (limit(), Instant::now());
    while !ready(child) {
        if started.elapsed() > limit {
            child.kill().unwrap();
            panic!("{} s without {awaited}", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Says that a test was skipped, and why, also where the test harness captures what `eprintln!` writes.
pub fn skipped(test: &str, reason: &str) {
    let _ = writeln!(io::stderr(), "skipped: {test}: {reason}");
}

/// Decides whether a message has the name as a word.
pub fn names_word(message: &str, name: &str) -> bool {
    message.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
}

/// Standard output, one JSON object per line.
pub fn json_lines(args: &[&str]) -> Vec<Value> {
    parsed_lines(&String::from_utf8(attnlab(args).output().unwrap().stdout).unwrap())
}

/// A text with one JSON object per line.
pub fn parsed_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

pub static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(attnlab::catalogue);

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn claims() -> Vec<Arc<dyn Claim>> {
    CATALOGUE.claims().cloned().collect()
}

pub fn claim(id: &str) -> Arc<dyn Claim> {
    CATALOGUE.claim(id).unwrap().clone()
}

pub fn experiment(name: &str) -> &'static Entry {
    CATALOGUE.experiment(name).unwrap()
}
