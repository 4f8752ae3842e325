//! Fig. 2: does the invariant predict the logits of trained softmax attention?
//!
//! The criterion: "high correlation" is a centred correlation of at least [`HIGH`], whenever one looks ([`LOOKS`]) at
//! [`STEPS`] steps of the authors' code, at the temperature of the paper's text or of the code (`setting`).

use super::setting::*;
use crate::dynamics::{Agreement, Prediction};
use crate::tokens::ClassTokens;
use attnlab_theory::dynamics::flow::descend;

/// A statement of Fig. 2's caption on trained layers.
#[derive(Serialize, Deserialize)]
pub struct Fig2 {
    statement: Statement,
    /// Tokens by which a mutant moves b̄ on: 5, from the distinct ones half way to the common ones.
    moved_on: usize,
    /// Correlation of z with the components ẑ_1 and ẑ_2 alone.
    squares: Correlation,
    norm: Correlation,
    /// Largest distance of ẑ from z, in units of z.
    distance: f64,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Statement {
    /// ẑ correlates with z throughout.
    Correlates,
    /// ẑ_1 and ẑ_2 alone do so or not, throughout.
    Components,
    /// They do so or not in the end.
    ComponentsCorrected,
    /// ẑ predicts z itself.
    Amplitude,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Correlation {
    High,
    Low,
    Either,
}

impl Correlation {
    fn fits(self, values: &[f64]) -> bool {
        values.iter().all(|c| match self {
            Correlation::High => *c >= HIGH,
            Correlation::Low => *c < HIGH,
            Correlation::Either => true,
        })
    }
}

impl Fig2 {
    /// High correlation of ẑ with z.
    pub const CORRELATES: Self = Fig2 {
        statement: Statement::Correlates,
        moved_on: 0,
        squares: Correlation::Either,
        norm: Correlation::Either,
        distance: 1.0,
    };
    /// No high correlation of either component of ẑ.
    pub const COMPONENTS: Self = Fig2 {
        statement: Statement::Components,
        squares: Correlation::Low,
        norm: Correlation::Low,
        ..Self::CORRELATES
    };
    /// High correlation of the first component alone.
    pub const COMPONENTS_CORRECTED: Self =
        Fig2 { statement: Statement::ComponentsCorrected, squares: Correlation::High, ..Self::COMPONENTS };
    /// Prediction of z by ẑ within a factor of two.
    pub const AMPLITUDE: Self = Fig2 { statement: Statement::Amplitude, ..Self::CORRELATES };
}

/// Least correlation that counts as high: less than a fifth of the variance is left, as 1 - .9² = .19.
const HIGH: f64 = 0.9;
/// Steps of the authors' code.
const STEPS: usize = 2000;
/// Numbers of looks at a run, at equal distances: every 100 steps.
const LOOKS: usize = 20;

impl Claim for Fig2 {
    // Some tenths of a second each.
    from_sheet!(
        self,
        match self.statement {
            Statement::Correlates => sheet!("joma.fig2"),
            Statement::Components => sheet!("joma.fig2_components"),
            Statement::ComponentsCorrected => sheet!("joma.fig2_components_corrected"),
            Statement::Amplitude => sheet!("joma.fig2_amplitude"),
        },
        trials = 8
    );

    fn schema(&self) -> Schema {
        let inputs = if self.statement == Statement::ComponentsCorrected { "smooth" } else { "both" };
        vec![INPUTS.or(inputs), SETTING.or("text")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // On random inputs the correlations scatter around the criterion.
        let margin = if params.get(INPUTS) == "smooth" { 1.0 } else { -1.0 };
        match self.statement {
            Statement::ComponentsCorrected => {
                vec![Hypothesis::new("smooth inputs", "inputs = smooth: 1, otherwise -1", margin)]
            }
            _ => vec![],
        }
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match (self.statement, params.get(SETTING)) {
            // At T = .5 b̄ moves so far that the sizes differ by a factor of several.
            (Statement::Amplitude, "code") => VerdictKind::Refuted,
            _ => self.sheet().expected,
        }
    }

    fn promise(&self, _params: &Params) -> Promise {
        if self.statement == Statement::Correlates { Promise::MeanIn(HIGH, 1.0) } else { Promise::Always }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let cases: &[bool] = match params.get(INPUTS) {
            "both" => &[true, false],
            "smooth" => &[true],
            _ => &[false],
        };
        let run = |smooth: &bool| run(*smooth, figure_temperature(params), self.moved_on, streams);
        let runs = cases.iter().map(run).collect::<Result<Vec<_>>>()?;
        let least = |pick: fn(&Agreement) -> f64| {
            let of = |run: &Vec<Agreement>| run.iter().map(pick).fold(f64::INFINITY, f64::min);
            runs.iter().map(of).collect::<Vec<f64>>()
        };
        let end = |pick: fn(&Agreement) -> f64| {
            runs.iter().map(|run: &Vec<Agreement>| run.last().map_or(f64::NAN, pick)).collect::<Vec<f64>>()
        };
        let (whole, squares, norm) = (least(|a| a.whole), least(|a| a.squares), least(|a| a.norm));
        let (squares_end, norm_end) = (end(|a| a.squares), end(|a| a.norm));
        let amplitude = end(|a| a.amplitude);
        let witness = witness! {
            "least_correlation" => whole, "least_of_squares" => squares, "least_of_norm" => norm,
            "correlation_at_the_end" => end(|a| a.whole), "of_squares" => squares_end, "of_norm" => norm_end,
            "relative_distance" => amplitude,
        };
        let holds = match self.statement {
            Statement::Correlates => {
                return Ok(Outcome::Value { value: whole.into_iter().fold(f64::INFINITY, f64::min), witness });
            }
            Statement::Components => self.squares.fits(&squares) && self.norm.fits(&norm),
            Statement::ComponentsCorrected => self.squares.fits(&squares_end) && self.norm.fits(&norm_end),
            Statement::Amplitude => amplitude.iter().all(|a| *a <= self.distance),
        };
        Ok(Outcome::Event { holds, witness })
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
    Ok(path.states.iter().map(|state| prediction.agreement(state)).collect())
}
