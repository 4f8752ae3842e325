//! Watch over trials: which are under way and for how long, and how long all of them will take.

use super::{Progress, time};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Function that names a trial and its settings, from the place of its cell and its number.
pub type Describe = Arc<dyn Fn(usize, u64) -> String + Send + Sync>;

/// Trials under way, by the order in which they began.
static UNDER_WAY: Mutex<BTreeMap<u64, UnderWay>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

struct UnderWay {
    since: Instant,
    place: usize,
    trial: u64,
    describe: Describe,
}

fn under_way() -> MutexGuard<'static, BTreeMap<u64, UnderWay>> {
    // Plain values, which a panic elsewhere leaves usable.
    UNDER_WAY.lock().unwrap_or_else(|p| p.into_inner())
}

/// Watch over the trials of one run.
pub struct Watch {
    describe: Describe,
    /// Number of trials that are left at the start.
    trials: u64,
    /// Flag: the time of all trials was announced, or is short.
    told: AtomicBool,
}

/// A trial under way, until it is dropped.
pub struct Guard(u64);

impl Drop for Guard {
    fn drop(&mut self) {
        under_way().remove(&self.0);
    }
}

impl Watch {
    /// Begins to watch a run of so many trials.
    pub fn new(trials: u64, describe: Describe) -> Self {
        Watch { describe, trials, told: AtomicBool::new(false) }
    }

    /// Marks the time of all trials as announced.
    pub fn told(self) -> Self {
        self.told.store(true, Ordering::Relaxed);
        self
    }

    /// Runs a trial under the watch. After the first one, the time of all is announced if it is long.
    pub fn trial<T>(&self, (place, trial): (usize, u64), progress: &dyn Progress, run: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let ticket = NEXT.fetch_add(1, Ordering::Relaxed);
        let entry = UnderWay { since: begun, place, trial, describe: self.describe.clone() };
        under_way().insert(ticket, entry);
        let guard = Guard(ticket);
        let done = run();
        drop(guard);
        if !self.told.swap(true, Ordering::Relaxed) {
            let seconds = begun.elapsed().as_secs_f64();
            if let Some(line) = time::forecast(self.trials, seconds, rayon::current_num_threads()) {
                progress.announce(&line);
            }
        }
        done
    }
}

/// Returns the trial that has been under way for the longest time, with its settings.
pub fn longest() -> Option<(Duration, String)> {
    let (since, place, trial, describe) = {
        let all = under_way();
        let first = all.values().next()?;
        (first.since, first.place, first.trial, first.describe.clone())
    };
    Some((since.elapsed(), describe(place, trial)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Silent;

    #[test]
    fn the_trial_under_way_is_named() {
        let describe = Arc::new(|place, trial| format!("trial {trial} of cell {place}"));
        let watch = Watch::new(3, describe);
        let named = watch.trial((7, 2), &Silent, longest);
        // Other tests of this process may have trials under way too.
        assert!(named.is_some_and(|(_, name)| name.starts_with("trial ")));
    }
}
