//! Fig. 2: does the invariant predict the logits of trained softmax attention?
//!
//! The criterion, stated beforehand: "high correlation" is a centred correlation of at least [`HIGH`],
//! whenever one looks ([`LOOKS`]) at [`STEPS`] steps of the authors' code, at the temperature 1 of the
//! paper's text (`setting = text`) or .5 of the code (`setting = code`).

use super::setting::{FIGURE_ETA, FIGURE_SCALE, figure_temperature};
use crate::dynamics::{Agreement, Prediction};
use crate::quantities::{INPUTS, SETTING};
use crate::tokens::ClassTokens;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Watch, descend};

/// A statement of Fig. 2's caption on trained layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fig2 {
    /// The claim whose sheet it bears: for a mutant, the one that it belongs to.
    claim: Says,
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// ẑ correlates throughout.
    Correlates,
    /// The mutant: ẑ with the entries of b̄ moved on by a few tokens does.
    OtherMean,
    /// ẑ_1 and ẑ_2 alone do not.
    Components,
    /// The mutant: ẑ_1 alone does.
    SquaresAlone,
    /// In the end ẑ_1 does too, ẑ_2 does not.
    ComponentsCorrected,
    /// The mutant: ẑ_2 alone does.
    NormAlone,
    /// ẑ predicts z itself: within a factor of two.
    Amplitude,
    /// The mutant: within a quarter of it.
    Quarter,
}

impl Fig2 {
    const fn genuine(says: Says) -> Self {
        Fig2 { claim: says, says }
    }
    /// High correlation of ẑ with z.
    pub const CORRELATES: Self = Self::genuine(Says::Correlates);
    /// No high correlation of either component of ẑ.
    pub const COMPONENTS: Self = Self::genuine(Says::Components);
    /// High correlation of the first component alone.
    pub const COMPONENTS_CORRECTED: Self = Self::genuine(Says::ComponentsCorrected);
    /// Prediction of z by ẑ within a factor of two.
    pub const AMPLITUDE: Self = Self::genuine(Says::Amplitude);

    /// Returns `true` if the trials give correlations, which are judged by their mean.
    fn by_mean(self) -> bool {
        matches!(self.says, Says::Correlates | Says::OtherMean)
    }
}

/// Least correlation that counts as high: less than a fifth of the variance is left, as 1 - .9² = .19.
const HIGH: f64 = 0.9;
/// Steps of the authors' code.
const STEPS: usize = 2000;
/// Numbers of looks at a run, at equal distances: every 100 steps.
const LOOKS: usize = 20;
/// Tokens by which the mutant moves b̄ on: from the distinct ones half way to the common ones.
const MOVED_ON: usize = 5;

impl Claim for Fig2 {
    fn sheet(&self) -> &'static Sheet {
        match self.claim {
            Says::Amplitude => sheet!("joma.fig2_amplitude"),
            Says::Components => sheet!("joma.fig2_components"),
            Says::ComponentsCorrected => sheet!("joma.fig2_components_corrected"),
            _ => sheet!("joma.fig2"),
        }
    }

    fn schema(&self) -> Schema {
        let inputs = match self.claim {
            Says::ComponentsCorrected => "smooth",
            _ => "both",
        };
        vec![INPUTS.or(inputs), SETTING.or("text")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // On random inputs the correlations scatter around the criterion.
        let margin = match params.get(INPUTS) {
            "smooth" => 1.0,
            _ => -1.0,
        };
        match self.claim {
            Says::ComponentsCorrected => {
                vec![Hypothesis::new("smooth inputs", "inputs = smooth: 1, otherwise -1", margin)]
            }
            _ => vec![],
        }
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match (self.says, params.get(SETTING)) {
            // At T = .5 b̄ moves so far that the sizes differ by a factor of several.
            (Says::Amplitude, "code") => VerdictKind::Refuted,
            _ => self.sheet().expected,
        }
    }

    fn promise(&self, _params: &Params) -> Promise {
        match self.by_mean() {
            true => Promise::MeanIn(HIGH, 1.0),
            false => Promise::Always,
        }
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // Some tenths of a second each.
        8
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let cases: &[bool] = match params.get(INPUTS) {
            "both" => &[true, false],
            "smooth" => &[true],
            _ => &[false],
        };
        let temperature = figure_temperature(params);
        let moved_on = match self.says {
            Says::OtherMean => MOVED_ON,
            _ => 0,
        };
        let run = |smooth: &bool| run(*smooth, temperature, moved_on, streams);
        let runs = cases.iter().map(run).collect::<Result<Vec<_>>>()?;
        let least = |pick: fn(&Agreement) -> f64| {
            let of = |run: &Vec<Agreement>| run.iter().map(pick).fold(f64::INFINITY, f64::min);
            runs.iter().map(of).collect::<Vec<f64>>()
        };
        let end = |pick: fn(&Agreement) -> f64| {
            let of = |run: &Vec<Agreement>| run.last().map_or(f64::NAN, pick);
            runs.iter().map(of).collect::<Vec<f64>>()
        };
        let (whole, squares, norm) = (least(|a| a.whole), least(|a| a.squares), least(|a| a.norm));
        let (squares_end, norm_end) = (end(|a| a.squares), end(|a| a.norm));
        let amplitude = end(|a| a.amplitude);
        let all = |values: &[f64], holds: fn(f64) -> bool| values.iter().all(|x| holds(*x));
        let witness = witness! {
            "least_correlation" => whole, "least_of_squares" => squares, "least_of_norm" => norm,
            "correlation_at_the_end" => end(|a| a.whole), "of_squares" => squares_end, "of_norm" => norm_end,
            "relative_distance" => amplitude,
        };
        if self.by_mean() {
            let value = whole.into_iter().fold(f64::INFINITY, f64::min);
            return Ok(Outcome::Value { value, witness });
        }
        let holds = match self.says {
            Says::Components => all(&squares, |c| c < HIGH) && all(&norm, |c| c < HIGH),
            Says::SquaresAlone => all(&squares, |c| c >= HIGH),
            Says::ComponentsCorrected => all(&squares_end, |c| c >= HIGH) && all(&norm_end, |c| c < HIGH),
            Says::NormAlone => all(&norm_end, |c| c >= HIGH),
            Says::Quarter => all(&amplitude, |a| a <= 0.25),
            _ => all(&amplitude, |a| a <= 1.0),
        };
        Ok(Outcome::Event { holds, witness })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says| Mutant::new(name, Fig2 { says, ..*self });
        vec![match self.claim {
            Says::Components => variant("squares-alone", Says::SquaresAlone),
            Says::ComponentsCorrected => variant("norm-alone", Says::NormAlone),
            Says::Amplitude => variant("quarter", Says::Quarter),
            _ => variant("other-mean", Says::OtherMean),
        }]
    }
}

/// The agreement of ẑ and z at every look at a run, with the entries of b̄ moved on by some tokens.
fn run(smooth: bool, temperature: f64, moved_on: usize, streams: &Streams) -> Result<Vec<Agreement>> {
    let training = ClassTokens::of_figure_2(smooth).layer(temperature, streams)?;
    let start = training.normal_start(FIGURE_SCALE, streams);
    let prediction = Prediction::of_code(&training, &start).moved_on(moved_on, &start);
    let every = STEPS as f64 * FIGURE_ETA / LOOKS as f64;
    let times: Vec<f64> = (1..=LOOKS).map(|i| i as f64 * every).collect();
    let path = descend(&training, &start, FIGURE_ETA, &times, Watch::default())?;
    let looks = path.states.iter();
    Ok(looks.map(|state| prediction.agreement(state)).collect())
}
