//! Test of the fitted mixture on tokens that it was not fitted to.
//!
//! In the frame of the fitted bases a token of cluster k is (a, e): its signal and its noise in all other
//! directions of the support. Bases that are estimated from M tokens are tilted by angles of order δ√(r/M),
//! which is no small thing for a test on as many tokens: they mix a into e. Every statistic is therefore
//! taken after regression of e on a within the cluster. Its residual has, under the model, a Wishart scatter
//! of N_k - p_k degrees of freedom and variance n², whatever the tilt, up to terms of order tilt² δ².
//!
//! A tilt turns U_k towards U_l as much as U_l away from U_k. The regression coefficients C_{kl} of cluster k
//! in direction l therefore obey C_{kl} + C_{lk}ᵀ = 0 if the true bases are jointly orthonormal.

use super::model::{Model, counts, members};
use super::wishart::{chi2_tail, chi2_two_sided, radial, sphericity};
use attnlab_core::error::Result;
use attnlab_core::linalg::{frobenius2, product, symmetric_eigen};
use attnlab_core::special::normal_tail;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::Serialize;

/// Tokens of a cluster beyond p_k that the regression needs.
pub(super) const LEAST_RESIDUALS: usize = 8;

/// One test and its p-value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Test {
    /// Property of Definition 1 that is tested.
    pub name: &'static str,
    /// p-value; None where the tokens are too few.
    pub p_value: Option<f64>,
}

/// Names of the tests, in their order.
pub const TESTS: [&str; 8] = [
    "signal isotropic",
    "signal Gaussian in length",
    "signal of one variance",
    "noise isotropic",
    "noise Gaussian in length",
    "noise of one variance",
    "bases jointly orthonormal",
    "mean zero",
];

/// One cluster of the held-out tokens.
struct Cluster {
    /// N_k, as a number.
    n: f64,
    p: f64,
    /// Energy of the signal.
    signal: f64,
    /// Squared Frobenius norm of the signal's scatter.
    signal_square: f64,
    /// |a_i|².
    signal_lengths: Vec<f64>,
    signal_mean: f64,
    /// Trace and squared norm of the residual scatter, and squared residual lengths over 1 - leverage.
    noise: f64,
    noise_square: f64,
    noise_lengths: Vec<f64>,
    /// |Σ_i residual_i|² over 1ᵀ(I - H)1.
    noise_mean: f64,
    /// Regression coefficients of the noise on the signal (r - p, p).
    coefficients: Array2<f64>,
    /// Eigenvalues and vectors of the signal's scatter.
    eigen: (Array1<f64>, Array2<f64>),
}

impl Cluster {
    /// `y` (r, N_k) are the coordinates of the tokens in the whole frame; `own` those of the signal.
    fn new(y: ArrayView2<f64>, own: std::ops::Range<usize>) -> Result<Self> {
        let rest: Vec<usize> = (0..y.nrows()).filter(|i| !own.contains(i)).collect();
        let a = y.slice(s![own, ..]);
        let e = y.select(Axis(0), &rest);
        let scatter = product(a, a.t());
        let (values, vectors) = symmetric_eigen(scatter.view())?;
        let inverse = product((&vectors / &values).view(), vectors.t());
        let cross = product(e.view(), a.t());
        let coefficients = product(cross.view(), inverse.view());
        let residual = &e - &product(coefficients.view(), a);
        let leverage = (&product(inverse.view(), a) * &a).sum_axis(Axis(0));
        let squares = |x: ArrayView2<f64>| x.map_axis(Axis(0), |c| c.dot(&c));
        let ones = Array1::from_elem(y.ncols(), 1.0);
        let projected = a.dot(&ones);
        let explained = projected.dot(&inverse.dot(&projected));
        let (mean, drift) = (a.sum_axis(Axis(1)), residual.sum_axis(Axis(1)));
        let residual_scatter = product(residual.view(), residual.t());
        let n = y.ncols() as f64;
        Ok(Cluster {
            n,
            p: a.nrows() as f64,
            signal: scatter.diag().sum(),
            signal_square: frobenius2(scatter.view()),
            signal_lengths: squares(a).to_vec(),
            signal_mean: mean.dot(&mean) / n,
            noise: residual_scatter.diag().sum(),
            noise_square: frobenius2(residual_scatter.view()),
            noise_lengths: (squares(residual.view()) / (1.0 - leverage)).to_vec(),
            noise_mean: drift.dot(&drift) / (n - explained).max(f64::MIN_POSITIVE),
            coefficients,
            eigen: (values, vectors),
        })
    }

    /// Dimension of the noise.
    fn others(&self) -> f64 {
        self.coefficients.nrows() as f64
    }
}

/// Tests without p-values, of tokens that are too few.
pub fn untested() -> Vec<Test> {
    let unknown = |name| Test { name, p_value: None };
    TESTS.map(unknown).to_vec()
}

/// Tests `model` on `tokens` that it was not fitted to; `fitted` are the counts of those it was fitted to. Tokens with a
/// mean of their own (`centre`) are tested after its [estimate](Model::mean) from themselves: "mean zero" then says that
/// all clusters have the same.
pub fn tests(
    model: &Model,
    tokens: ArrayView2<f64>,
    labels: &[usize],
    fitted: &[usize],
    centre: bool,
) -> Result<Vec<Test>> {
    let centred = centre.then(|| {
        let mean = model.mean(tokens, labels);
        &tokens - &mean.insert_axis(Axis(1))
    });
    let tokens = centred.as_ref().map_or(tokens, |centred| centred.view());
    let clusters = model.dims.len();
    let held = counts(labels, clusters);
    let few = (0..clusters).any(|k| held[k] < model.dims[k] + LEAST_RESIDUALS);
    if few {
        return Ok(untested());
    }
    let frame = whole_frame(model)?;
    let samples: Vec<Cluster> = (0..clusters)
        .map(|k| {
            let y = product(frame.t(), members(tokens, labels, k).view());
            Cluster::new(y.view(), model.columns(k))
        })
        .collect::<Result<_>>()?;
    let noisy = samples[0].others() > 0.0 && model.is_noisy();
    let noise = |test: &dyn Fn() -> f64| if noisy { Some(test()) } else { None };
    let p_values = [
        Some(signal_isotropic(&samples)),
        Some(lengths(samples.iter().map(|c| (&c.signal_lengths, c.p)))),
        (clusters > 1).then(|| one_signal_variance(&samples, model, fitted)),
        noise(&|| noise_isotropic(&samples)),
        noise(&|| lengths(samples.iter().map(|c| (&c.noise_lengths, c.others())))),
        noise(&|| {
            let groups = samples.iter().map(|c| (c.noise, (c.n - c.p) * c.others()));
            one_variance(&groups.collect::<Vec<_>>())
        }),
        noise(&|| orthonormal(&samples, model)),
        Some(mean_zero(&samples, noisy, centre)),
    ];
    let test = |(name, p_value): (&&'static str, Option<f64>)| Test { name, p_value };
    Ok(TESTS.iter().zip(p_values).map(test).collect())
}

/// The fitted bases, completed by a basis of what is outside all of them.
fn whole_frame(model: &Model) -> Result<Array2<f64>> {
    let (rank, total) = model.frame.dim();
    if rank == total {
        return Ok(model.frame.clone());
    }
    let projector = product(model.frame.view(), model.frame.t());
    let (values, vectors) = symmetric_eigen(projector.view())?;
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let outside = vectors.select(Axis(1), &order[..rank - total]);
    let joined = ndarray::concatenate(Axis(1), &[model.frame.view(), outside.view()]);
    joined.map_err(|e| attnlab_core::error::Error::undefined(e.to_string()))
}

fn signal_isotropic(clusters: &[Cluster]) -> f64 {
    let parts = clusters.iter().map(|c| sphericity(c.signal, c.signal_square, c.p, c.n));
    let (x, f) = parts.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
    chi2_tail(f, x)
}

fn noise_isotropic(clusters: &[Cluster]) -> f64 {
    let parts = clusters.iter().map(|c| sphericity(c.noise, c.noise_square, c.others(), c.n - c.p));
    let (x, f) = parts.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
    chi2_tail(f, x)
}

/// Σ z² of the radial spreads of all clusters.
fn lengths<'a>(clusters: impl Iterator<Item = (&'a Vec<f64>, f64)>) -> f64 {
    let (mut x, mut f) = (0.0, 0.0);
    for (lengths, p) in clusters {
        x += radial(lengths, p).powi(2);
        f += 1.0;
    }
    chi2_tail(f, x)
}

/// Bartlett's test that energies over their degrees of freedom have one variance.
fn one_variance(groups: &[(f64, f64)]) -> f64 {
    let freedom: f64 = groups.iter().map(|g| g.1).sum();
    let pooled = groups.iter().map(|g| g.0).sum::<f64>() / freedom;
    let statistic: f64 = groups.iter().map(|(energy, f)| -f * (energy / f / pooled).ln()).sum();
    let inverse: f64 = groups.iter().map(|g| g.1.recip()).sum::<f64>() - freedom.recip();
    let others = groups.len() as f64 - 1.0;
    let factor = 1.0 + inverse / (3.0 * others.max(1.0));
    chi2_tail(others, statistic / factor)
}

/// The same for the signal, whose energy in the fitted subspace is a little lower by the tilt of the bases:
/// Σ_l p_l δ²/(M_k + M_l) of each direction, M the numbers of tokens behind the bases.
fn one_signal_variance(clusters: &[Cluster], model: &Model, fitted: &[usize]) -> f64 {
    let ratio = model.noise / model.signal;
    let outside = (model.frame.nrows() - model.frame.ncols()) as f64;
    let groups: Vec<(f64, f64)> = (0..clusters.len())
        .map(|k| {
            let tilt: f64 = (0..clusters.len())
                .filter(|l| *l != k)
                .map(|l| model.dims[l] as f64 / (fitted[k] + fitted[l]) as f64)
                .sum();
            let tilt = ratio * (tilt + outside / fitted[k] as f64);
            let cluster = &clusters[k];
            (cluster.signal / (1.0 - (1.0 - ratio) * tilt), cluster.n * cluster.p)
        })
        .collect();
    one_variance(&groups)
}

/// Σ D²/var over D = C_{kl} + C_{lk}ᵀ of all pairs, in the eigenvectors of both scatters, where its entries are
/// independent.
fn orthonormal(clusters: &[Cluster], model: &Model) -> f64 {
    let freedom: f64 = clusters.iter().map(|c| (c.n - c.p) * c.others()).sum();
    let variance = clusters.iter().map(|c| c.noise).sum::<f64>() / freedom;
    let (mut x, mut f) = (0.0, 0.0);
    for k in 0..clusters.len() {
        for l in k + 1..clusters.len() {
            let toward = |from: usize, to: usize| {
                let columns = model.columns(to);
                let before = model.columns(from);
                // The noise of cluster `from` lacks the rows of its own subspace.
                let shift = if before.start < columns.start { before.len() } else { 0 };
                let rows = columns.start - shift..columns.end - shift;
                clusters[from].coefficients.slice(s![rows, ..]).to_owned()
            };
            let sum = toward(k, l) + toward(l, k).t();
            let (across, along) = (&clusters[l].eigen, &clusters[k].eigen);
            let turned = product(across.1.t(), product(sum.view(), along.1.view()).view());
            for ((i, j), d) in turned.indexed_iter() {
                let factor = across.0[i].recip() + along.0[j].recip();
                x += d * d / (variance * factor);
                f += 1.0;
            }
        }
    }
    // The variance is estimated too: an F variable, by the normal law of its logarithm where it matters.
    match f {
        0.0 => 1.0,
        f if freedom > 20.0 * f => chi2_tail(f, x),
        f => normal_tail((x / f).ln() / (2.0 / f + 2.0 / freedom).sqrt()),
    }
}

/// χ² of all means; an estimated mean takes one degree of freedom of every direction. Without noise the other clusters
/// tell the mean exactly.
fn mean_zero(clusters: &[Cluster], noisy: bool, centre: bool) -> f64 {
    let energy: f64 = clusters.iter().map(|c| c.signal).sum();
    let signal = energy / clusters.iter().map(|c| c.n * c.p).sum::<f64>();
    let mut x: f64 = clusters.iter().map(|c| c.signal_mean / signal).sum();
    let mut f: f64 = clusters.iter().map(|c| c.p).sum();
    if noisy {
        let freedom: f64 = clusters.iter().map(|c| (c.n - c.p) * c.others()).sum();
        let noise = clusters.iter().map(|c| c.noise).sum::<f64>() / freedom;
        x += clusters.iter().map(|c| c.noise_mean / noise).sum::<f64>();
        f += clusters.iter().map(Cluster::others).sum::<f64>();
    }
    if centre && (noisy || clusters.len() == 1) {
        f -= clusters[0].p + clusters[0].others();
    }
    chi2_tail(f, x)
}

/// p-value of s² = 1, the signal's variance as Definition 1 prints it.
pub fn unit_scale(model: &Model) -> f64 {
    chi2_two_sided(model.freedom[0], model.signal * model.freedom[0])
}
