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
use attnlab_core::error::{Error, Result};
use attnlab_core::linalg::{frobenius2, product, symmetric_eigen};
use attnlab_core::special::normal_tail;
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

/// Tokens of a cluster beyond p_k that the regression needs.
pub(super) const LEAST_RESIDUALS: usize = 8;
/// Variance of the noise over that of rounding errors from which on the noise is tested. The errors of a token grow with
/// the token, which the tests of lengths see: below 1/30 of the noise they are a tenth of the spread that 1000 lengths of
/// χ²_30 are told apart by.
const ABOVE_ROUNDING: f64 = 30.0;
/// Smallest eigenvalue of the signal's scatter, relative to the largest, that can be divided by.
const SINGULAR: f64 = 1e-12;

/// Treatment of the tokens that a test must know of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting {
    /// Flag: the tokens have a mean of their own.
    pub centre: bool,
    /// Variance of the rounding error of an entry.
    pub rounding: f64,
}

/// One test and its p-value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Test {
    /// Property of Definition 1 that is tested.
    pub name: &'static str,
    /// p-value; None where the tokens are too few.
    pub p_value: Option<f64>,
}

/// Names of the tests, in their order.
pub const TESTS: [&str; 9] = [
    "signal isotropic",
    "signal Gaussian in length",
    "signal of one variance",
    "noise isotropic",
    "noise Gaussian in length",
    "noise of one variance",
    "bases jointly orthonormal",
    "signal and noise independent",
    "mean zero",
];

/// One cluster of the held-out tokens.
struct Cluster {
    /// Degrees of freedom of the signal: N_k, or N_k - 1 where a mean was estimated.
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
    /// Estimate of the mean of each coordinate of the frame, without what the signal's mean makes of it.
    means: Array1<f64>,
    /// Their variance over that of signal or noise.
    mean_variances: Array1<f64>,
    /// Score of the dependence of both lengths, and its variance.
    dependence: (f64, f64),
    /// Regression coefficients of the noise on the signal (r - p, p).
    coefficients: Array2<f64>,
    /// Eigenvalues and vectors of the signal's scatter.
    eigen: (Array1<f64>, Array2<f64>),
}

impl Cluster {
    /// `y` (r, N_k) are the coordinates of the tokens in the whole frame; `own` those of the signal.
    /// None where the signal does not fill its subspace, so that there is no regression.
    fn new(y: ArrayView2<f64>, own: std::ops::Range<usize>, centre: bool) -> Result<Option<Self>> {
        let rest: Vec<usize> = (0..y.nrows()).filter(|i| !own.contains(i)).collect();
        let count = y.ncols() as f64;
        let mean = y.sum_axis(Axis(1)) / count;
        let centred = centre.then(|| &y - &mean.view().insert_axis(Axis(1)));
        let y = centred.as_ref().map_or(y, |centred| centred.view());
        let a = y.slice(s![own.clone(), ..]);
        let e = y.select(Axis(0), &rest);
        let scatter = product(a, a.t());
        let (values, vectors) = symmetric_eigen(scatter.view())?;
        let largest = values.iter().copied().fold(0.0, f64::max);
        if !values.iter().all(|v| *v > SINGULAR * largest) {
            return Ok(None);
        }
        let inverse = product((&vectors / &values).view(), vectors.t());
        let cross = product(e.view(), a.t());
        let coefficients = product(cross.view(), inverse.view());
        let residual = &e - &product(coefficients.view(), a);
        let intercept = if centre { count.recip() } else { 0.0 };
        let leverage = (&product(inverse.view(), a) * &a).sum_axis(Axis(0)) + intercept;
        let squares = |x: ArrayView2<f64>| x.map_axis(Axis(0), |c| c.dot(&c));
        let projected = a.dot(&Array1::from_elem(y.ncols(), 1.0));
        let explained = projected.dot(&inverse.dot(&projected));
        let drift = residual.sum_axis(Axis(1));
        let residual_scatter = product(residual.view(), residual.t());
        let signal_lengths = squares(a).to_vec();
        let noise_lengths = (squares(residual.view()) / (1.0 - &leverage)).to_vec();
        let whitened = product(vectors.t(), a) / values.mapv(f64::sqrt).insert_axis(Axis(1));
        let whitened = whitened / (1.0 - &leverage).mapv(f64::sqrt);
        let dependence = dependence(&signal_lengths, &noise_lengths, whitened.view());
        let own_mean = mean.slice(s![own.clone()]).to_owned();
        let (mut means, mut mean_variances) = (mean.clone(), Array1::from_elem(y.nrows(), count.recip()));
        let moved = coefficients.dot(&own_mean);
        let spread = count.recip() + own_mean.dot(&inverse.dot(&own_mean));
        for (row, shift) in rest.iter().zip(&moved) {
            means[*row] -= shift;
            mean_variances[*row] = spread;
        }
        Ok(Some(Cluster {
            n: if centre { count - 1.0 } else { count },
            p: a.nrows() as f64,
            signal: scatter.diag().sum(),
            signal_square: frobenius2(scatter.view()),
            signal_lengths,
            signal_mean: own_mean.dot(&own_mean) * count,
            noise: residual_scatter.diag().sum(),
            noise_square: frobenius2(residual_scatter.view()),
            noise_lengths,
            noise_mean: drift.dot(&drift) / (count - explained).max(f64::MIN_POSITIVE),
            means,
            mean_variances,
            dependence,
            coefficients,
            eigen: (values, vectors),
        }))
    }

    /// Dimension of the noise.
    fn others(&self) -> f64 {
        self.coefficients.nrows() as f64
    }
}

/// Tests without p-values, of tokens that are too few.
pub fn untested() -> Vec<Test> {
    TESTS.map(|name| Test { name, p_value: None }).to_vec()
}

/// Tests `model` on `tokens` that it was not fitted to; `fitted` are the counts of those it was fitted to. Tokens with a
/// mean of their own are tested after its [estimate](Model::mean) from themselves, and every cluster after its own: "mean
/// zero" then says that all clusters have the same.
pub fn tests(
    model: &Model,
    tokens: ArrayView2<f64>,
    labels: &[usize],
    fitted: &[usize],
    setting: Setting,
) -> Result<Vec<Test>> {
    let Setting { centre, rounding } = setting;
    let centred = centre.then(|| &tokens - &model.mean(tokens, labels).insert_axis(Axis(1)));
    let tokens = centred.as_ref().map_or(tokens, |centred| centred.view());
    let clusters = model.dims.len();
    let held = counts(labels, clusters);
    if (0..clusters).any(|k| held[k] < model.dims[k] + LEAST_RESIDUALS) {
        return Ok(untested());
    }
    let frame = whole_frame(model)?;
    let samples: Option<Vec<Cluster>> = (0..clusters)
        .map(|k| Cluster::new(product(frame.t(), members(tokens, labels, k).view()).view(), model.columns(k), centre))
        .collect::<Result<_>>()?;
    let Some(samples) = samples else { return Ok(untested()) };
    let noisy = samples[0].others() > 0.0 && model.is_noisy() && model.noise > ABOVE_ROUNDING * rounding;
    let noise = |test: &dyn Fn() -> f64| if noisy { Some(test()) } else { None };
    let p_values = [
        Some(chi2_of_sum(samples.iter().map(|c| sphericity(c.signal, c.signal_square, c.p, c.n)))),
        Some(chi2_of_sum(samples.iter().map(|c| (radial(&c.signal_lengths, c.p).powi(2), 1.0)))),
        (clusters > 1).then(|| one_signal_variance(&samples, model, fitted)),
        noise(&|| chi2_of_sum(samples.iter().map(|c| sphericity(c.noise, c.noise_square, c.others(), c.n - c.p)))),
        noise(&|| chi2_of_sum(samples.iter().map(|c| (radial(&c.noise_lengths, c.others()).powi(2), 1.0)))),
        noise(&|| {
            let groups = samples.iter().map(|c| (c.noise, (c.n - c.p) * c.others()));
            one_variance(&groups.collect::<Vec<_>>())
        }),
        noise(&|| orthonormal(&samples, model)),
        noise(&|| independent(&samples)),
        if centre { one_mean(&samples, model, noisy) } else { Some(mean_zero(&samples, noisy)) },
    ];
    // Tokens that are all the same have no spread to test.
    let p_values = p_values.map(|p_value| p_value.filter(|p| p.is_finite()));
    Ok(TESTS.into_iter().zip(p_values).map(|(name, p_value)| Test { name, p_value }).collect())
}

/// The fitted bases, completed by a basis of what is outside all of them.
fn whole_frame(model: &Model) -> Result<Array2<f64>> {
    let (rank, total) = model.frame.dim();
    if rank == total {
        return Ok(model.frame.clone());
    }
    let (values, vectors) = symmetric_eigen(product(model.frame.view(), model.frame.t()).view())?;
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let outside = vectors.select(Axis(1), &order[..rank - total]);
    concatenate(Axis(1), &[model.frame.view(), outside.view()]).map_err(|e| Error::undefined(e.to_string()))
}

/// The p-value of the sum of independent χ² variables, each with its degrees of freedom.
fn chi2_of_sum(parts: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (x, f) = parts.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
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
                let (columns, before) = (model.columns(to), model.columns(from));
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

/// χ² of all means.
fn mean_zero(clusters: &[Cluster], noisy: bool) -> f64 {
    let (signal, noise) = variances(clusters);
    let mut x: f64 = clusters.iter().map(|c| c.signal_mean / signal).sum();
    let mut f: f64 = clusters.iter().map(|c| c.p).sum();
    if noisy {
        x += clusters.iter().map(|c| c.noise_mean / noise).sum::<f64>();
        f += clusters.iter().map(Cluster::others).sum::<f64>();
    }
    chi2_tail(f, x)
}

/// χ² of the differences between the clusters' means: in every direction that of the weighted mean, which takes a degree
/// of freedom. Without noise the other clusters tell the mean exactly, and it was subtracted.
fn one_mean(clusters: &[Cluster], model: &Model, noisy: bool) -> Option<f64> {
    let (signal, noise) = variances(clusters);
    if !noisy {
        let x = clusters.iter().map(|c| c.signal_mean / signal).sum();
        let f = clusters.iter().map(|c| c.p).sum();
        return (clusters.len() > 1).then(|| chi2_tail(f, x));
    }
    let mut x = 0.0;
    for direction in 0..model.frame.nrows() {
        let (mut sums, mut square) = ([0.0; 2], 0.0);
        for (k, cluster) in clusters.iter().enumerate() {
            let variance = if model.columns(k).contains(&direction) { signal } else { noise };
            let weight = (variance * cluster.mean_variances[direction]).recip();
            sums[0] += weight;
            sums[1] += weight * cluster.means[direction];
            square += weight * cluster.means[direction].powi(2);
        }
        x += square - sums[1] * sums[1] / sums[0];
    }
    Some(chi2_tail(((clusters.len() - 1) * model.frame.nrows()) as f64, x))
}

/// Variances of signal and noise in the held-out tokens.
fn variances(clusters: &[Cluster]) -> (f64, f64) {
    let energy: f64 = clusters.iter().map(|c| c.signal).sum();
    let signal = energy / clusters.iter().map(|c| c.n * c.p).sum::<f64>();
    let freedom: f64 = clusters.iter().map(|c| (c.n - c.p) * c.others()).sum();
    (signal, clusters.iter().map(|c| c.noise).sum::<f64>() / freedom)
}

/// Spearman's rank correlation of both lengths over all clusters, two-sided.
///
/// Definition 1 has signal and noise independent. A length that both share, whatever the law of each part alone, makes
/// the logarithms of both lengths positively correlated, by the variance of its own logarithm. Noise parts that share a
/// length among themselves are seen by "noise Gaussian in length", since the spread of their sum grows.
fn independent(clusters: &[Cluster]) -> f64 {
    let sums = clusters.iter().fold((0.0, 0.0), |sum, c| (sum.0 + c.dependence.0, sum.1 + c.dependence.1));
    if sums.1 <= 0.0 { f64::NAN } else { (2.0 * normal_tail(sums.0.abs() / sums.1.sqrt())).min(1.0) }
}

/// Σ_i c_i d_i over the centred ranks of both lengths, with its variance given the signal.
///
/// Ranks of independent lengths are a random permutation, for which the sum has variance Σc² Σd²/(n - 1). Residuals of
/// one regression are a little dependent: the squares of two have the correlation h_ij²/((1 - h_i)(1 - h_j)), h the hat
/// matrix. Σ_{i≠j} c_i c_j of it is the squared norm of Σ_i c_i x_i x_iᵀ for whitened signals x over √(1 - h_i), less its
/// diagonal.
fn dependence(signal: &[f64], noise: &[f64], whitened: ArrayView2<f64>) -> (f64, f64) {
    let (c, d) = (Array1::from(rank_scores(signal)), Array1::from(rank_scores(noise)));
    let weighted = &whitened * &c;
    let joint = frobenius2(product(weighted.view(), whitened.t()).view());
    let squares = whitened.map_axis(Axis(0), |x| x.dot(&x).powi(2));
    let across = joint - (&c * &c).dot(&squares);
    let variance = d.dot(&d) / (d.len() as f64 - 1.0) * (c.dot(&c) + across.max(0.0));
    (c.dot(&d), variance)
}

/// Ranks without their mean.
fn rank_scores(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let middle = 0.5 * (values.len() as f64 - 1.0);
    let mut scores = vec![0.0; values.len()];
    order.into_iter().enumerate().for_each(|(rank, i)| scores[i] = rank as f64 - middle);
    scores
}

/// p-value of s² = 1, the signal's variance as Definition 1 prints it.
pub fn unit_scale(model: &Model) -> f64 {
    chi2_two_sided(model.freedom[0], model.signal * model.freedom[0])
}
