//! One check in a process of its own, which ends at a time limit.

use crate::command::STOPPED;
use crate::run::Progress;
use crate::run::schedule::no_thread;
use attnlab_core::error::{Error, Result};
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// End of a check in a process of its own.
pub enum Ended {
    /// With a verdict: the line of `attnlab check --json`.
    Verdict(Map<String, Value>),
    /// With a message and this exit status.
    Message(i32, String),
    /// By a signal or a panic.
    Crash(String),
    /// At the time limit.
    Limit,
}

/// Runs `program check ID --json` with these settings.
///
/// # Errors
/// When the program cannot be started; [`Error::Stopped`] when the user has asked to stop.
pub fn check(
    program: &Path,
    id: &str,
    set: &Map<String, Value>,
    (seed, limit): (u64, Duration),
    progress: &dyn Progress,
) -> Result<Ended> {
    let sets = set.iter().flat_map(|(name, value)| ["--set".to_string(), format!("{name}={value}")]);
    let mut command = Command::new(program);
    command.args(["check", id, "--json", "--threads", "1", "--seed", &seed.to_string()]).args(sets);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|e| Error::io(program, e, "Give the program of attnlab itself"))?;
    let pipes = (child.stdout.take(), child.stderr.take());
    let readers = reader(pipes.0).and_then(|stdout| Ok((stdout, reader(pipes.1)?)));
    let (stdout, stderr) = readers.inspect_err(|_| {
        // A process that has just ended cannot be killed, and need not be.
        let _ = child.kill();
        let _ = child.wait();
    })?;
    let ended = wait(&mut child, limit, progress);
    let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().unwrap_or_default());
    // Ctrl-C stops the processes of checks too.
    if ended == Some(Some(i32::from(STOPPED))) || ended.is_none() && progress.stopped() {
        return Err(Error::Stopped { done: 0, all: 1, what: "checks", kept: true });
    }
    Ok(match ended {
        None => Ended::Limit,
        Some(None) => Ended::Crash(last_line(&stderr)),
        Some(Some(101)) => Ended::Crash(panic_line(&stderr)),
        Some(Some(code)) => match serde_json::from_str(stdout.lines().next().unwrap_or_default()) {
            Ok(Value::Object(report)) => Ended::Verdict(report),
            _ => Ended::Message(code, last_line(&stderr)),
        },
    })
}

/// Factor of the limit at which a check ends by the clock: others may hold the processors, and a check may wait for
/// ever without using them.
const PATIENCE: u32 = 20;

/// Waits for the end and returns the exit status, None inside for a signal; None after a kill, at the limit or when the
/// user has asked to stop. The limit is one of processor time where the system tells it (Linux), so that a busy machine
/// makes no check slow.
fn wait(child: &mut Child, limit: Duration, progress: &dyn Progress) -> Option<Option<i32>> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        // Looked at first: also a check that has ended meanwhile took too long.
        let is_late = started.elapsed() > PATIENCE * limit;
        if !is_late && let Ok(Some(status)) = child.try_wait() {
            return Some(status.code());
        }
        if is_late || progress.stopped() || used(child.id()).unwrap_or_else(|| started.elapsed()) > limit {
            // A process that has just ended cannot be killed, and need not be.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(20));
    }
}

/// Returns the processor time that a process has used, of all its threads; None where the system does not tell.
fn used(process: u32) -> Option<Duration> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let mut sum = 0;
    for task in tasks {
        // Nanoseconds on a processor, nanoseconds waiting, and time slices; a thread may just have ended.
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        sum += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(sum))
}

/// Reads a pipe to its end in a thread, so that a long output does not block the process.
fn reader(pipe: Option<impl Read + Send + 'static>) -> Result<JoinHandle<String>> {
    let read = || {
        let mut bytes = vec![];
        // What a killed process leaves is not used.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Builder::new().spawn(read).map_err(|e| no_thread(1, &e))
}

fn last_line(text: &str) -> String {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_string()
}

/// Returns the message of a panic, with its place.
fn panic_line(text: &str) -> String {
    text.lines().skip_while(|line| !line.contains("panicked at")).take(2).collect::<Vec<_>>().join(" ")
}
