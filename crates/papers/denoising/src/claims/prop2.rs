//! Subspaces: Denoising, Proposition 2, (A.1) and (A.2), as printed and corrected.

use super::setting::*;
use attnlab_core::linalg::symmetric_eigen;

/// (A.1) against the conditional mean of jointly normal vectors in all n dimensions.
#[derive(Default, Serialize, Deserialize)]
pub struct Prop2Mean {
    /// P x̃ without the factor.
    unshrunk: bool,
    /// σ_Z²/(σ_0² + σ_Z²), which is the same only when the two are equal.
    exchanged: bool,
    /// Relative excess of the noise.
    louder: f64,
}

impl Claim for Prop2Mean {
    from_sheet!("denoise.prop2_mean");

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.within(Domain::Whole(2, MOST_AMBIENT)).or(16),
            DIM.or(8),
            TOKEN_VARIANCE.or(2.0),
            NOISE_VARIANCE.or(1.0),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = subspace_problem(params, 1);
        problem.validate()?;
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        // The covariance in all n dimensions, and its eigenvectors.
        let n = params.get(AMBIENT) as u64;
        memory::total(&[&[subspace_problem(params, 1).memory(1)], &[8, 6, n, n]])
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let prompt = subspace_problem(params, 1).draw(streams)?;
        let projected = prompt.prior.project(prompt.query.view());
        let factor = match self {
            Prop2Mean { unshrunk: true, .. } => 1.0,
            Prop2Mean { exchanged: true, .. } => linear::shrinkage(sz, s0),
            _ => linear::shrinkage(s0, sz * (1.0 + self.louder)),
        };
        let mean = conditional_mean(&prompt.prior, sz, &prompt.query)?;
        Ok(same(&(projected * factor), &mean, 0.0))
    }
}

/// $\Sigma(\Sigma + \sigma_Z^2 I)^{-1}\tilde x$ with $\Sigma$ the (n, n) covariance of the tokens: knows
/// nothing of projections.
fn conditional_mean(prior: &Prior, sigma_z2: f64, query: &Array1<f64>) -> Result<Array1<f64>> {
    let mut covariance = Array2::zeros((query.len(), query.len()));
    if let Prior::Gaussian { basis, variances } = prior {
        for (column, v) in basis.columns().into_iter().zip(variances) {
            for ((i, j), entry) in covariance.indexed_iter_mut() {
                *entry += v * column[i] * column[j];
            }
        }
    }
    let mut total = covariance.clone();
    total.diag_mut().mapv_inplace(|x| x + sigma_z2);
    let (values, vectors) = symmetric_eigen(total.view())?;
    let c = vectors.t().dot(query) / Array1::from_iter(values.iter().copied());
    Ok(covariance.dot(&vectors.dot(&c)))
}

/// (A.2): the loss of P x̃ as printed, of the shrunk projection as corrected.
#[derive(Serialize, Deserialize)]
pub struct Prop2Loss {
    shrunk: bool,
    /// n in place of d on the right side.
    ambient: bool,
    /// Dimensions added to d on the right side.
    more: usize,
    /// Share of the excess of the loss of P x̃ over the right side, as printed.
    share: f64,
}

impl Prop2Loss {
    /// The left side that the paper prints, without the factor.
    pub const PRINTED: Self = Prop2Loss { shrunk: false, ambient: false, more: 0, share: 1.0 };
    /// The left side that its proof computes.
    pub const CORRECTED: Self = Prop2Loss { shrunk: true, ..Self::PRINTED };
}

/// Largest distance of the ratio of both sides of (A.2) from 1 at which they agree.
const BAND: f64 = 0.01;

/// Share of σ_Z²/σ_0², the excess of the loss of P x̃ over the right side, that the band is at most.
const SHARE: f64 = 0.25;

/// Number of normal components with which the corrected ratio is known to its band with probability .99: one
/// has a standard deviation of √2, and (1.96 + 2.33) standard errors must fit into it.
const COMPONENTS: f64 = 2.0 * (4.29 / BAND) * (4.29 / BAND);

/// Least and largest σ_Z²/σ_0²: rounding, 1e-16, stays far below a quarter of it.
const RATIO: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

impl Claim for Prop2Loss {
    from_sheet!(self, if self.shrunk { sheet!("denoise.prop2_loss_corrected") } else { sheet!("denoise.prop2_loss") });

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.within(Domain::Whole(2, 1000)).or(16),
            DIM.or(8),
            TOKEN_VARIANCE.or(2.0),
            NOISE_VARIANCE.or(1.0),
            QUERIES.within(Domain::Whole(20, 10_000)).or(500),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace_problem(params, 1).validate()?;
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let (low, high) = (RATIO.start() * s0, RATIO.end() * s0);
        let allowed =
            format!("must lie in [{low:e}, {high:e}] with sigma0_2 = {s0}; beyond, rounding hides one of them");
        require(RATIO.contains(&(sz / s0)), NOISE_VARIANCE.name, sz, allowed)
    }

    fn memory(&self, params: &Params) -> u64 {
        subspace_problem(params, 1).memory(params.get(QUERIES))
    }

    /// The ratio of both sides. As printed its excess over 1 is σ_Z²/σ_0² however small that is: it is measured
    /// as the difference between the losses with and without the factor, in draws with the noise and its
    /// opposite, whose scatter is a share of that difference.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let count = params.get(QUERIES);
        let problem = subspace_problem(params, 1);
        let prior = problem.draw_prior(streams)?;
        let (targets, queries) = problem.draw_queries(&prior, count, streams)?;
        let taken = linear::shrinkage(sz, s0);
        let (mut loss, mut difference) = (0.0, 0.0);
        for (x, query) in targets.columns().into_iter().zip(queries.columns()) {
            let noise = prior.project((&query - &x).view());
            for sign in [1.0, -1.0] {
                // P x̃ - x is the noise in the subspace; with the factor it is less by what that takes away.
                let without = &noise * sign;
                let less = (&x + &without) * taken;
                let with = &without - &less;
                loss += 0.5 * with.dot(&with);
                difference += 0.5 * less.dot(&(&without + &with));
            }
        }
        let d = if self.ambient { params.get(AMBIENT) } else { params.get(DIM) + self.more };
        let printed = linear::mmse(&vec![s0; d], sz);
        let (mean, difference) = (loss / count as f64, difference / count as f64);
        let ratio = if self.shrunk { mean / printed } else { 1.0 + self.share * difference / printed };
        let witness =
            witness! { "loss_with_the_factor" => mean, "more_without_it" => difference, "right_side" => printed };
        Ok(value(ratio, witness))
    }

    fn promise(&self, params: &Params) -> Promise {
        let band = self.band(params);
        Promise::MeanIn(1.0 - band, 1.0 + band)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        (COMPONENTS / (params.real(QUERIES) * params.real(DIM))).ceil().max(50.0) as u64
    }
}

impl Prop2Loss {
    fn band(&self, params: &Params) -> f64 {
        let excess = params.get(NOISE_VARIANCE) / params.get(TOKEN_VARIANCE);
        if self.shrunk { BAND } else { BAND.min(SHARE * excess) }
    }
}
