//! Progress: bars on a terminal, a line a minute in the log of a long run.

use super::out::note;
use crate::run::schedule::no_thread;
use crate::run::time::duration;
use crate::run::{Progress, checkpoints, files, watch};
use attnlab_core::error::Result;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

const TEMPLATE: &str = "{prefix}{msg:40} {bar:24} {pos}/{len}  {per_sec}  {eta} left";

/// Time between two lines where standard error is no terminal, such as the log of a batch job.
const PAUSE: Duration = Duration::from_secs(60);

/// Flag: Ctrl-C was pressed.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Number of bars of work under way, which ends by itself when it finds [`STOPPED`].
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
/// Flag: that work keeps what is done.
static RESUMABLE: AtomicBool = AtomicBool::new(false);

/// Time for trials under way to end.
const GRACE: Duration = Duration::from_millis(800);

/// Makes Ctrl-C (or a batch system's SIGTERM) end the program within a second. Rows are written one by one and
/// files in full or not at all, so that nothing which is stored is lost. Only a long trial that writes checkpoints
/// is given the time to write one; a second Ctrl-C ends that at once too.
pub fn stop_on_signals() {
    // Fails only where a handler is set already: by this function.
    let _ = ctrlc::set_handler(|| {
        let again = STOPPED.swap(true, Ordering::SeqCst);
        if again || UNDER_WAY.load(Ordering::SeqCst) == 0 {
            end();
        }
        if checkpoints::under_way() {
            note("stopping after the step under way, with a checkpoint; once more stops at once");
            return;
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            if !checkpoints::under_way() {
                end();
            }
        });
    });
}

/// Time of one trial after which a line says that it is under way.
const LONG_TRIAL: Duration = Duration::from_secs(300);
/// Time between two looks at the trials under way.
const LOOK: Duration = Duration::from_millis(50);
/// Time for a long trial to write a checkpoint at the time limit.
const CHECKPOINT: Duration = Duration::from_secs(60);

/// Watches over the program from a thread of its own: names a trial that takes very long and, after `limit`, ends the
/// program and names the trial that was under way, with its settings. `status` is the exit status then.
///
/// # Errors
/// A limit that cannot be kept, as the system refuses the thread.
pub fn watch_time(limit: Option<Duration>, status: u8) -> Result<()> {
    let begun = Instant::now();
    let watch = move || {
        let mut told = false;
        loop {
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            std::thread::sleep(left.map_or(LOOK * 20, |left| left.min(LOOK * 20)).max(LOOK));
            if let Some((time, trial)) = watch::longest().filter(|(time, _)| *time > LONG_TRIAL)
                && !told
            {
                told = true;
                let time = duration(time.as_secs_f64());
                note(&format!("{trial} has been under way for {time}. Ctrl-C ends it; --time-limit S would have"));
            }
        }
        STOPPED.store(true, Ordering::SeqCst);
        let stopped = Instant::now();
        while checkpoints::under_way() && stopped.elapsed() < CHECKPOINT {
            std::thread::sleep(LOOK);
        }
        let seconds = limit.unwrap_or_default().as_secs_f64();
        let trial = match watch::longest() {
            Some((time, trial)) => {
                let time = duration(time.as_secs_f64());
                format!(" Under way for {time}: {trial}.")
            }
            None => String::new(),
        };
        let kept = match RESUMABLE.load(Ordering::SeqCst) {
            true => " Rows so far are kept: give the same command again with a longer limit, it goes on",
            false => " Write smaller parameters, fewer trials, or a longer limit",
        };
        note(&format!("error: the time limit of {seconds} s is over.{trial}{kept}"));
        files::abandon();
        std::process::exit(i32::from(status));
    };
    match std::thread::Builder::new().spawn(watch) {
        Err(e) if limit.is_some() => Err(no_thread(1, &e)),
        _ => Ok(()),
    }
}

/// Ends the program, without its temporary files.
fn end() -> ! {
    let kept = match RESUMABLE.load(Ordering::SeqCst) {
        true => "stopped. Rows so far are kept: give the same command again, it goes on where it stopped",
        false => "stopped",
    };
    note(kept);
    files::abandon();
    std::process::exit(i32::from(super::STOPPED));
}

/// A bar on standard error with rate and time left; shows nothing where that is no terminal.
pub struct Bar {
    bar: ProgressBar,
    /// Log lines of a run that keeps its rows, where standard error is no terminal.
    log: Option<Mutex<Log>>,
    /// Start of a work of many pieces; `first` is the number of pieces done before, `told` the time of
    /// the last line about it.
    begun: Instant,
    first: OnceLock<u64>,
    told: Mutex<Instant>,
    /// Flag: between start and finish.
    under_way: AtomicBool,
}

/// Contents of a line in a log.
struct Log {
    label: String,
    started: Instant,
    told: Instant,
    resumed: u64,
    cells: String,
}

impl Bar {
    /// Creates a bar for work whose results come at its end.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        // The template is a constant that the test below parses; the default bar serves otherwise.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Bar {
            bar,
            log: None,
            begun: Instant::now(),
            first: OnceLock::new(),
            told: Mutex::new(Instant::now()),
            under_way: AtomicBool::new(false),
        }
    }

    /// Creates a bar that is hidden when results appear on the terminal line by line: they show the
    /// progress themselves, and a bar between them would garble both.
    pub fn unless_lines_show() -> Self {
        let mut bar = Bar::new();
        if std::io::stdout().is_terminal() {
            bar.bar = ProgressBar::hidden();
        }
        bar
    }

    /// Creates a bar for runs that keep their rows, with a line a minute where standard error is no terminal.
    pub fn resumable() -> Self {
        let now = Instant::now();
        let log = Log { label: String::new(), started: now, told: now, resumed: 0, cells: String::new() };
        let silent = !std::io::stderr().is_terminal();
        Bar { log: silent.then(|| Mutex::new(log)), ..Bar::new() }
    }

    fn log(&self, change: impl FnOnce(&mut Log)) {
        if let Some(log) = &self.log {
            // The fields are plain values, so that a panic elsewhere leaves them usable.
            change(&mut log.lock().unwrap_or_else(|p| p.into_inner()));
        }
    }

    fn line(&self, log: &Log) -> String {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let seconds = log.started.elapsed().as_secs_f64();
        let rate = done.saturating_sub(log.resumed) as f64 / seconds;
        let left = match all.saturating_sub(done) as f64 / rate {
            // 3e7 s is about a year; a longer time is shown as unknown.
            left if left < 3e7 => HumanDuration(Duration::from_secs_f64(left)).to_string(),
            _ => "unknown time".into(),
        };
        let (label, cells) = (&log.label, &log.cells);
        format!("{label}: {done} of {all} trials{cells}, {rate:.1}/s, {left} left")
    }
}

impl Progress for Bar {
    fn start(&self, label: &str, total: u64) {
        if !self.under_way.swap(true, Ordering::SeqCst) {
            UNDER_WAY.fetch_add(1, Ordering::SeqCst);
            RESUMABLE.fetch_or(self.log.is_some(), Ordering::SeqCst);
        }
        self.bar.set_message(label.to_string());
        self.bar.set_length(total);
        self.bar.reset();
        self.log(|log| {
            log.label = label.to_string();
            log.started = Instant::now();
            log.told = log.started;
        });
    }

    fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        self.log(|log| {
            if log.told.elapsed() >= PAUSE {
                log.told = Instant::now();
                note(&self.line(log));
            }
        });
    }

    fn resume(&self, steps: u64) {
        self.bar.set_position(steps);
        self.bar.reset_eta();
        self.log(|log| log.resumed = steps);
    }

    fn cells(&self, done: usize, all: usize) {
        let of = format!("{done} of {all} cells");
        if !self.bar.is_hidden() {
            let message = self.bar.message();
            let label = message.split(", ").next().unwrap_or_default().to_string();
            self.bar.set_message(format!("{label}, {of}"));
        }
        self.log(|log| log.cells = format!(", {of}"));
    }

    fn overall(&self, done: u64, all: u64) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let first = *self.first.get_or_init(|| done.saturating_sub(1));
        // Pieces of an earlier run took no time in this one and are left out of the rate.
        let rate = done.saturating_sub(first) as f64 / seconds;
        let left = match all.saturating_sub(done) as f64 / rate {
            left if left < 3e7 => HumanDuration(Duration::from_secs_f64(left)).to_string(),
            _ => "unknown time".into(),
        };
        let line = format!("{done} of {all} steps, about {left} left");
        self.bar.set_prefix(format!("{done}/{all}, {left} left  "));
        if self.bar.is_hidden() || !std::io::stderr().is_terminal() {
            let mut told = self.told.lock().unwrap_or_else(|p| p.into_inner());
            if told.elapsed() >= PAUSE {
                *told = Instant::now();
                note(&line);
            }
        }
    }

    fn line(&self, line: &str) {
        if !self.bar.is_hidden() {
            self.bar.set_message(line.to_string());
        }
        self.log(|log| {
            if log.told.elapsed() >= PAUSE {
                log.told = Instant::now();
                note(line);
            }
        });
    }

    fn announce(&self, line: &str) {
        note(line);
    }

    fn stopped(&self) -> bool {
        STOPPED.load(Ordering::Relaxed)
    }

    fn finish(&self) {
        if self.under_way.swap(false, Ordering::SeqCst) {
            UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_parses_and_shows_the_rate_and_the_time_left() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
        assert!(TEMPLATE.contains("eta") && TEMPLATE.contains("per_sec"));
    }

    #[test]
    fn a_line_in_a_log() {
        let bar = Bar::new();
        bar.start("aot.lemma1", 100);
        bar.bar.set_position(60);
        let started = Instant::now() - Duration::from_secs(10);
        let log =
            Log { label: "aot.lemma1".into(), started, told: started, resumed: 40, cells: ", 3 of 5 cells".into() };
        let line = bar.line(&log);
        let expected = "aot.lemma1: 60 of 100 trials, 3 of 5 cells, 2.0/s, 20 seconds left";
        assert_eq!(line, expected);
    }
}
