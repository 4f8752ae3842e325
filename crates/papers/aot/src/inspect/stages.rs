//! Progress within an inspection, which may take minutes: a line after every step of a stage.

use attnlab_lab::run::{Clock, Progress, Silent};
use attnlab_theory::fit::power::Plan;
use std::sync::{Mutex, PoisonError};

/// Receiver of the stages of an inspection.
#[derive(Clone, Copy)]
pub struct Stages<'a> {
    /// Name of the tokens, as the lines begin with it.
    pub name: &'a str,
    /// Receiver of the lines.
    pub progress: &'a dyn Progress,
}

impl Stages<'static> {
    /// Returns a receiver that ignores everything.
    pub fn silent() -> Self {
        Stages { name: "", progress: &Silent }
    }
}

impl<'a> Stages<'a> {
    /// Begins a fit of at most so many steps.
    pub(super) fn fit(&self, what: &str, steps: u64) -> Stage<'a> {
        self.begin(what, steps, steps)
    }

    /// Begins the draws of a plan; its steps are those until the next look at the power.
    pub(super) fn draws(&self, what: &str, plan: Plan, level: f64) -> Stage<'a> {
        self.begin(what, plan.draws, Plan::batch(level))
    }

    fn begin(&self, what: &str, most: u64, batch: u64) -> Stage<'a> {
        let label = format!("{}, {what}", self.name);
        Stage { label, most, batch: batch.max(1), done: Mutex::new(0), clock: Clock::new(0), progress: self.progress }
    }
}

/// Stage under way: a fit, or draws.
pub(super) struct Stage<'a> {
    label: String,
    /// Steps at most.
    most: u64,
    /// Steps after each of which the stage may end.
    batch: u64,
    done: Mutex<u64>,
    clock: Clock,
    progress: &'a dyn Progress,
}

impl Stage<'_> {
    /// Reports one more step, with the time that is left of those until the stage may end. Draws step side by side: their
    /// lines wait for one another, so that none counts back.
    pub(super) fn step(&self) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        let steps = (done.div_ceil(self.batch) * self.batch).min(self.most).max(*done);
        self.progress.line(&self.clock.line(&self.label, *done, steps, None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_lab::run::Lines;

    /// Draws come in batches of six at 95 %.
    #[test]
    fn a_stage_counts_up_to_its_next_look() {
        let lines = Lines::default();
        let stages = Stages { name: "trained network, place 7", progress: &lines };
        let fit = stages.fit("fit", 3);
        (0..2).for_each(|_| fit.step());
        let draws = stages.draws("power", Plan { draws: 8, at_once: 1 }, 0.95);
        (0..7).for_each(|_| draws.step());
        // Rate and time left follow the clock.
        let lines: Vec<String> =
            lines.lines().iter().map(|line| line.split(", ").take(3).collect::<Vec<_>>().join(", ")).collect();
        let name = "trained network, place 7";
        assert_eq!(lines[..2], [1, 2].map(|i| format!("{name}, fit: step {i} of 3")));
        assert_eq!(lines[2..8], [1, 2, 3, 4, 5, 6].map(|i| format!("{name}, power: step {i} of 6")));
        assert_eq!(lines[8], format!("{name}, power: step 7 of 8"));
    }
}
