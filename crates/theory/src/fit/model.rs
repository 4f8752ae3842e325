//! The model with its subspaces: alternation between labels, dimensions and bases.
//!
//! In coordinates of the support of the tokens (r dimensions), a token of cluster k has covariance
//! s² U_kU_kᵀ + n² (I - U_kU_kᵀ) with jointly orthonormal bases. Given labels, the bases that maximise the
//! likelihood maximise Σ_k tr(U_kᵀ S_k U_k), S_k the scatter of cluster k; polar factors of [S_1U_1, ..,
//! S_KU_K] climb it monotonically. Given bases, a token belongs to the cluster of largest likelihood.

use attnlab_core::error::Result;
use attnlab_core::linalg::{frobenius2, product, qr_q, symmetric_eigen};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};

/// Work on one model.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of labels and bases at most.
    rounds: usize,
    /// Steps towards the best jointly orthonormal bases at most; each shrinks the error by about δ².
    steps: usize,
    /// Change of the bases (root mean square of a column) at which the steps end.
    settled: f64,
}

/// Effort that tells numbers of clusters apart.
pub const ROUGH: Effort = Effort { rounds: 6, steps: 4, settled: 1e-4 };

/// Effort of the final model: far below the statistical error.
pub const FINE: Effort = Effort { rounds: 30, steps: 40, settled: 1e-9 };

/// Least noise variance relative to the signal's, so that tokens without noise have a likelihood. Tokens are
/// projected and multiplied in f64, with errors of about 1e-15 in their entries.
const FLOOR: f64 = 1e-24;

/// Squared singular value, relative to the largest, from which on inverse roots of a Gram matrix are exact to 1e-6.
const DEPENDENT: f64 = 1e-10;

/// The same from which on they are exact to 1e-10.
const REFINED: f64 = 1e-6;

/// Multiple of the frame that a step adds to the gradient, relative to the largest eigenvalue of the scatters: above
/// √[`DEPENDENT`]. It changes no stationary frame, and directions in which a cluster has no tokens stay where they are.
const SHIFT: f64 = 2e-5;

/// Share of the energy below which a difference of energies is rounding: their sums are off by some f64::EPSILON. Noise
/// below δ of about 1e-7 is therefore none.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The variance n² that the energy beyond the signal's gives, `total - inside` over its degrees of freedom.
fn noise_variance(total: f64, inside: f64, freedom: f64, signal: f64) -> f64 {
    if total - inside > ROUNDING * total { ((total - inside) / freedom).max(FLOOR * signal) } else { FLOOR * signal }
}

/// A mixture with all its parameters, in the coordinates of the support.
#[derive(Clone, Debug)]
pub struct Model {
    /// p_k.
    pub dims: Vec<usize>,
    /// [U_1 .. U_K] (r, Σ p_k), orthonormal.
    pub frame: Array2<f64>,
    /// s², variance of the signal.
    pub signal: f64,
    /// n², variance of the noise.
    pub noise: f64,
    /// Degrees of freedom behind `signal` and `noise`.
    pub freedom: [f64; 2],
}

/// A model with the labels that it gives to the tokens it was fitted to.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// The model.
    pub model: Model,
    /// Cluster of each token.
    pub labels: Vec<usize>,
    /// Bayesian information criterion of the labelled tokens; smaller is better.
    pub criterion: f64,
    /// Number of parameters of the bases and levels.
    pub parameters: f64,
}

impl Model {
    /// Makes a model whose levels are yet to be set.
    pub(super) fn without_levels(dims: Vec<usize>, frame: Array2<f64>) -> Self {
        Model { dims, frame, signal: 0.0, noise: 0.0, freedom: [0.0; 2] }
    }

    /// Returns whether the tokens have noise that rounding does not explain.
    pub fn is_noisy(&self) -> bool {
        self.noise > 2.0 * FLOOR * self.signal
    }

    /// Returns the columns of cluster k in the frame.
    pub fn columns(&self, k: usize) -> std::ops::Range<usize> {
        let start: usize = self.dims[..k].iter().sum();
        start..start + self.dims[k]
    }

    /// Computes the energy of every token in every subspace, (K, N).
    pub fn energies(&self, tokens: ArrayView2<f64>) -> Array2<f64> {
        let y = product(self.frame.t(), tokens);
        let mut energies = Array2::zeros((self.dims.len(), tokens.ncols()));
        for k in 0..self.dims.len() {
            let coordinates = y.slice(s![self.columns(k), ..]);
            energies.row_mut(k).assign(&coordinates.map_axis(Axis(0), |c| c.dot(&c)));
        }
        energies
    }

    /// Computes the mean μ (r,) that the tokens have beside the model: in a direction of U_k the tokens of the other
    /// clusters are noise, which tells it far better than the mean of all tokens, whose error is that of the signal.
    /// Weighted by both variances.
    pub fn mean(&self, tokens: ArrayView2<f64>, labels: &[usize]) -> Array1<f64> {
        let n = tokens.ncols() as f64;
        let ratio = self.noise / self.signal;
        let y = product(self.frame.t(), tokens);
        let counts = counts(labels, self.dims.len());
        let mut inside = Array1::zeros(self.frame.ncols());
        for (k, count) in counts.iter().enumerate() {
            for i in self.columns(k) {
                let row = y.row(i);
                let signal: f64 = row.iter().zip(labels).filter(|(_, l)| **l == k).map(|(x, _)| x).sum();
                let weight = ratio * *count as f64 + (n - *count as f64);
                inside[i] = (ratio * signal + (row.sum() - signal)) / weight;
            }
        }
        // Outside all subspaces every token is noise.
        let plain = tokens.sum_axis(Axis(1)) / n;
        let projected = self.frame.dot(&self.frame.t().dot(&plain));
        plain - projected + self.frame.dot(&inside)
    }

    /// Computes the log-likelihood of one token in cluster k, up to what all clusters share.
    fn score(&self, k: usize, energy: f64) -> f64 {
        let p = self.dims[k] as f64;
        0.5 * (energy * (self.noise.recip() - self.signal.recip()) - p * (self.signal / self.noise).ln())
    }

    /// Gives every token the cluster of its largest likelihood, and returns the expected number of wrong
    /// labels beside them.
    pub fn assign(&self, tokens: ArrayView2<f64>) -> (Vec<usize>, f64) {
        let energies = self.energies(tokens);
        let mut wrong = 0.0;
        let label = |column: ndarray::ArrayView1<f64>| {
            let scores: Vec<f64> = (0..self.dims.len()).map(|k| self.score(k, column[k])).collect();
            let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0);
            let others: f64 = (0..scores.len()).filter(|k| *k != best).map(|k| (scores[k] - scores[best]).exp()).sum();
            wrong += others / (1.0 + others);
            best
        };
        let labels = energies.columns().into_iter().map(label).collect();
        (labels, wrong)
    }
}

impl Labelled {
    /// Computes BIC of labelled tokens: twice the negative log-likelihood, labels with their shares, and the bases' number
    /// of parameters times log N.
    fn new(tokens: ArrayView2<f64>, model: Model, labels: Vec<usize>) -> Self {
        let (rank, n) = (tokens.nrows(), tokens.ncols() as f64);
        let energies = model.energies(tokens);
        let inside: f64 = labels.iter().enumerate().map(|(i, k)| energies[[*k, i]]).sum();
        let total = frobenius2(tokens);
        let counts = counts(&labels, model.dims.len());
        let (mut signals, mut noises, mut shares) = (0.0, 0.0, 0.0);
        for (p, count) in model.dims.iter().zip(&counts) {
            signals += (count * p) as f64;
            noises += (count * (rank - p)) as f64;
            if *count > 0 {
                shares += *count as f64 * (*count as f64 / n).ln();
            }
        }
        let signal = inside / signals;
        let mut twice = signals * (signal.ln() + 1.0);
        if noises > 0.0 {
            twice += noises * (noise_variance(total, inside, noises, signal).ln() + 1.0);
        }
        let outside = rank.saturating_sub(model.dims.iter().sum());
        let parameters = taken(&model.dims, outside) + 2.0 * model.dims.len() as f64;
        let criterion = twice - 2.0 * shares + parameters * n.ln();
        Labelled { model, labels, criterion, parameters }
    }
}

/// Numbers of tokens per cluster.
pub fn counts(labels: &[usize], clusters: usize) -> Vec<usize> {
    let mut counts = vec![0; clusters];
    labels.iter().for_each(|k| counts[*k] += 1);
    counts
}

/// The tokens of cluster k.
pub fn members(tokens: ArrayView2<f64>, labels: &[usize], k: usize) -> Array2<f64> {
    let indices: Vec<usize> = (0..labels.len()).filter(|i| labels[*i] == k).collect();
    tokens.select(Axis(1), &indices)
}

/// Alternates between labels and subspaces from the given labels on. None where a cluster loses its tokens.
///
/// # Errors
/// If an eigenvalue iteration does not converge.
pub fn alternate(
    tokens: ArrayView2<f64>,
    mut labels: Vec<usize>,
    clusters: usize,
    effort: Effort,
) -> Result<Option<Labelled>> {
    let mut before: Option<Model> = None;
    for _ in 0..effort.rounds {
        let Some(model) = subspaces(tokens, &labels, clusters, (before.as_ref(), effort))? else { return Ok(None) };
        let (next, _) = model.assign(tokens);
        let done = next == labels && before.as_ref().is_some_and(|b| b.dims == model.dims);
        labels = next;
        before = Some(model);
        if done || clusters == 1 && before.is_some() {
            break;
        }
    }
    let Some(model) = subspaces(tokens, &labels, clusters, (before.as_ref(), effort))? else { return Ok(None) };
    Ok(Some(Labelled::new(tokens, model, labels)))
}

/// The subspaces and levels that fit labelled tokens; None where a cluster is empty.
pub fn subspaces(
    tokens: ArrayView2<f64>,
    labels: &[usize],
    clusters: usize,
    (before, effort): (Option<&Model>, Effort),
) -> Result<Option<Model>> {
    let rank = tokens.nrows();
    let counts = counts(labels, clusters);
    // Every cluster needs a token and a dimension.
    if counts.contains(&0) || clusters > rank {
        return Ok(None);
    }
    let (mut scatters, mut spectra) = (vec![], vec![]);
    for (k, count) in counts.iter().enumerate() {
        let cluster = members(tokens, labels, k);
        let scatter = product(cluster.view(), cluster.t());
        let (values, vectors) = symmetric_eigen(scatter.view())?;
        let mut order: Vec<usize> = (0..rank).collect();
        order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        let n = *count as f64;
        let values: Vec<f64> = order.iter().map(|i| (values[*i] / n).max(0.0)).collect();
        spectra.push((values, vectors.select(Axis(1), &order)));
        scatters.push(scatter);
    }
    let mut dims: Vec<usize> = match before {
        // From the second round on the levels are known from all clusters together.
        Some(model) if model.noise > FLOOR * model.signal => {
            (0..clusters).map(|k| by_levels(&spectra[k].0, counts[k], model, k)).collect()
        }
        _ => (0..clusters).map(|k| by_likelihood(&spectra[k].0, counts[k], clusters)).collect(),
    };
    shrink_to(rank, &mut dims, &spectra);
    if let Some(model) = before {
        grow_to(rank, &mut dims, &spectra, (&counts, model));
    }
    let blocks: Vec<_> = (0..clusters).map(|k| spectra[k].1.slice(s![.., ..dims[k]])).collect();
    let Ok(mut frame) = concatenate(Axis(1), &blocks) else { return Ok(None) };
    let mut model = Model::without_levels(dims, Array2::zeros((0, 0)));
    if clusters > 1 {
        frame = polar(frame.view())?;
        let largest = spectra.iter().zip(&counts).map(|((values, _), n)| values[0] * *n as f64).fold(0.0, f64::max);
        for _ in 0..effort.steps {
            let mut climbed = &frame * (SHIFT * largest);
            for (k, scatter) in scatters.iter().enumerate() {
                let columns = s![.., model.columns(k)];
                let mut basis = climbed.slice_mut(columns);
                basis += &product(scatter.view(), frame.slice(columns));
            }
            let next = polar(climbed.view())?;
            let change = frobenius2((&next - &frame).view()) / frame.ncols() as f64;
            frame = next;
            if change.sqrt() < effort.settled {
                break;
            }
        }
    }
    model.frame = frame;
    let taken = taken(&model.dims, rank - model.frame.ncols());
    levels(&mut model, &scatters, &counts, taken);
    Ok(Some(model))
}

/// Sets the levels of a model whose bases are known, exactly or by another fit.
pub fn at_bases(tokens: ArrayView2<f64>, labels: Vec<usize>, mut model: Model) -> Labelled {
    let clusters = model.dims.len();
    let scatter = |k: usize| {
        let cluster = members(tokens, &labels, k);
        product(cluster.view(), cluster.t())
    };
    let scatters: Vec<_> = (0..clusters).map(scatter).collect();
    levels(&mut model, &scatters, &counts(&labels, clusters), 0.0);
    Labelled::new(tokens, model, labels)
}

/// Sets the variances of signal and noise, unbiased, with their degrees of freedom; `taken` of the noise's went
/// into the bases.
///
/// Bases that are fitted take freedom from the noise alone: tilting U_k towards U_l by a (p_k, p_l) matrix turns U_l back
/// by its transpose, so each pair takes p_k p_l, and every direction outside all subspaces takes Σ p_k.
fn levels(model: &mut Model, scatters: &[Array2<f64>], counts: &[usize], taken: f64) {
    let rank = model.frame.nrows();
    let (mut inside, mut total, mut free) = (0.0, 0.0, [0.0; 2]);
    for (k, scatter) in scatters.iter().enumerate() {
        let basis = model.frame.slice(s![.., model.columns(k)]);
        inside += (&product(scatter.view(), basis) * &basis).sum();
        total += scatter.diag().sum();
        free[0] += (counts[k] * model.dims[k]) as f64;
        free[1] += (counts[k] * (rank - model.dims[k])) as f64;
    }
    free[1] -= taken;
    model.signal = inside / free[0];
    model.noise = match free[1] >= 1.0 {
        true => noise_variance(total, inside, free[1], model.signal),
        false => FLOOR * model.signal,
    };
    model.freedom = [free[0], free[1].max(0.0)];
}

/// The parameters of the bases: Σ_{k<l} p_k p_l + q Σ p_k with q directions outside all.
fn taken(dims: &[usize], outside: usize) -> f64 {
    let total: f64 = dims.iter().map(|p| *p as f64).sum();
    let squares: f64 = dims.iter().map(|p| (*p as f64).powi(2)).sum();
    0.5 * (total * total - squares) + outside as f64 * total
}

/// The dimension p by the two-level likelihood of a spectrum with BIC's penalty p(r - p).
fn by_likelihood(values: &[f64], count: usize, clusters: usize) -> usize {
    let rank = values.len();
    let sum: f64 = values.iter().sum();
    let n = count as f64;
    let most = if clusters == 1 { rank } else { (rank - 1).max(1) };
    // Beyond the number of tokens the spectrum is zero whatever the law.
    let most = if count > rank { most } else { most.min((4 * count / 5).max(1)) };
    let mut inside = 0.0;
    let mut best = (f64::INFINITY, 1);
    for p in 1..=most {
        inside += values[p - 1];
        let (signal, rest) = (inside / p as f64, (rank - p) as f64);
        let noise = if p == rank { signal } else { noise_variance(sum, inside, rest, signal) };
        let fit = n * (p as f64 * signal.ln() + rest * noise.ln());
        let criterion = fit + p as f64 * rest * n.ln();
        if criterion < best.0 {
            best = (criterion, p);
        }
    }
    best.1
}

/// The number of eigenvalues on the signal's side of the middle between the two bulks of Marchenko and
/// Pastur: s²(1 - √(p/N_k))² from below and n²(1 + √((r-p)/N_k))² from above. Where they overlap, by the
/// likelihood of a single direction.
fn by_levels(values: &[f64], count: usize, model: &Model, k: usize) -> usize {
    let (rank, n) = (values.len() as f64, count as f64);
    let p = model.dims[k] as f64;
    let low = model.signal * (1.0 - (p / n).sqrt()).max(0.0).powi(2);
    let high = model.noise * (1.0 + ((rank - p).max(0.0) / n).sqrt()).powi(2);
    let ratio = model.noise / model.signal;
    let middle = match low > high {
        true => (low * high).sqrt(),
        false => -model.noise * ratio.ln() / (1.0 - ratio).max(f64::EPSILON),
    };
    values.iter().take_while(|v| **v > middle).count().max(1)
}

/// Takes the weakest directions from the clusters until all fit into the support.
fn shrink_to(rank: usize, dims: &mut [usize], spectra: &[(Vec<f64>, Array2<f64>)]) {
    while dims.iter().sum::<usize>() > rank {
        let weakest = |k: &usize| spectra[*k].0[dims[*k] - 1];
        let shrinkable = (0..dims.len()).filter(|k| dims[*k] > 1);
        match shrinkable.min_by(|a, b| weakest(a).total_cmp(&weakest(b))) {
            Some(k) => dims[k] -= 1,
            None => return,
        }
    }
}

/// Gives directions to the clusters until the support is filled, as long as their eigenvalues may be the signal's: above
/// half the lower edge of its bulk. Definition 1 has Σ p_k = r, which decides where the bulks of few tokens overlap.
fn grow_to(rank: usize, dims: &mut [usize], spectra: &[(Vec<f64>, Array2<f64>)], (counts, model): (&[usize], &Model)) {
    while dims.len() > 1 && dims.iter().sum::<usize>() < rank {
        let likely = |k: &usize| {
            let next = dims[*k];
            let share = ((next + 1) as f64 / counts[*k] as f64).sqrt();
            let edge = 0.5 * model.signal * (1.0 - share).max(0.0).powi(2);
            spectra[*k].0.get(next).map(|v| v / edge).filter(|ratio| *ratio > 1.0)
        };
        let ratios = (0..dims.len()).filter_map(|k| likely(&k).map(|ratio| (k, ratio)));
        match ratios.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((k, _)) => dims[k] += 1,
            None => return,
        }
    }
}

/// The polar factor M (MᵀM)^{-1/2} of a matrix with more rows than columns.
///
/// Columns that are nearly dependent (a token of 10^4 times the length of the others, repeated tokens) have none to f64's
/// precision; an orthonormal basis of their span is taken then.
fn polar(m: ArrayView2<f64>) -> Result<Array2<f64>> {
    let (values, vectors) = symmetric_eigen(product(m.t(), m).view())?;
    let largest = values.iter().copied().fold(0.0, f64::max);
    if values.iter().any(|v| *v <= DEPENDENT * largest) {
        return Ok(qr_q(m).unwrap_or_else(|_| orthonormalised(m)));
    }
    let scaled = &vectors * &values.mapv(|v| v.sqrt().recip());
    let root = product(scaled.view(), vectors.t());
    let factor = product(m, root.view());
    if values.iter().all(|v| *v > REFINED * largest) {
        return Ok(factor);
    }
    // A step of Newton and Schulz squares the defect |QᵀQ - I|.
    Ok(&factor * 1.5 - product(factor.view(), product(factor.t(), factor.view()).view()) * 0.5)
}

/// Gram and Schmidt's basis of the columns, in their order; columns that depend on those before them are replaced by
/// coordinate directions. One of these that depends on some columns depends on more of them, so that each is tried once.
fn orthonormalised(m: ArrayView2<f64>) -> Array2<f64> {
    let mut basis = Array2::<f64>::zeros(m.dim());
    let mut units = (0..m.nrows()).map(|i| Array1::from_shape_fn(m.nrows(), |row| f64::from(u8::from(row == i))));
    for j in 0..m.ncols() {
        for candidate in std::iter::once(m.column(j).to_owned()).chain(&mut units) {
            let length = candidate.dot(&candidate).sqrt();
            let mut rest = candidate;
            // Twice is enough (Kahan and Parlett).
            for _ in 0..2 {
                let before = basis.slice(s![.., ..j]);
                rest = &rest - &before.dot(&before.t().dot(&rest));
            }
            let left = rest.dot(&rest).sqrt();
            if left > 1e-7 * length {
                basis.column_mut(j).assign(&(rest / left));
                break;
            }
        }
    }
    basis
}
