//! Progress: bars on a terminal, a line a minute in the log of a long run.

use super::out::note;
use super::stop;
use crate::run::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

const TEMPLATE: &str = "{prefix}{msg:40} {bar:24} {pos}/{len}  {per_sec}  {eta} left";

/// Time between two lines where standard error is no terminal, such as the log of a batch job.
const PAUSE: Duration = Duration::from_secs(60);

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
        let now = Instant::now();
        Bar { bar, log: None, begun: now, first: OnceLock::new(), told: Mutex::new(now) }
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

    /// Returns the line of a log at the time `now`.
    fn line(&self, log: &Log, now: Instant) -> String {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let rate = rate(done.saturating_sub(log.resumed), log.started, now);
        let left = time_left(total.saturating_sub(done), rate);
        let (label, cells) = (&log.label, &log.cells);
        format!("{label}: {done} of {total} trials{cells}, {rate:.1}/s, {left} left")
    }

    /// Returns `true` if a log gets a line about a work of many pieces at the time `now`, and remembers the time. The
    /// last piece gets none: the results follow it.
    fn overall_is_due(&self, done: u64, total: u64, now: Instant) -> bool {
        // A time is a plain value, so that a panic elsewhere leaves it usable.
        let mut told = self.told.lock().unwrap_or_else(|p| p.into_inner());
        done < total && due(&mut told, now)
    }
}

/// Returns `true` if the last line is a [`PAUSE`] ago at the time `now`, which then becomes its time.
fn due(told: &mut Instant, now: Instant) -> bool {
    let due = now.saturating_duration_since(*told) >= PAUSE;
    if due {
        *told = now;
    }
    due
}

/// Computes the rate (1/s) of `steps` steps from `started` to `now`.
fn rate(steps: u64, started: Instant, now: Instant) -> f64 {
    steps as f64 / now.saturating_duration_since(started).as_secs_f64()
}

/// Returns the time that `steps` steps take at a rate (1/s).
fn time_left(steps: u64, rate: f64) -> String {
    match steps as f64 / rate {
        // 3e7 s is about a year; a longer time is shown as unknown.
        seconds if seconds < 3e7 => HumanDuration(Duration::from_secs_f64(seconds)).to_string(),
        _ => "unknown time".into(),
    }
}

impl Progress for Bar {
    fn start(&self, label: &str, total: u64) {
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
            let now = Instant::now();
            if due(&mut log.told, now) {
                note(&self.line(log, now));
            }
        });
    }

    fn resume(&self, steps: u64) {
        self.bar.set_position(steps);
        self.bar.reset_eta();
        self.log(|log| log.resumed = steps);
    }

    fn cells(&self, done: usize, total: usize) {
        let count = format!("{done} of {total} cells");
        if !self.bar.is_hidden() {
            let label = self.bar.message().split(", ").next().unwrap_or_default().to_string();
            self.bar.set_message(format!("{label}, {count}"));
        }
        self.log(|log| log.cells = format!(", {count}"));
    }

    fn overall(&self, done: u64, total: u64) {
        let now = Instant::now();
        let first = *self.first.get_or_init(|| done.saturating_sub(1));
        // Pieces of an earlier run took no time in this one and are left out of the rate.
        let rate = rate(done.saturating_sub(first), self.begun, now);
        let left = time_left(total.saturating_sub(done), rate);
        self.bar.set_prefix(format!("{done}/{total}, {left} left  "));
        let in_log = self.bar.is_hidden() || !std::io::stderr().is_terminal();
        if in_log && self.overall_is_due(done, total, now) {
            note(&format!("{done} of {total} steps, about {left} left"));
        }
    }

    fn line(&self, line: &str) {
        if !self.bar.is_hidden() {
            self.bar.set_message(line.to_string());
        }
        self.log(|log| {
            if due(&mut log.told, Instant::now()) {
                note(line);
            }
        });
    }

    fn announce(&self, line: &str) {
        self.bar.suspend(|| note(line));
    }

    fn stopped(&self) -> bool {
        stop::is_requested()
    }

    fn finish(&self) {
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
        let started = Instant::now();
        let log =
            Log { label: "aot.lemma1".into(), started, told: started, resumed: 40, cells: ", 3 of 5 cells".into() };
        let line = bar.line(&log, started + Duration::from_secs(10));
        assert_eq!(line, "aot.lemma1: 60 of 100 trials, 3 of 5 cells, 2.0/s, 20 seconds left");
    }

    #[test]
    fn a_log_has_a_line_a_minute_and_none_at_the_end() {
        let bar = Bar::new();
        let due = |done, total, seconds| bar.overall_is_due(done, total, bar.begun + Duration::from_secs(seconds));
        assert!(!due(1, 3, 59) && due(1, 3, 60));
        assert!(!due(2, 3, 119) && due(2, 3, 120));
        assert!(!due(3, 3, 600) && !due(1, 1, 600));
    }
}
