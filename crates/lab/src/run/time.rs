//! Estimated processor time, and the refusal of work that nobody waits for.

use super::Progress;
use crate::words::counted;
use attnlab_core::error::{Error, Result};

/// Processor time (s) beyond which a check is refused: a month on one core. More is a mistake (`tokens=1e12`).
const MOST: f64 = 30.0 * DAY;

/// Time (s) of a check or run from which on it is announced how long it takes.
const LONG: f64 = 300.0;

const DAY: f64 = 86_400.0;

/// Refuses a check of `trials` trials of so many `seconds` each that would take more than a month on one core.
///
/// # Errors
/// [`Error::Time`] with the estimate.
pub fn ensure(trials: u64, seconds: f64) -> Result<()> {
    let needed = trials as f64 * seconds;
    if trials == 0 || needed <= MOST {
        return Ok(());
    }
    Err(Error::Time { work: described(trials, seconds), needed: duration(needed) })
}

/// Announces a check that takes longer than five minutes on one core.
pub(super) fn announce(id: &str, trials: u64, seconds: f64, progress: &dyn Progress) {
    let needed = trials as f64 * seconds;
    if needed > LONG {
        let line = format!("{id}: {} take about {} on one core", described(trials, seconds), duration(needed));
        progress.announce(&line);
    }
}

/// Says how long the others of `trials` trials take if those begun have taken so many `seconds` together; None if that
/// is less than five minutes.
pub(super) fn forecast(begun: u64, trials: u64, seconds: f64) -> Option<String> {
    let left = trials.saturating_sub(begun) as f64 * seconds / begun.max(1) as f64;
    let (taken, left) = (duration(seconds), Some(left).filter(|left| *left > LONG).map(duration)?);
    Some(format!("{begun} of {trials} trials took {taken}; the others take about {left}"))
}

/// Names the trials of a check and the time of one: `8 trials of about 3 minutes`.
fn described(trials: u64, seconds: f64) -> String {
    format!("{} of about {}", counted(trials, "trial"), duration(seconds))
}

/// Rounds a processor time (s) to its largest unit: `40 s`, `3 minutes`, `5 hours`, `2 days`, `4e5 years`.
pub(super) fn duration(seconds: f64) -> String {
    let units = [(365.25 * DAY, "year"), (DAY, "day"), (3600.0, "hour"), (60.0, "minute")];
    // Two of a unit at least, so that rounding changes little.
    match units.iter().find(|(length, _)| seconds >= 2.0 * length) {
        Some((length, name)) if seconds / length >= 1e4 => format!("{:.0e} {name}s", seconds / length),
        Some((length, name)) => format!("{:.0} {name}s", seconds / length),
        None if seconds < 1.0 => format!("{:.0} ms", (1000.0 * seconds).max(1.0)),
        None => format!("{seconds:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_at_a_glance() {
        for (seconds, text) in [
            (1e-5, "1 ms"),
            (0.25, "250 ms"),
            (90.0, "90 s"),
            (180.0, "3 minutes"),
            (18_000.0, "5 hours"),
            (2.6 * DAY, "3 days"),
            (1.3e13, "4e5 years"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn the_first_trials_forecast_the_others() {
        assert_eq!(forecast(1, 10, 20.0), None);
        assert_eq!(forecast(2, 100, 180.0).unwrap(), "2 of 100 trials took 3 minutes; the others take about 2 hours");
        assert_eq!(forecast(1, 1, 1e9), None);
    }

    #[test]
    fn a_week_is_allowed_and_a_year_is_not() {
        assert!(ensure(100, 6000.0).is_ok());
        assert_eq!(
            ensure(8, 1e7).unwrap_err().to_string(),
            "a check of 8 trials of about 116 days would take 3 years on one core: write smaller parameters, or \
             fewer trials"
        );
        assert!(ensure(0, f64::INFINITY).is_ok());
        assert!(ensure(1, f64::INFINITY).is_err() && ensure(1, f64::NAN).is_err());
    }
}
