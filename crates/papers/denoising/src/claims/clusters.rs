//! Clusters of unequal variance: Denoising, Appendix C.3, as printed and corrected.

use super::setting::*;
use crate::theory::mixture::Weight;
use rand::RngExt;

/// The general posterior mean of Appendix C.3 against its definition.
#[derive(Serialize, Deserialize)]
pub struct UnequalClusters {
    form: Form,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Printed,
    Corrected,
    /// The mutant: no factor in front of the exponential.
    Bare,
    /// The mutant: the inverse of the printed factor, which forgets C_a.
    Inverse,
    /// The mutant: n + 1 in place of n in the exponent.
    Dimension,
    /// The mutant: a noise larger by 1e-6.
    Louder,
}

impl UnequalClusters {
    /// As printed.
    pub const PRINTED: Self = UnequalClusters { form: Form::Printed };
    /// With weights $w_a(\sigma_Z^2 + \sigma_a^2)^{-n/2}$.
    pub const CORRECTED: Self = UnequalClusters { form: Form::Corrected };
}

fn problem_of(params: &Params) -> Denoising {
    let family =
        Family::Clusters { weights: params.get(WEIGHTS), variances: params.get(VARIANCES), radius: params.get(RADIUS) };
    problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE))
}

/// Least weight of all clusters but one at which the weights matter: a change of a thousandth of them moves the
/// posterior mean by [`IDENTITY`].
const LEAST_OTHERS: f64 = 1e-6;

/// Least difference of the logarithms of two variances that are not equal, for the same reason.
const LEAST_CONTRAST: f64 = 1e-3;

/// Share of draws in which the weights must matter, so that most of 40 trials are informative.
const LEAST_SHARE: f64 = 0.5;

/// Clusters with centres of unequal norm, which the display does not need, and a query.
fn draw(params: &Params, streams: &Streams) -> Result<(Clusters, Array1<f64>)> {
    let problem = problem_of(params);
    let Prior::Clusters(mut c) = problem.draw_prior(streams)? else {
        return Err(Error::undefined("the family has no clusters"));
    };
    let mut rng = streams.part("norms", 0);
    for mut mean in c.means.columns_mut() {
        mean *= rng.random_range(0.5..1.5);
    }
    let (_, queries) = problem.draw_queries(&Prior::Clusters(c.clone()), 1, streams)?;
    Ok((c, queries.column(0).to_owned()))
}

/// Returns `true` if the draw tells two formulas for the weights from each other.
fn telling(c: &Clusters, others: f64) -> bool {
    let ends = |(low, high): (f64, f64), v: &f64| (low.min(*v), high.max(*v));
    let (low, high) = c.variances.iter().fold((f64::INFINITY, 0.0), ends);
    others >= LEAST_OTHERS && (low == high || (high / low).ln() >= LEAST_CONTRAST)
}

impl Claim for UnequalClusters {
    from_sheet!(
        self,
        match self.form {
            Form::Printed => sheet!("denoise.clusters"),
            _ => sheet!("denoise.clusters_corrected"),
        }
    );

    fn schema(&self) -> Schema {
        let positive = Domain::Vector(&Domain::POSITIVE);
        vec![
            // Few dimensions: in many, one cluster takes all the weight under either formula.
            AMBIENT.within(Domain::Whole(1, MOST_AMBIENT)).or(3),
            RADIUS.or(1.0),
            WEIGHTS.within(positive).or(vec![0.2, 0.3, 0.5]),
            VARIANCES.within(positive).or(vec![0.05, 0.2, 0.5]),
            NOISE_VARIANCE.or(0.3),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = problem_of(params);
        problem.validate()?;
        for (a, v) in params.get(VARIANCES).iter().enumerate() {
            accurate(&problem, &format!("variances[{a}]"), *v)?;
        }
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params).memory(1)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let s = params.get(NOISE_VARIANCE);
        let telling = |streams: &Streams| {
            let (c, query) = draw(params, streams)?;
            let p = c.responsibilities(query.view(), s, Weight::Corrected);
            let most = p.iter().copied().fold(0.0, f64::max);
            Ok(telling(&c, 1.0 - most))
        };
        vec![Hypothesis::new(
            "overlapping clusters",
            "the weights matter [here: half of the queries leave 1e-6 to other clusters, of unequal variance]",
            share(telling) - LEAST_SHARE,
        )]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        let variances = params.get(VARIANCES);
        if variances.iter().all(|v| *v == variances[0]) { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let s = params.get(NOISE_VARIANCE);
        let (c, query) = draw(params, streams)?;
        let ByDefinition { mean, others, longest } = clusters_by_definition(&c, s, query.view());
        let formula = self.posterior_mean(&c, query.view(), s)?;
        if relative(&formula, &mean, longest) <= IDENTITY && !telling(&c, others) {
            let reason = "one cluster has all the weight, or the variances are too close to tell";
            return Ok(Outcome::uninformative(reason, witness! { "weight_of_the_others" => others }));
        }
        Ok(same(&formula, &mean, longest))
    }
}

impl UnequalClusters {
    fn posterior_mean(&self, c: &Clusters, query: ArrayView1<f64>, s: f64) -> Result<Array1<f64>> {
        let half = 0.5 * query.len() as f64;
        let scaled = |factor: &dyn Fn(f64) -> f64| {
            // The library's two formulas with other weights: w_a is multiplied by the change.
            let changed = |(w, v): (&f64, &f64)| w * factor(*v);
            let mut weights: Vec<f64> = c.weights.iter().zip(&c.variances).map(changed).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w /= sum);
            Clusters { weights, ..c.clone() }.posterior_mean(query, s, Weight::Corrected)
        };
        match self.form {
            Form::Printed => c.posterior_mean(query, s, Weight::Printed),
            Form::Corrected => c.posterior_mean(query, s, Weight::Corrected),
            Form::Bare => scaled(&|v| (s + v).powf(half)),
            Form::Inverse => scaled(&|v| v.powf(half)),
            Form::Dimension => scaled(&|v| (s + v).powf(-0.5)),
            Form::Louder => c.posterior_mean(query, s * (1.0 + 1e-6), Weight::Corrected),
        }
    }
}
