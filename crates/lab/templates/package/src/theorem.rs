//! Entropy gap of softmax: log n minus its entropy, for n independent normal scores.

use attnlab::linalg::normal_matrix;
use attnlab::measure::softmax_entropy;
use attnlab::prelude::*;

/// n: at most 10⁴, so that the default trials are fewer than 10⁵, the most of any check.
pub const SCORES: Quantity<usize> =
    Quantity::whole("scores", "n", "number of scores").within(Domain::Whole(1, 10_000));

/// σ.
pub const SIGMA: Quantity<f64> = Quantity::real("sigma", "σ", "spread of the scores")
    .unit("standard deviation")
    .within(Domain::POSITIVE);

/// Half-width of the promised band, in units of σ² exp(σ²) / n.
///
/// Error budget for n ≥ 100 and σ ≤ 1: the delta method puts the mean gap at σ²/2 - b/n with
/// b = σ² exp(σ²) - (exp(σ²) - 1) / 2, at most 0.69 units; the terms of order 1/n² are at most 0.06
/// units (measured at n = 100, σ = 1, where they are largest). The rest is room for the interval of
/// the trials: at most 0.5 units with [`TRIALS_PER_SCORE`].
const BAND: f64 = 2.0;

/// Trials per score. The band shrinks as 1/n and the standard error as 1/sqrt(n trials), so that the
/// number of trials must grow as n.
const TRIALS_PER_SCORE: u64 = 8;

/// The claim that the mean entropy gap is `share` times σ².
#[derive(Serialize, Deserialize)]
pub struct EntropyGap {
    share: f64,
}

impl EntropyGap {
    /// The claim as it is printed.
    pub const PRINTED: EntropyGap = EntropyGap { share: 0.5 };
}

/// Draws the scores of one trial and returns their entropy gap log n - H(softmax(x)) (nats).
pub fn gap(params: &Params, streams: &Streams) -> f64 {
    let (n, sigma) = (params.get(SCORES), params.get(SIGMA));
    let standard = normal_matrix(n, 1, &mut streams.part("scores", 0));
    let scores: Vec<f64> = standard.iter().map(|z| sigma * z).collect();
    (n as f64).ln() - softmax_entropy(&scores)
}

impl Claim for EntropyGap {
    from_sheet!("my_theorem.entropy_gap");

    fn schema(&self) -> Schema {
        vec![SCORES.or(400), SIGMA.or(1.0)]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![
            Hypothesis::new("many scores", "n ≥ 100", params.real(SCORES) - 100.0),
            Hypothesis::new("moderate spread", "σ ≤ 1", 1.0 - params.get(SIGMA)),
        ]
    }

    fn promise(&self, params: &Params) -> Promise {
        let variance = params.get(SIGMA).powi(2);
        let half_width = BAND * variance * variance.exp() / params.real(SCORES);
        let gap = self.share * variance;
        Promise::MeanIn(gap - half_width, gap + half_width)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let gap = gap(params, streams);
        Ok(Outcome::Value {
            value: gap,
            witness: witness! { "gap" => gap },
        })
    }

    fn default_trials(&self, params: &Params) -> u64 {
        TRIALS_PER_SCORE * params.get(SCORES) as u64
    }
}
