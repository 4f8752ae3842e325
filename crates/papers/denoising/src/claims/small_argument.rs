//! softmax for small arguments: Denoising, Lemma F.1 and Proposition F.2.

use super::setting::*;

/// The order of a remainder is measured at these arguments: small enough for the next order to move
/// it by less than a tenth of the band, large enough for rounding not to show (1e-15 against 1e-10
/// for softmax, 1e-11 against 1e-4 for attention, whose leading term is 1/ε).
const SMALL: [f64; 3] = [1e-3, 1e-4, 1e-5];

/// A measured order may be less than the printed one by this: the next order changes the remainder by a share of 1e-3
/// times the largest score, some 10, at the first argument, and an order over two decades by .002 for each hundredth.
const ORDER_BAND: f64 = 0.05;

/// Tokens and dimensions: with fewer than three tokens the second order vanishes, and above the upper ends a check
/// takes minutes or scores pass 10.
const TOKENS: Domain = Domain::Whole(3, 10_000);
const DIMENSIONS: Domain = Domain::Whole(2, 300);

/// The promise of a remainder that is of this order or a higher one.
fn of_order(order: f64) -> Promise {
    Promise::MeanIn(order - ORDER_BAND, f64::INFINITY)
}

/// softmax(βv) to second order in β.
#[derive(Default, Serialize, Deserialize)]
pub struct LemmaF1 {
    /// Excess of the order that the remainder is said to have.
    order: f64,
    /// Without the mean of v.
    uncentred: bool,
}

impl Claim for LemmaF1 {
    from_sheet!("denoise.lemma_f1");

    fn schema(&self) -> Schema {
        vec![CONTEXT.within(TOKENS).or(50)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let length = params.get(CONTEXT);
        let v = normal_matrix(length, 1, &mut streams.part("v", 0)).index_axis_move(Axis(1), 0);
        let mean = if self.uncentred { 0.0 } else { v.sum() / length as f64 };
        let remainder = |beta: &f64| {
            let mut p = v.mapv(|x| beta * x).to_vec();
            Softmax.apply(&mut p);
            let square = |(p, x): (&f64, &f64)| (p * length as f64 - 1.0 - beta * (x - mean)).powi(2);
            p.iter().zip(&v).map(square).sum::<f64>().sqrt()
        };
        let errors: Vec<f64> = SMALL.iter().map(remainder).collect();
        // L weights of order 1/L, times L.
        let rounding = SMALL.map(|_| f64::EPSILON * (length as f64).sqrt());
        let witness = witness! { "beta" => SMALL.to_vec(), "remainder" => errors };
        exponent(&SMALL, &errors, &rounding, witness)
    }

    fn promise(&self, _params: &Params) -> Promise {
        of_order(2.0 + self.order)
    }
}

/// Softmax attention contains linear attention: (A.18).
#[derive(Default, Serialize, Deserialize)]
pub struct PropF2 {
    /// Excess of the order that the remainder is said to have.
    order: f64,
    /// Without centring the keys.
    uncentred: bool,
}

fn sphere(params: &Params) -> Denoising {
    let family = Family::Sphere { dim: Dimension::Fixed(params.get(DIM)), radius: 1.0 };
    Denoising {
        context: params.get(CONTEXT),
        // The noise only moves the query, for which the statement holds one by one.
        ..problem(family, params.get(AMBIENT), 0.1)
    }
}

impl Claim for PropF2 {
    from_sheet!("denoise.prop_f2");

    fn schema(&self) -> Schema {
        vec![AMBIENT.within(DIMENSIONS).or(16), DIM.or(8), CONTEXT.within(TOKENS).or(50)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        sphere(params).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        attention_memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let expansion = Expansion::draw(params, streams, self.uncentred)?;
        let errors = SMALL.map(|e| norm(&expansion.remainder(e)));
        let rounding = SMALL.map(|e| f64::EPSILON * norm(&expansion.mean) / e);
        let witness = witness! { "epsilon" => SMALL.to_vec(), "remainder" => errors };
        exponent(&SMALL, &errors, &rounding, witness)
    }

    fn promise(&self, _params: &Params) -> Promise {
        of_order(1.0 + self.order)
    }
}

/// The constant of that remainder.
#[derive(Default, Serialize, Deserialize)]
pub struct PropF2Coefficient {
    /// Without subtracting the mean square.
    uncentred: bool,
    /// Relative excess of the coefficient.
    larger: f64,
}

/// The largest score at the ε at which the coefficient is read off.
const SCORE: f64 = 1e-3;

/// Share of the squared scores below which their differences are rounding.
const SAME: f64 = 1e-12;

/// Largest distance of the coefficient from what is read off, relative to the sum of the lengths of its terms.
/// From the remainders at ε and -ε the even orders drop out; the third is a share of SCORE² = 1e-6 times a constant
/// of order one, and rounding of the leading term 1e-16 / SCORE² = 1e-10.
const COEFFICIENT: f64 = 1e-4;

impl Claim for PropF2Coefficient {
    from_sheet!("denoise.prop_f2_coefficient");

    fn schema(&self) -> Schema {
        PropF2::default().schema()
    }

    fn validate(&self, params: &Params) -> Result<()> {
        PropF2::default().validate(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        attention_memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let expansion = Expansion::draw(params, streams, false)?;
        let coefficient = expansion.coefficient(self.uncentred) * (1.0 + self.larger);
        let largest = expansion.centred.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let (scale, uncancelled) = expansion.terms();
        if scale <= SAME * uncancelled {
            return Ok(Outcome::uninformative("all tokens are equally far from the mean score", Witness::new()));
        }
        let epsilon = SCORE / largest;
        let quotient = (expansion.remainder(epsilon) - expansion.remainder(-epsilon)) / (2.0 * epsilon);
        let gap = norm(&(&quotient - &coefficient)) / scale;
        let witness = witness! {
            "relative_gap" => gap,
            "remainder_over_epsilon" => quotient.to_vec(),
            "coefficient" => coefficient.to_vec(),
        };
        Ok(Outcome::equal(gap, 0.0, COEFFICIENT, witness))
    }
}

/// A prompt with weights, and the terms of (A.18) for it.
struct Expansion {
    prompt: Prompt,
    w_pv: Array2<f64>,
    w_kq: Array2<f64>,
    /// $W_{PV}\bar X$.
    mean: Array1<f64>,
    /// The second term of (A.18).
    first: Array1<f64>,
    /// $v_t - \bar v$.
    centred: Array1<f64>,
}

impl Expansion {
    fn draw(params: &Params, streams: &Streams, uncentred: bool) -> Result<Self> {
        let (n, length) = (params.get(AMBIENT), params.get(CONTEXT) as f64);
        let prompt = sphere(params).draw(streams)?;
        let x = &prompt.context;
        let w_pv = normal_matrix(n, n, &mut streams.part("w_pv", 0));
        let w_kq = normal_matrix(n, n, &mut streams.part("w_kq", 0));
        let v = x.t().dot(&w_kq.dot(&prompt.query));
        let centre = v.sum() / length;
        let centred = v.mapv(|v| v - centre);
        let weights = if uncentred { &v } else { &centred };
        Ok(Expansion {
            mean: w_pv.dot(&x.sum_axis(Axis(1))) / length,
            first: w_pv.dot(&x.dot(weights)) / length,
            prompt,
            w_pv,
            w_kq,
            centred,
        })
    }

    /// The remainder that (A.18) leaves out at ε.
    fn remainder(&self, epsilon: f64) -> Array1<f64> {
        let (pv, kq) = (&self.w_pv / epsilon, &self.w_kq * epsilon);
        let (x, query) = (self.prompt.context.view(), self.prompt.query.view());
        softmax_attention(x, pv.view(), kq.view(), query) - &self.mean / epsilon - &self.first
    }

    /// c.
    fn coefficient(&self, uncentred: bool) -> Array1<f64> {
        let length = self.centred.len() as f64;
        let mut spread = self.centred.mapv(|v| v * v);
        if !uncentred {
            spread -= spread.sum() / length;
        }
        self.w_pv.dot(&self.prompt.context.dot(&spread)) / (2.0 * length)
    }

    /// Sum of the lengths of the terms of c, and what it would be without a mean to subtract.
    fn terms(&self) -> (f64, f64) {
        let values = self.w_pv.dot(&self.prompt.context);
        let lengths = values.columns().into_iter().map(|v| v.dot(&v).sqrt());
        let spread = self.centred.mapv(|v| v * v);
        let mean = spread.sum() / spread.len() as f64;
        let (mut scale, mut uncancelled) = (0.0, 0.0);
        for (length, s) in lengths.zip(&spread) {
            scale += length * (s - mean).abs();
            uncancelled += length * (s + mean);
        }
        let share = 0.5 / spread.len() as f64;
        (share * scale, share * uncancelled)
    }
}

fn attention_memory(params: &Params) -> u64 {
    sphere(params).memory(1) + 32 * (params.get(AMBIENT) as u64).pow(2)
}

fn norm(v: &Array1<f64>) -> f64 {
    v.dot(v).sqrt()
}
