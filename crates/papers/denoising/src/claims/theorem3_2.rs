//! Softmax attention for laws on a sphere: Denoising, Theorem 3.2, and its rate.

use super::rate::{self, longest};
use super::setting::*;

fn problem_of(params: &Params, law: &str, context: usize) -> Denoising {
    let radius = params.get(RADIUS);
    // Unequal weights and, for the clusters, unequal spreads: nothing in the theorem needs symmetry.
    let weights = vec![0.2, 0.3, 0.5];
    let family = match law {
        "sphere" => Family::Sphere { dim: Dimension::Fixed(params.get(DIM)), radius },
        "points" => Family::Clusters { weights, variances: vec![0.0; 3], radius },
        "thick" => Family::Clusters { weights, variances: vec![0.1 * radius * radius; 3], radius },
        _ => Family::SphericalClusters { weights, concentrations: vec![2.0, 5.0, 20.0], radius },
    };
    Denoising { family, ambient: params.get(AMBIENT), context, sigma_z2: params.get(NOISE_VARIANCE) }
}

/// (6) converges to the Bayes optimum for three laws on spheres.
#[derive(Default, Serialize, Deserialize)]
pub struct Theorem32 {
    /// β = 1/σ_Z.
    deviation: bool,
    /// α - 1.
    larger: f64,
    /// Clusters with a variance in all directions: not on a sphere.
    thick: bool,
}

impl Claim for Theorem32 {
    from_sheet!("denoise.theorem3_2");

    fn schema(&self) -> Schema {
        vec![
            LAW.or("sphere"),
            AMBIENT.or(6),
            DIM.or(2),
            RADIUS.or(1.0),
            CONTEXT.or(400),
            NOISE_VARIANCE.or(0.5),
            QUERIES.or(16),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params, params.get(LAW), 1).validate()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let problem = problem_of(params, params.get(LAW), 1);
        vec![rate::regime(&problem, 1.0 / params.get(NOISE_VARIANCE), params.get(CONTEXT))]
    }

    fn memory(&self, params: &Params) -> u64 {
        let length = longest(params.get(CONTEXT));
        problem_of(params, params.get(LAW), length).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let s = params.get(NOISE_VARIANCE);
        let law = if self.thick { "thick" } else { params.get(LAW) };
        let beta = if self.deviation { 1.0 / s.sqrt() } else { 1.0 / s };
        let shortest = params.get(CONTEXT);
        let problem = problem_of(params, law, longest(shortest));
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.get(QUERIES), streams)?;
        let best = prompt.prior.posterior_means(queries.view(), s)?;
        let Some(kept) = rate::asymptotic(&prompt.prior, 1.0 / s, &queries, &best, shortest)? else {
            return Ok(rate::too_short());
        };
        let errors = rate::softmax_errors(prompt.context.view(), (1.0 + self.larger, beta), &kept);
        Ok(rate::outcome(shortest, &errors))
    }

    rate::judged_by_exponent!();

    fn default_trials(&self, params: &Params) -> u64 {
        let components = match params.get(LAW) {
            "sphere" => params.get(DIM) + 1,
            // Three points lie in a plane.
            "points" => 1,
            _ => params.get(AMBIENT),
        };
        let problem = problem_of(params, params.get(LAW), 1);
        rate::softmax_trials(&problem, 1.0 / params.get(NOISE_VARIANCE), params, components)
    }
}

/// The squared error of (6) at one query, with its part across the projected query replaced by the
/// mean of that part given all components along it (Rao-Blackwell): the same expectation with less
/// scatter. Across, the tokens are independent and symmetric, so only their own squares stay,
/// $\sum_t w_t^2 (R^2 - u_t^2)$ with $u_t$ the component along and $w_t$ the softmax weight.
fn across_averaged(prompt: &Prompt, query: ArrayView1<f64>, best: ArrayView1<f64>, s: f64) -> f64 {
    let projected = prompt.prior.project(query);
    let norm = projected.dot(&projected).sqrt();
    let components = prompt.context.t().dot(&projected) / norm;
    let mut weights = (&components * (norm / s)).to_vec();
    Softmax.apply(&mut weights);
    let radius2 = prompt.prior.second_moment();
    let (mut along, mut across) = (-best.dot(&projected) / norm, 0.0);
    for (w, u) in weights.iter().zip(&components) {
        along += w * u;
        across += w * w * (radius2 - u * u);
    }
    along * along + across
}

/// The constant of that rate on a sphere, by the delta method.
#[derive(Default, Serialize, Deserialize)]
pub struct Theorem32Rate {
    /// The posterior variance, as if L tokens were L draws from the posterior.
    posterior: bool,
    /// Dimensions of the sphere besides d.
    more: usize,
    /// Relative excess of the constant.
    larger: f64,
}

/// Mean of L error² / C: the interval must lie within this of 1. At the default L the next order
/// moves it by less than a third of this, and the default budget resolves half.
const RATE_BAND: f64 = 0.06;

/// Largest relative variance of the constant over queries.
const MOST_VARIANCE: f64 = 10.0;

fn sphere_of(params: &Params) -> (usize, f64, f64) {
    (params.get(DIM), params.get(RADIUS), params.get(NOISE_VARIANCE))
}

impl Claim for Theorem32Rate {
    from_sheet!("denoise.theorem3_2_rate");

    fn schema(&self) -> Schema {
        vec![AMBIENT.or(2), DIM.or(1), RADIUS.or(1.0), CONTEXT.or(1000), NOISE_VARIANCE.or(0.5), QUERIES.or(10)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params, "sphere", 1).validate()
    }

    fn seconds(&self, params: &Params) -> f64 {
        // 25 ns per token and query, and per coordinate of a token.
        2.5e-8 * params.real(CONTEXT) * (params.real(QUERIES) + params.real(AMBIENT))
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (d, r, s) = sphere_of(params);
        let asymptotics = sphere::softmax_asymptotics(d, r, s);
        vec![
            Hypothesis::new(
                "asymptotic regime",
                "L large [here: L >= 100 L*, where 2 L*/L is the share of the next order]",
                params.real(CONTEXT) / asymptotics.length - 6.0 / RATE_BAND,
            ),
            Hypothesis::new(
                "typical queries",
                "the mean over queries is not that of rare ones [here: the constant's relative variance over \
                 queries is at most 10]",
                MOST_VARIANCE - asymptotics.relative_variance,
            ),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params, "sphere", params.get(CONTEXT)).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s, length) = (params.get(NOISE_VARIANCE), params.get(CONTEXT));
        let problem = problem_of(params, "sphere", length);
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.get(QUERIES), streams)?;
        let best = prompt.prior.posterior_means(queries.view(), s)?;
        let error = |(query, best)| across_averaged(&prompt, query, best, s) / queries.ncols() as f64;
        let error2: f64 = queries.columns().into_iter().zip(best.columns()).map(error).sum();
        Ok(value(length as f64 * error2, witness! { "L_times_error2" => length as f64 * error2 }))
    }

    fn promise(&self, params: &Params) -> Promise {
        let (d, r, s) = sphere_of(params);
        let constant = match self.posterior {
            true => sphere::mmse(d, r, s),
            false => (1.0 + self.larger) * sphere::softmax_rate(d + self.more, r, s),
        };
        Promise::MeanIn((1.0 - RATE_BAND) * constant, (1.0 + RATE_BAND) * constant)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // The part along the query is the square of one normal variable that all queries share; the constant's own
        // scatter averages over the queries. (1.96 + 2.33) standard errors must fit into two thirds of the band.
        let (d, r, s) = sphere_of(params);
        let asymptotics = sphere::softmax_asymptotics(d, r, s);
        let averaged = asymptotics.relative_variance / params.real(QUERIES);
        let shared = 2.0 * asymptotics.along.powi(2) * (1.0 + asymptotics.relative_variance);
        let needed = (averaged + shared) * (4.29 / (RATE_BAND * 2.0 / 3.0)).powi(2);
        // Out of scope it may not be a number.
        if needed.is_nan() { 500 } else { needed.clamp(500.0, 50_000.0) as u64 }
    }
}
