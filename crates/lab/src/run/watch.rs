//! Watch over trials: the settings of those under way, and the time that the others will take.

use super::{Progress, pause, time};
use attnlab_core::clock::Instant;
use attnlab_core::error::Result;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Time after which the first trial that ends announces how long the others take: long enough for the rate to be
/// known, and no work that is over sooner needs it.
const SETTLED: Duration = Duration::from_secs(10);

/// Trials of this process that are under way, in the order in which they began.
static UNDER_WAY: Mutex<BTreeMap<u64, (Instant, String)>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

fn under_way() -> MutexGuard<'static, BTreeMap<u64, (Instant, String)>> {
    // Plain values, which a panic elsewhere leaves usable.
    UNDER_WAY.lock().unwrap_or_else(|p| p.into_inner())
}

/// Entry of a trial among those under way, until it is dropped.
struct Entry(u64);

impl Drop for Entry {
    fn drop(&mut self) {
        under_way().remove(&self.0);
    }
}

/// Watch over the trials of one run or check.
pub(super) struct Watch<'a> {
    id: &'a str,
    progress: &'a dyn Progress,
    /// Largest number of trials.
    trials: u64,
    started: Instant,
    begun: AtomicU64,
    /// Flag: the time of the others was announced, or is short.
    announced: AtomicBool,
}

impl<'a> Watch<'a> {
    /// Begins to watch over so many trials of the claim or experiment `id`.
    pub(super) fn new(id: &'a str, trials: u64, progress: &'a dyn Progress) -> Self {
        let (begun, announced) = (AtomicU64::new(0), AtomicBool::new(false));
        Watch { id, progress, trials, started: Instant::now(), begun, announced }
    }

    /// Runs a trial under the watch; `settings` are its parameters as messages show them.
    ///
    /// # Errors
    /// Those of the trial.
    pub(super) fn trial<T>(&self, number: u64, settings: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let name = format!("trial {number} of {} ({settings})", self.id);
        self.begun.fetch_add(1, Ordering::Relaxed);
        let place = NEXT.fetch_add(1, Ordering::Relaxed);
        under_way().insert(place, (Instant::now(), name));
        let entry = Entry(place);
        let result = pause::before_next(pause::IN_TRIAL, number, || false).and_then(|()| run());
        drop(entry);
        self.announce(self.started.elapsed());
        result
    }

    /// Announces once, at the end of a trial that is `elapsed` after the start, how long the others take if that is
    /// long.
    fn announce(&self, elapsed: Duration) {
        if elapsed < SETTLED || self.announced.swap(true, Ordering::Relaxed) {
            return;
        }
        let begun = self.begun.load(Ordering::Relaxed);
        if let Some(forecast) = time::forecast(begun, self.trials, elapsed.as_secs_f64()) {
            self.progress.announce(&format!("{}: {forecast}", self.id));
        }
    }
}

/// Returns the trial that has been under way for the longest time, with its settings and that time.
pub fn longest() -> Option<String> {
    let trials = under_way();
    let (since, name) = trials.values().next()?;
    Some(format!("{name}, for {}", time::duration(since.elapsed().as_secs_f64())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Lines, Silent};

    #[test]
    fn a_trial_under_way_has_its_settings() {
        let watch = Watch::new("toy.endless", 3, &Silent);
        let named = |number, settings| {
            watch.trial(number, settings, || {
                // Other tests of this process may have trials under way too.
                let name = format!("trial {number} of toy.endless ({settings})");
                Ok(under_way().values().any(|(_, trial)| *trial == name) && longest().is_some())
            })
        };
        assert!(named(0, "step = 1e-300").unwrap() && named(2, "dim = 3").unwrap());
        assert!(under_way().values().all(|(_, trial)| !trial.contains("toy.endless")));
    }

    #[test]
    fn the_time_of_the_others_is_announced_once() {
        let lines = Lines::default();
        let watch = Watch::new("aot.lemma1", 101, &lines);
        watch.trial(0, "", || Ok(())).unwrap();
        watch.announce(Duration::from_secs(9));
        assert!(lines.lines().is_empty());
        watch.announce(Duration::from_secs(180));
        watch.announce(Duration::from_secs(360));
        assert_eq!(lines.lines(), ["aot.lemma1: 1 of 101 trials took 3 minutes; the others take about 5 hours"]);
    }
}
