//! Clusters of equal variance and norm: Denoising, Proposition 4, (A.5) and (A.6).

use super::setting::*;
use crate::theory::mixture::equal_variances;

/// Clusters, one centre at half the radius where their norms are `unequal`, and a query.
fn clusters(params: &Params, sigma0_2: f64, unequal: bool, streams: &Streams) -> Result<(Clusters, Array1<f64>)> {
    let problem = problem_of(params, sigma0_2);
    let Prior::Clusters(mut clusters) = problem.draw_prior(streams)? else {
        return Err(Error::undefined("the family has no clusters"));
    };
    if unequal {
        clusters.means.column_mut(0).mapv_inplace(|x| 0.5 * x);
    }
    let (_, queries) = problem.draw_queries(&Prior::Clusters(clusters.clone()), 1, streams)?;
    Ok((clusters, queries.column(0).to_owned()))
}

fn problem_of(params: &Params, sigma0_2: f64) -> Denoising {
    let family = Family::balanced(params.get(CLUSTERS), sigma0_2, params.get(RADIUS));
    problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE))
}

/// (A.5) against the definition of the posterior mean.
#[derive(Default, Serialize, Deserialize)]
pub struct Prop4 {
    no_residual: bool,
    /// The attention part at the temperature of (A.6).
    temperature: bool,
    /// Without the hypothesis of equal norms.
    unequal_norms: bool,
    /// Relative excess of the noise in the formula.
    louder: f64,
}

impl Claim for Prop4 {
    from_sheet!("denoise.prop4");

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.within(Domain::Whole(1, MOST_AMBIENT)).or(16),
            CLUSTERS.or(8),
            RADIUS.or(1.0),
            TOKEN_VARIANCE.or(0.02),
            NOISE_VARIANCE.or(0.1),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = problem_of(params, params.get(TOKEN_VARIANCE));
        problem.validate()?;
        accurate(&problem, "sigma0_2", params.get(TOKEN_VARIANCE))?;
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params, 0.0).memory(1)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let (c, query) = clusters(params, s0, self.unequal_norms, streams)?;
        let (means, x) = (c.means.view(), query.view());
        let mut formula = equal_variances(means, &c.weights, s0, sz * (1.0 + self.louder), x);
        if self.no_residual {
            formula = formula - &query * (s0 / (s0 + sz));
        }
        if self.temperature {
            // The attention part of (A.6), with the residual of (A.5).
            let attention = equal_variances(means, &c.weights, 0.0, sz, x);
            formula = &query * (s0 / (s0 + sz)) + attention * (sz / (s0 + sz));
        }
        let definition = clusters_by_definition(&c, sz, x);
        Ok(same(&formula, &definition.mean, definition.longest))
    }
}

/// Largest distance of the order in σ_0² from 1: the term of second order is some 1e-3 of the first, and rounding of
/// K terms 1e-14 of a change that is 1e-12 at the largest contrast.
const ORDER_BAND: f64 = 0.01;

/// (A.6): the posterior mean of points, and the limit of (A.5).
#[derive(Default, Serialize, Deserialize)]
pub struct Prop4Limit {
    /// σ_Z in place of σ_Z².
    temperature: bool,
    /// Without the hypothesis of equal norms.
    unequal_norms: bool,
    /// Relative excess of the noise in the formula.
    louder: f64,
}

impl Claim for Prop4Limit {
    from_sheet!("denoise.prop4_limit");

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.within(Domain::Whole(1, MOST_AMBIENT)).or(16),
            CLUSTERS.or(8),
            RADIUS.or(1.0),
            NOISE_VARIANCE.or(0.1),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = problem_of(params, 0.0);
        problem.validate()?;
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params, 0.0).memory(1)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let sz = params.get(NOISE_VARIANCE);
        let (c, query) = clusters(params, 0.0, self.unequal_norms, streams)?;
        let (means, x) = (c.means.view(), query.view());
        let width = if self.temperature { sz.sqrt() } else { sz * (1.0 + self.louder) };
        let formula = equal_variances(means, &c.weights, 0.0, width, x);
        // By definition: points weighted by the density of the noise that leads from them to x~.
        let point = |(mu, w): (ArrayView1<f64>, &f64)| {
            let distance = &query - &mu;
            (w.ln() - distance.dot(&distance) / (2.0 * sz), mu.to_owned())
        };
        let (logs, points): (Vec<_>, Vec<_>) = means.columns().into_iter().zip(&c.weights).map(point).unzip();
        let definition = average(&logs, &points);
        let radius = params.get(RADIUS);
        let gap = relative(&formula, &definition, radius);
        // The limit: (A.5) approaches it in proportion to sigma_0^2.
        let error = |s0: f64| {
            let near = equal_variances(means, &c.weights, s0, sz, x) - &formula;
            near.dot(&near).sqrt()
        };
        // Scores of size R |x~| / sigma_Z^2 change by a share sigma_0^2 / sigma_Z^2: by 1e-3 at most.
        let scores = radius * query.dot(&query).sqrt() / sz;
        let small = 1e-3 * sz / (1.0 + scores);
        let order = (error(small) / error(0.1 * small)).log10();
        Ok(Outcome::Event {
            holds: gap <= IDENTITY && (order - 1.0).abs() <= ORDER_BAND,
            witness: witness! { "relative_gap" => gap, "order_in_sigma0_2" => order },
        })
    }
}
