//! Lemma 2: the inequalities (12) to (19) one by one, and parts (i), (ii) and (iv) as they are printed, several
//! inequalities with one probability.
//!
//! The brackets of the inequalities of a part combine without any independence: some inequality fails with probability
//! at least that of the likeliest and at most the sum. A trial sees all of them on the same sampled columns of one draw.

mod lengths;
mod records;

use super::columns::*;
use super::setting::{hypotheses_lemma2, mixture, mixture_schema};
use crate::quantities::*;
use crate::theory::Lemma2;
use Event::*;
use attnlab_lab::prelude::*;

/// Default N: just above the 177 515 that (11) asks at K = 2.
pub(super) const DEFAULT_TOKENS: u64 = 180_000;
/// Default p: above 16(√log N + 1)² = 321.
const DEFAULT_DIM: u64 = 330;

/// One inequality of the lemma, or all of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Part (i): (12) and (13).
    PartI,
    Signal12,
    Noise13,
    /// Part (ii): (14), (15) read with e_{j,k}, and (16) for i ≠ j.
    PartII,
    Signal14,
    Mixed15,
    /// As printed, with i = j.
    Noise16,
    /// With i ≠ j.
    Noise16Corrected,
    /// As printed, with probability 1 - 2/N.
    Maximum17,
    /// With probability 1 - 8(K-1)/N.
    Maximum17Corrected,
    /// Part (iv): (18) and (19).
    PartIV,
    Signal18,
    Noise19,
}

impl Event {
    /// The inequalities of a part with their numbers; none of a single inequality.
    fn inequalities(self) -> &'static [(Event, &'static str)] {
        match self {
            PartI => &[(Signal12, "(12)"), (Noise13, "(13)")],
            PartII => &[(Signal14, "(14)"), (Mixed15, "(15)"), (Noise16Corrected, "(16)")],
            PartIV => &[(Signal18, "(18)"), (Noise19, "(19)")],
            _ => &[],
        }
    }

    /// The closed form of the probability that the event fails.
    fn bracket(self, lemma: &Lemma2) -> Bracket {
        match self {
            Signal12 => lemma.signal_lengths(),
            Noise13 => lemma.noise_lengths(),
            Signal14 => lemma.signal_products(),
            Mixed15 => lemma.mixed_products(),
            Noise16 => lemma.noise_products_with_self(),
            Noise16Corrected => lemma.noise_products(),
            Maximum17 | Maximum17Corrected => lemma.largest_score(),
            Signal18 => lemma.signal_weights(),
            Noise19 => lemma.noise_weights(),
            PartI | PartII | PartIV => {
                let union = |a: Bracket, b: Bracket| Bracket::new(a.low.max(b.low), a.high + b.high);
                self.inequalities().iter().map(|(e, _)| e.bracket(lemma)).fold(Bracket::NEVER, union)
            }
        }
    }

    /// The derivation of [`bracket`](Event::bracket) in one line.
    fn how(self) -> &'static str {
        match self {
            PartI | PartII | PartIV => {
                "from the likeliest part to the sum of the parts, each from the exact tail of one column or pair"
            }
            Signal12 | Noise13 => "exact: all lengths are independent and follow the chi law",
            Signal14 | Mixed15 | Noise16 | Noise16Corrected => {
                "from one pair to the union bound over all pairs; given one vector the product is \
                 normal; for i = j the lengths are independent"
            }
            Maximum17 | Maximum17Corrected => {
                "exact tail of one column; from above by Jensen over the independent columns given \
                 the signal vectors, from below by the second moment of the number of failing \
                 columns"
            }
            Signal18 | Noise19 => {
                "union over keys and columns of a normal tail: the sum of the other terms is at \
                 least their number times the exponential of their mean"
            }
        }
    }
}

/// The claim that an event has its printed probability under the lemma's hypotheses, about sampled columns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lemma2Claim {
    event: Event,
    /// The constant on the right: 2 in (12) and (13), 3 in (14) to (16), 1 in (17), 1/2 in (18) and (19). In a part it
    /// multiplies all right sides.
    constant: f64,
    /// The power of p in the centre of the lengths; 1/2 as printed.
    centre_power: f64,
    /// The scores of (18) and (19) are multiplied by it; 1 as printed.
    theta: f64,
    /// The weights of (18) and (19) are at most this multiple of their average, in place of 1/2.
    averages: Option<f64>,
}

impl Lemma2Claim {
    pub fn printed(event: Event) -> Self {
        let constant = match event {
            Signal12 | Noise13 => 2.0,
            Signal14 | Mixed15 | Noise16 | Noise16Corrected => 3.0,
            Signal18 | Noise19 => 0.5,
            _ => 1.0,
        };
        Lemma2Claim { event, constant, centre_power: 0.5, theta: 1.0, averages: None }
    }

    /// Largest value that an inequality allows.
    fn limit(&self, params: &Params) -> f64 {
        match self.event {
            Signal12 | Noise13 => self.constant * self.scale_of_lengths(params) * (root_log(params) + 1.0),
            Signal18 | Noise19 => self.constant,
            _ => self.constant * root_log(params),
        }
    }

    fn trial_of_part(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let parts = self.event.inequalities().iter();
        let mut parts: Vec<_> = parts.map(|(e, number)| (Self::printed(*e), number, Worst::default())).collect();
        let (mixture, count) = (mixture(params)?, params.get(COLUMNS));
        each_column(&mixture, count, Side::Both, streams, |column| {
            for (inequality, _, worst) in &mut parts {
                inequality.record(params, column, worst);
            }
        })?;
        let (mut holds, mut witness) = (true, Witness::new());
        for (inequality, number, worst) in &parts {
            let share = worst.over(inequality.limit(params));
            holds &= share <= self.constant;
            witness.insert(format!("share_of_the_bound_{number}"), share.into());
        }
        Ok(Outcome::Event { holds, witness })
    }
}

impl Claim for Lemma2Claim {
    from_sheet!(
        self,
        match self.event {
            PartI => sheet!("aot.lemma2_i"),
            Signal12 => sheet!("aot.lemma2_12"),
            Noise13 => sheet!("aot.lemma2_13"),
            PartII => sheet!("aot.lemma2_ii"),
            Signal14 => sheet!("aot.lemma2_14"),
            Mixed15 => sheet!("aot.lemma2_15"),
            Noise16 => sheet!("aot.lemma2_16"),
            Noise16Corrected => sheet!("aot.lemma2_16_corrected"),
            Maximum17 => sheet!("aot.lemma2_17"),
            Maximum17Corrected => sheet!("aot.lemma2_17_corrected"),
            PartIV => sheet!("aot.lemma2_iv"),
            Signal18 => sheet!("aot.lemma2_18"),
            Noise19 => sheet!("aot.lemma2_19"),
        }
    );

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(DEFAULT_TOKENS, 2, DEFAULT_DIM);
        schema.push(COLUMNS.or(match self.event {
            // A length costs p normals and no products.
            Signal12 | Noise13 => 1000,
            _ => 8,
        }));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        hypotheses_lemma2(params)
    }

    fn promise(&self, params: &Params) -> Promise {
        let (n, k) = (params.real(TOKENS), params.real(CLUSTERS));
        Promise::FailsAtMost(match self.event {
            PartI | Signal12 | Noise13 => 2.0 * k / n,
            PartII | Signal14 | Mixed15 | Noise16 | Noise16Corrected => 4.0 * k / (n * n),
            Maximum17 => 2.0 / n,
            Maximum17Corrected => 8.0 * (k - 1.0) / n,
            PartIV | Signal18 | Noise19 => 4.0 * k / n,
        })
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        let [tokens, clusters, dim] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q));
        let lemma = Lemma2 { tokens, clusters, dim, delta: params.get(DELTA) };
        (*self == Self::printed(self.event))
            .then(|| Computed { failure: self.event.bracket(&lemma), how: self.event.how() })
    }

    fn partial(&self, params: &Params) -> bool {
        partial(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (side, what) = match self.event {
            PartI | PartII | PartIV => return self.trial_of_part(params, streams),
            Signal12 | Noise13 => return self.trial_of_lengths(params, streams),
            Signal14 => (Side::Signal, "largest_ratio"),
            Mixed15 | Noise16 | Noise16Corrected => (Side::Noise, "largest_ratio"),
            Maximum17 | Maximum17Corrected => (Side::Noise, "smallest_maximum"),
            Signal18 | Noise19 if self.averages.is_some() => (Side::Noise, "largest_weight_over_limit_halved"),
            Signal18 | Noise19 => (Side::Noise, "largest_weight"),
        };
        let worst = worst_column(params, side, streams, |column, worst| self.record(params, column, worst))?;
        Ok(match self.event {
            Maximum17 | Maximum17Corrected => worst.at_least(what, self.limit(params)),
            _ => worst.at_most(what, self.limit(params)),
        })
    }

    fn default_trials(&self, params: &Params) -> u64 {
        default_trials(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        match self.event {
            // Signal and noise columns: twice as many.
            PartI | PartII | PartIV => memory(params).saturating_mul(2),
            Signal12 | Noise13 => lengths::memory(params),
            _ => memory(params),
        }
    }

    fn seconds(&self, params: &Params) -> f64 {
        match self.event {
            Signal12 | Noise13 => lengths::seconds(params),
            _ => seconds(params),
        }
    }
}
