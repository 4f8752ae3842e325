//! The energy of dense associative memory: Denoising, Section 4, Eqs. (7) and (8).

use super::setting::*;
use attnlab_core::stats::{Estimate, mean};
use attnlab_lab::claim::verdict;

/// Steps of descent on (7) are (8) at every size γ, and with γ = α the first is the attention layer (5).
#[derive(Default, Serialize, Deserialize)]
pub struct OneStep {
    /// Without 1/β before the logarithm.
    no_temperature: bool,
    /// ‖s‖²/α in place of ‖s‖²/(2α).
    no_half: bool,
    /// (8) without (1 - γ/α) s(t), which the layer does not need.
    no_residual: bool,
    /// Relative excess of the step over γ.
    longer: f64,
}

/// Largest share by which a step and (8) may differ of the lengths that they are made of. The energy is
/// differentiated where scores change by 0.01: the fifth derivative of the logarithm is at most 16 (0.01)⁵/h⁵, so
/// that the five-point rule leaves 16 · 1e-8 / 30 < 1e-8, and rounding 1e-16 of the energy over h, which is
/// required to be less ([`ROUNDED`]).
const DERIVATIVE: f64 = 1e-7;

/// Largest rounding error of the differentiated energy, on the same scale.
const ROUNDED: f64 = 5e-8;

/// Rows of a user's context: a query then takes some 10 s per thousand tokens at most.
const MOST_ROWS: usize = 512;

/// Steps of (8) that are checked, each from where the one before ended.
const STEPS: usize = 3;

impl Claim for OneStep {
    from_sheet!("denoise.eq8");

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.within(Domain::Whole(1, 50)).or(8),
            CONTEXT.within(Domain::Whole(1, 10_000)).or(40),
            // Differences of the energy resolve its slope here: beyond, states of length α |X| meet steps of 0.01/(β |X|).
            ALPHA.within(Domain::closed(0.01, 10.0)).or(1.3),
            BETA.within(Domain::closed(1e-6, 100.0)).or(2.0),
            STEP.or(0.4),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        let (n, l) = (params.get(AMBIENT) as u64, params.get(CONTEXT) as u64);
        memory::total(&[&[24, n, l], &[32, n, n]])
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let n = params.get(AMBIENT);
        let context = normal_matrix(n, params.get(CONTEXT), &mut streams.part("context", 0));
        let query = normal_matrix(n, 1, &mut streams.part("query", 0));
        Ok(self.compared(params, context.view(), query.column(0)))
    }

    fn takes(&self) -> &'static [ArraySpec] {
        const AXES: &[&str] = &[AMBIENT.name, CONTEXT.name];
        const {
            &[
                ArraySpec::one("context", "X (n, L): the tokens of the context, one per column", AXES),
                ArraySpec::one("queries", "s (n, M): the states that steps begin from, one per column", &[]),
            ]
        }
    }

    fn on(&self, params: &Params, arrays: &Arrays) -> Result<Vec<Outcome>> {
        let context = arrays.one("context")?;
        let expected = format!("at most {MOST_ROWS} rows; the energy is differentiated along each of them");
        require_shape(context.nrows() <= MOST_ROWS, "context", context.dim(), expected)?;
        let queries = arrays.columns_like("queries", "context", context.nrows())?;
        Ok(queries.columns().into_iter().map(|query| self.compared(params, context, query)).collect())
    }
}

impl OneStep {
    /// Compares steps of descent with layers from a query, on a context (n, L).
    fn compared(&self, params: &Params, context: ArrayView2<f64>, query: ArrayView1<f64>) -> Outcome {
        let (n, alpha, beta) = (context.nrows(), params.get(ALPHA), params.get(BETA));
        let norm2 = context.map_axis(Axis(0), |x| x.dot(&x));
        let longest = norm2.iter().copied().fold(0.0, f64::max).sqrt();
        let layer = |s: ArrayView1<f64>, scale: f64| {
            let (w_pv, w_kq) = (Array2::eye(n) * scale, Array2::eye(n) * beta);
            softmax_attention(context, w_pv.view(), w_kq.view(), s)
        };
        // With γ = α a step from the query against the layer; then steps of size γ against (8).
        let mut s = query.to_owned();
        let mut sides = vec![(alpha, s.clone(), layer(s.view(), alpha))];
        let gamma = params.get(STEP) * alpha;
        for _ in 0..STEPS {
            let stays = if self.no_residual { 0.0 } else { 1.0 - gamma / alpha };
            let next = &s * stays + layer(s.view(), gamma);
            sides.push((gamma, s, next.clone()));
            s = next;
        }
        let (mut gap, mut rounding): (f64, f64) = (0.0, 0.0);
        for (size, s, expected) in &sides {
            let (step, error) = self.descend(context, s.view(), (alpha, beta), *size, longest);
            let length = |v: &Array1<f64>| v.mapv(f64::abs).sum();
            let scale = length(s) * (1.0 + size / alpha) + size * longest;
            let apart = length(&(step - expected));
            gap = gap.max(apart / scale);
            rounding = rounding.max(size * error / scale);
            if !(apart.is_finite() && scale.is_finite()) {
                rounding = f64::INFINITY;
            }
        }
        if rounding.is_nan() || rounding > ROUNDED {
            let reason = "the differences of the energy are lost in rounding";
            return Outcome::uninformative(reason, witness! { "relative_rounding_error" => rounding });
        }
        let sizes: Vec<f64> = sides.iter().map(|(size, ..)| *size).collect();
        Outcome::equal(gap, 0.0, DERIVATIVE, witness! { "relative_gap" => gap, "sizes_of_steps" => sizes })
    }

    /// One step of size `gamma` on (7) by differences, with the rounding error of its gradient, summed over components.
    fn descend(
        &self,
        context: ArrayView2<f64>,
        s: ArrayView1<f64>,
        (alpha, beta): (f64, f64),
        gamma: f64,
        longest: f64,
    ) -> (Array1<f64>, f64) {
        // (7) as it is printed, at s + h e_i.
        let energy = |i: usize, h: f64| {
            let mut moved = s.to_owned();
            moved[i] += h;
            self.energy(context, moved.view(), alpha, beta)
        };
        // Scores change by 0.01 over this length.
        let h = 0.01 / (beta * longest).max(0.01);
        let slope = |i| derivative(|h| Array1::from(vec![energy(i, h)]), h)[0];
        let size = gamma * (1.0 + self.longer);
        let gradient = Array1::from_iter((0..s.len()).map(slope));
        // Products of more components than draws have, 50, round more.
        let epsilon = f64::EPSILON * (s.len() as f64 / 50.0).max(1.0);
        // The energy is made of these two; the rule takes four values over 1.5 h.
        let length = s.dot(&s).sqrt() + 2.0 * h;
        let terms = length * length / (2.0 * alpha) + length * longest * (context.ncols() as f64).ln_1p();
        (&s - &(gradient * size), 3.0 * epsilon * terms / h * s.len() as f64)
    }

    /// (7) up to the constant ln(L)/β.
    fn energy(&self, x: ArrayView2<f64>, s: ArrayView1<f64>, alpha: f64, beta: f64) -> f64 {
        let scores = x.t().dot(&s) * beta;
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The mean less 1 keeps its digits where all scores are close.
        let mean = scores.mapv(|v| (v - largest).exp_m1()).sum() / scores.len() as f64;
        let log = largest + mean.ln_1p();
        let half = if self.no_half { 1.0 } else { 0.5 };
        let beta = if self.no_temperature { 1.0 } else { beta };
        half * (s.dot(&s) / alpha) - log / beta
    }
}

/// The loss of one step against that of descent to the end, and of retrieving the nearest token.
#[derive(Default, Serialize, Deserialize)]
pub struct OneStepWins {
    /// The other way round.
    reversed: bool,
    /// The rival is the Bayes optimum.
    bayes: bool,
    /// Better by this multiple of R² at least.
    margin: f64,
}

impl Claim for OneStepWins {
    // At the defaults a difference of .324 with a standard error of .010.
    from_sheet!("denoise.one_step_wins", trials = 1000);

    fn schema(&self) -> Schema {
        vec![
            RIVAL.or("minimum"),
            // Larger ones take minutes: a thousand trials, with eigenvalues in d + 1 dimensions in each.
            AMBIENT.within(Domain::Whole(1, 1000)).or(2),
            DIM.within(Domain::Whole(0, 20)).or(1),
            RADIUS.or(1.0),
            CONTEXT.within(Domain::Whole(1, 1000)).or(20),
            NOISE_VARIANCE.or(0.1),
            QUERIES.within(Domain::Whole(1, 50)).or(4),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        sphere_problem(params, params.get(CONTEXT)).validate()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![
            Hypothesis::new("two tokens", "L >= 2: one token is all three answers", params.real(CONTEXT) - 2.0),
            Hypothesis::new("a sphere", "d >= 1: of two points most answers are one of them", params.real(DIM) - 1.0),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        sphere_problem(params, params.get(CONTEXT)).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (problem, s) = (sphere_problem(params, params.get(CONTEXT)), params.get(NOISE_VARIANCE));
        let prompt = problem.draw(streams)?;
        let count = params.get(QUERIES);
        let (targets, queries) = problem.draw_queries(&prompt.prior, count, streams)?;
        let Prior::Sphere { basis, .. } = &prompt.prior else {
            return Err(Error::undefined("the family is no sphere"));
        };
        // All answers lie in the span of the tokens: its coordinates suffice.
        let within = basis.t();
        let memory = DenseMemory::new(within.dot(&prompt.context).view(), 1.0, 1.0 / s)?;
        let (mut one_step, mut rival, mut ties) = (0.0, 0.0, 0);
        for (target, query) in targets.columns().into_iter().zip(queries.columns()) {
            let (target, projected) = (within.dot(&target), within.dot(&query));
            let loss = |x: &Array1<f64>| (x - &target).mapv(|v| v * v).sum();
            let step = memory.attend(projected.view());
            let answer = match self.bayes {
                true => within.dot(&prompt.prior.posterior_mean(query, s)?),
                false => rival_of(params, &memory, projected.view())?,
            };
            one_step += loss(&step) / count as f64;
            rival += loss(&answer) / count as f64;
            let apart = (&step - &answer).mapv(f64::abs).sum();
            ties += usize::from(apart <= TIE * params.get(RADIUS));
        }
        if ties == count {
            let reason = "both answers are the same to rounding";
            return Ok(Outcome::uninformative(reason, Witness::new()));
        }
        let better = match self.reversed {
            true => one_step - rival,
            false => rival - one_step - self.margin * params.get(RADIUS).powi(2),
        };
        Ok(value(better, witness! { "loss_of_one_step" => one_step, "loss_of_the_other" => rival }))
    }

    /// The mean of the paired differences is positive.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(0.0, f64::INFINITY)
    }

    /// The means of both losses beside the difference, since one trial says nothing of them.
    fn judge(&self, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        let mut judgement = verdict::judge(self.promise(params), outcomes, level)?;
        if let Verdict::Refuted { witness } = &mut judgement.verdict {
            for name in ["loss_of_one_step", "loss_of_the_other"] {
                let losses = outcomes.iter().filter_map(|outcome| outcome.witness().get(name)?.as_f64());
                let Estimate { low, high, .. } = mean(&losses.collect::<Vec<f64>>(), level)?;
                witness.insert(name.into(), serde_json::json!([low, high]));
            }
        }
        Ok(judgement)
    }
}

/// Distance up to which two answers are the same, in units of R: minima are found to 1e-13 and rounding is less.
const TIE: f64 = 1e-10;

/// The answer of the rival that the parameters name, in the coordinates of the tokens' span: the nearest token of
/// all is the nearest one there.
fn rival_of(params: &Params, memory: &DenseMemory, query: ArrayView1<f64>) -> Result<Array1<f64>> {
    if params.get(RIVAL) == "nearest-token" {
        return Ok(nearest(memory.context(), query));
    }
    let start = query.to_owned().insert_axis(Axis(1));
    Ok(memory.minima_from(start.view())?.minima.swap_remove(0).state)
}

fn nearest(context: ArrayView2<f64>, query: ArrayView1<f64>) -> Array1<f64> {
    let distance2 = |t: usize| (&context.column(t) - &query).mapv(|v| v * v).sum();
    let best = (0..context.ncols()).min_by(|a, b| distance2(*a).total_cmp(&distance2(*b)));
    context.column(best.unwrap_or(0)).to_owned()
}
