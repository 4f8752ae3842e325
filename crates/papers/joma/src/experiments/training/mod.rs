//! JoMA Figs. 2 and 3: a linear activation under softmax attention, trained by cross-entropy: how well Theorem 1
//! predicts the logits, and which weights grow.

use crate::PAPERS;
use crate::dynamics::{Cause, Form, Prediction, Run, account};
use crate::quantities::{FREQUENCIES, SETTING};
use crate::tokens::ClassTokens;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Watch, descend};

mod pictures;

settings! {
    /// Figs. 2 and 3 in the settings of the authors' code and in those of the paper.
    #[experiment("joma.training", rows = "joma_training",
        title = "Softmax attention under cross-entropy: Theorem 1's prediction of the logits, growing weights")]
    #[source(&PAPERS[0], "Figures 2 and 3, Theorems 1, 2")]
    pub struct JomaTraining {
        pub trials: u64 = spread,
        pub distinct: usize = whole(1..),
        pub common: usize,
        pub classes: usize = whole(2..),
        pub width2: f64 = positive,
        pub scale: f64 = positive,
        pub temperature: f64 = positive,
        pub eta: f64 = positive,
        pub steps: usize = whole(1..),
        pub long_steps: usize,
        pub every: usize = whole(1..),
        pub components: usize = whole(1..),
    }
}

/// Token frequencies: the two columns of Fig. 2.
const DATA: [&str; 2] = ["smooth", "random"];
/// The code's settings and the paper's.
const SETTINGS: [&str; 2] = ["code", "text"];

impl JomaTraining {
    fn tokens(&self) -> usize {
        self.distinct + self.common
    }

    /// The steps at which the run is recorded.
    fn recorded(&self) -> Vec<f64> {
        (0..=self.long_steps / self.every).map(|i| (i * self.every) as f64).collect()
    }
}

impl Experiment for JomaTraining {
    fn validate(&self) -> Result<()> {
        let (tokens, steps, every) = (self.tokens(), self.steps, self.every);
        let allowed = format!("must be at least 1 when distinct = {}", self.distinct);
        require(tokens >= 2, "common", self.common, allowed)?;
        let allowed = format!("must be at most distinct + common = {tokens}");
        require(self.components <= tokens, "components", self.components, allowed)?;
        let allowed = format!("must be at least steps = {steps}, and steps at least twice every = {every}");
        require(self.long_steps >= steps && steps >= 2 * every, "long_steps", self.long_steps, allowed)
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(setting, data)| Params::from_iter([SETTING.is(setting), FREQUENCIES.is(data)]);
        Ok(iproduct!(SETTINGS, DATA).map(cell).collect())
    }

    fn memory(&self, _cell: &Params) -> u64 {
        // Weights, their gradient, the inputs and a copy of each: tokens by nodes.
        memory::product(&[8, 6, self.tokens() as u64, self.classes as u64])
    }

    /// At every record the series "nc", "nc1", "nc2" (correlation of z with ẑ and its two parts),
    /// "amplitude" (|z - ẑ|/|z|), "moved" (how far b̄ is from its start, in total variation), "v0_l"
    /// (components of v_0); "x", token by class; "v_start" and "v_end", token by node with the query's row u_mᵀW last;
    /// "share_NAME" of the drift at the end.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let width2 = (cell.get(FREQUENCIES) == "smooth").then_some(self.width2);
        let tokens = ClassTokens { distinct: self.distinct, common: self.common, classes: self.classes, width2 };
        let code = cell.get(SETTING) == "code";
        let training = tokens.layer(if code { self.temperature } else { 1.0 }, streams)?;
        let start = training.normal_start(self.scale, streams);
        let prediction = if code { Prediction::of_code(&training, &start) } else { Prediction::new(&training, &start) };
        let mut series: Vec<Vec<f64>> = vec![vec![]; 5 + self.components];
        let mut look = |t: f64, x: &[f64]| {
            if !((t / self.eta).round() as usize).is_multiple_of(self.every) {
                return;
            }
            let v = training.weights(x);
            let agreement = prediction.agreement(x);
            let values = [agreement.whole, agreement.squares, agreement.norm, agreement.amplitude, prediction.moved(x)];
            let components = (0..self.components).map(|l| v[[l, 0]]);
            for (list, value) in series.iter_mut().zip(values.into_iter().chain(components)) {
                list.push(value);
            }
        };
        let path = descend(&training, &start, self.eta, &[self.long_steps as f64 * self.eta], Watch::steps(&mut look))?;
        let names = ["nc", "nc1", "nc2", "amplitude", "moved"].map(String::from);
        let components = (0..self.components).map(|l| format!("v0_{l}"));
        let mut row: Map<String, Value> =
            names.into_iter().chain(components).zip(&series).map(|(name, list)| (name, store::series(list))).collect();
        let flat = |x: &[f64]| {
            let (v, query) = (training.weights(x), training.biases(x));
            store::series(&v.iter().chain(&query).copied().collect::<Vec<_>>())
        };
        row.insert("x".into(), store::series(&training.inputs().iter().copied().collect::<Vec<_>>()));
        row.insert("v_start".into(), flat(&start));
        row.insert("v_end".into(), flat(path.end()));
        let run = Run::Descent(self.eta);
        let account = account(&training, &start, self.steps as f64 * self.eta, f64::MAX, run, Form::DERIVED)?;
        row.insert("steps".into(), path.steps.into());
        row.insert("drift".into(), store::number(account.drift));
        for (cause, share) in Cause::ALL.into_iter().zip(account.shares) {
            row.insert(format!("share_{cause:?}"), store::number(share));
        }
        Ok(row)
    }

    fn size(&self) -> String {
        format!("*K* = {}, {} to {} steps, {} draws", self.classes, self.steps, self.long_steps, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
