//! Correlation of latents with hidden units, the score of JoMA's Table 1, and its chance levels.

use crate::network::Record;
use attnlab_core::linalg::{Real, product};
use attnlab_core::rng::{Generator, Streams};
use attnlab_lab::run::store;
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

/// Correlations of every latent that varies with every unit: (latents, units). A unit or latent without variance
/// has correlation 0 in the authors' code; such latents are left out, and [`Correlations::constant`] counts them.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlations {
    /// Entry (i, k): correlation of latent i with unit k over the samples.
    pub matrix: Array2<f64>,
    /// Number of latents without variance.
    pub constant: usize,
}

/// Guard of the authors' code against division by zero, added to the norm of every centred column.
const GUARD: f64 = 1e-9;

impl Correlations {
    /// Computes the correlations of `latents` (latent, sample) with `units` (unit, sample).
    ///
    /// ```
    /// use attnlab_joma::alignment::Correlations;
    /// use ndarray::array;
    /// let latents = vec![vec![true, true, false], vec![true, true, true]];
    /// let correlations = Correlations::new(&latents, array![[2.0, 2.0, 1.0], [0.0, 1.0, 0.0]].view());
    /// assert!((correlations.score() - 1.0).abs() < 1e-8); // of the first; the second never varies
    /// assert_eq!(correlations.constant, 1);
    /// ```
    pub fn new<T: Real>(latents: &[Vec<bool>], units: ArrayView2<T>) -> Self {
        let varying: Vec<&Vec<bool>> = latents.iter().filter(|row| varies(row)).collect();
        let mut a = Array2::from_shape_fn((varying.len(), units.ncols()), |(i, n)| f64::from(u8::from(varying[i][n])));
        let mut u = units.mapv(|x| x.as_f64());
        for rows in [&mut a, &mut u] {
            for mut row in rows.axis_iter_mut(Axis(0)) {
                let mean = row.mean().unwrap_or(0.0);
                row.mapv_inplace(|x| x - mean);
                let norm = row.dot(&row).sqrt() + GUARD;
                row.mapv_inplace(|x| x / norm);
            }
        }
        Correlations { matrix: product(a.view(), u.t()), constant: latents.len() - varying.len() }
    }

    /// Computes NCorr: per latent the largest signed correlation over the units, averaged over the latents.
    pub fn score(&self) -> f64 {
        self.score_of(self.matrix.ncols())
    }

    /// Computes the score with the first `units` units alone: a maximum over fewer is smaller by chance alone.
    pub fn score_of(&self, units: usize) -> f64 {
        let best = |row: ndarray::ArrayView1<f64>| row.iter().take(units).fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        mean(self.matrix.rows().into_iter().map(best))
    }

    /// Computes the mean correlation of the best one-to-one matching of latents to units; NaN with more latents.
    pub fn matched(&self) -> f64 {
        let (latents, units) = self.matrix.dim();
        if latents == 0 || latents > units {
            return f64::NAN;
        }
        mean(assignment(&self.matrix).into_iter().enumerate().map(|(i, k)| self.matrix[[i, k]]))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), x| (sum + x, n + 1.0));
    sum / n
}

/// Chooses a column for every row, no column twice, with the largest sum: the shortest augmenting paths of the
/// Hungarian method (Kuhn 1955; Jonker, Volgenant 1987), in O(rows² · columns).
fn assignment(gain: &Array2<f64>) -> Vec<usize> {
    let (n, m) = gain.dim();
    // Row and column 0 are virtual; `owner[k]` is the row of column k.
    let (mut row_price, mut column_price) = (vec![0.0; n + 1], vec![0.0; m + 1]);
    let mut owner = vec![0; m + 1];
    for row in 1..=n {
        owner[0] = row;
        let mut here = 0;
        let (mut least, mut done) = (vec![f64::INFINITY; m + 1], vec![false; m + 1]);
        let mut from = vec![0; m + 1];
        while owner[here] != 0 {
            done[here] = true;
            let (current, mut delta, mut next) = (owner[here], f64::INFINITY, 0);
            for k in 1..=m {
                if done[k] {
                    continue;
                }
                let cost = -gain[[current - 1, k - 1]] - row_price[current] - column_price[k];
                if cost < least[k] {
                    least[k] = cost;
                    from[k] = here;
                }
                if least[k] < delta {
                    delta = least[k];
                    next = k;
                }
            }
            for k in 0..=m {
                if done[k] {
                    row_price[owner[k]] += delta;
                    column_price[k] -= delta;
                } else {
                    least[k] -= delta;
                }
            }
            here = next;
        }
        while here != 0 {
            owner[here] = owner[from[here]];
            here = from[here];
        }
    }
    let mut chosen = vec![0; n];
    for k in 1..=m {
        if owner[k] > 0 {
            chosen[owner[k] - 1] = k - 1;
        }
    }
    chosen
}

/// Computes the effective number of dimensions that units (unit, sample) span over the samples: (Σλ)²/Σλ² of the
/// eigenvalues λ of the matrix of their correlations. It is 1 for units that are multiples of each other, and about
/// n − 1 for many independent units over n samples: the more dimensions, the larger the largest correlation with any
/// pattern. Units that never vary are left out; NaN without others.
///
/// ```
/// use attnlab_joma::alignment::dimension;
/// use ndarray::array;
/// let units = array![[1.0, 0.0, 0.0, -1.0], [0.0, 1.0, -1.0, 0.0], [0.5, 0.5, 0.5, 0.5]];
/// assert!((dimension(units.view()) - 2.0).abs() < 1e-6);
/// ```
pub fn dimension<T: Real>(units: ArrayView2<T>) -> f64 {
    let mut u = units.mapv(|x| x.as_f64());
    let mut varying = 0.0;
    for mut row in u.axis_iter_mut(Axis(0)) {
        let mean = row.mean().unwrap_or(0.0);
        row.mapv_inplace(|x| x - mean);
        let norm = row.dot(&row).sqrt();
        let unit = if norm > GUARD { 1.0 / norm } else { 0.0 };
        varying += f64::from(u8::from(unit > 0.0));
        row.mapv_inplace(|x| x * unit);
    }
    // The products over the units have the same non-zero eigenvalues, and there are fewer samples than units.
    let squares: f64 = product(u.t(), u.view()).iter().map(|x| x * x).sum();
    varying * varying / squares
}

/// Draws the score of `units` independent normal units: the chance level of the largest of so many correlations.
pub fn noise_score(latents: &[Vec<bool>], units: usize, rng: &mut Generator) -> f64 {
    let samples = latents.first().map_or(0, Vec::len);
    let noise: Array2<f64> = Array2::from_shape_simple_fn((units, samples), || StandardNormal.sample(rng));
    Correlations::new(latents, noise.view()).score()
}

/// Draws the score after a permutation of the samples of the latents: true units, latents without relation to them.
pub fn permuted_score<T: Real>(latents: &[Vec<bool>], units: ArrayView2<T>, rng: &mut Generator) -> f64 {
    let samples = latents.first().map_or(0, Vec::len);
    let mut order: Vec<usize> = (0..samples).collect();
    order.shuffle(rng);
    let permute = |row: &Vec<bool>| order.iter().map(|n| row[*n]).collect();
    let permuted: Vec<Vec<bool>> = latents.iter().map(permute).collect();
    Correlations::new(&permuted, units).score()
}

/// Layers of latents, scored against the hidden units of a network, with the chance levels of the score.
#[derive(Clone, Debug)]
pub struct Layers {
    /// By layer: (latent, sequence), `true` where the latent is on.
    pub tables: Vec<Vec<Vec<bool>>>,
    /// Number of draws behind a chance level.
    pub draws: u64,
    /// Streams of these draws.
    pub streams: Streams,
}

impl Layers {
    /// Adds the scores of the units of every block, (unit, sequence), to a record: "corr_s_b", NCorr of layer s with block
    /// b, and "permuted_s", that of layer s with block s after a permutation of the latents, a mean over the draws.
    pub fn score<T: Real>(&self, units: &[Array2<T>], record: &mut Record) {
        for (b, units) in units.iter().enumerate() {
            for (s, table) in self.tables.iter().enumerate() {
                let correlations = Correlations::new(table, units.view());
                record.push(format!("corr_{s}_{b}"), correlations.score());
                if s == b {
                    let permuted = self.mean("permutation", s, |rng| permuted_score(table, units.view(), rng));
                    record.push(format!("permuted_{s}"), permuted);
                }
            }
        }
    }

    /// Adds what does not depend on training for the first `layers` layers: "noise_s", the mean score of as many units of
    /// noise, and "constant_s", the number of latents that are left out because they never vary.
    pub fn chance(&self, layers: usize, units: usize, record: &mut Record) {
        for (s, table) in self.tables.iter().enumerate().take(layers) {
            let noise = self.mean("noise", s, |rng| noise_score(table, units, rng));
            record.0.insert(format!("noise_{s}"), store::number(noise));
            record.0.insert(format!("constant_{s}"), table.iter().filter(|row| !varies(row)).count().into());
        }
    }

    fn mean(&self, name: &'static str, layer: usize, score: impl Fn(&mut Generator) -> f64) -> f64 {
        mean((0..self.draws).map(|i| score(&mut self.streams.child(name, i).part("layer", layer as u64))))
    }
}

fn varies(row: &[bool]) -> bool {
    row.contains(&true) && row.contains(&false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_lab::prelude::iproduct;
    use ndarray::array;
    use proptest::prelude::*;

    /// numpy.corrcoef([1, 0, 1, 0], [.2, .1, .7, .3])[0, 1] = 0.5488212999484517
    #[test]
    fn correlations_are_numpys() {
        let correlations = Correlations::new(&[vec![true, false, true, false]], array![[0.2, 0.1, 0.7, 0.3]].view());
        assert!((correlations.matrix[[0, 0]] - 0.5488212999484517).abs() < 1e-8);
    }

    /// Of m independent normal columns over n points, each centred, the squared correlations have the mean 1/(n - 1).
    #[test]
    fn independent_units_span_nearly_all_dimensions() {
        let mut rng = Streams::new(0, "test", 0, 0).part("units", 0);
        let units: Array2<f64> = Array2::from_shape_simple_fn((400, 20), || StandardNormal.sample(&mut rng));
        assert!((dimension(units.view()) - 400.0 / (1.0 + 399.0 / 19.0)).abs() < 0.5);
        let copies = Array2::from_shape_fn((7, 20), |(i, n)| units[[0, n]] * (i + 1) as f64);
        assert!((dimension(copies.view()) - 1.0).abs() < 1e-9);
    }

    proptest! {
        /// Against all assignments.
        #[test]
        fn matchings_are_the_best(entries in prop::collection::vec(-1.0..1.0_f64, 15)) {
            let gain = Array2::from_shape_vec((3, 5), entries).unwrap();
            let sum = |c: &[usize]| c.iter().enumerate().map(|(i, k)| gain[[i, *k]]).sum::<f64>();
            let different = iproduct!(0..5, 0..5, 0..5).filter(|(a, b, c)| a != b && a != c && b != c);
            let best = different.map(|(a, b, c)| sum(&[a, b, c])).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((sum(&assignment(&gain)) - best).abs() < 1e-12);
        }
    }

    /// Largest of 400 correlations over the 20 sequences: .6255 with standard deviation .0592 per latent, by integration.
    #[test]
    fn noise_has_the_level_of_the_integral() {
        let latents: Vec<Vec<bool>> = (0..20).map(|i| (0..20).map(|n| n % 5 == i % 5).collect()).collect();
        let scores: Vec<f64> =
            (0..20).map(|i| noise_score(&latents, 400, &mut Streams::new(0, "test", 0, i).part("noise", 0))).collect();
        let mean = scores.iter().sum::<f64>() / 20.0;
        // Five of the latents are different: 100 independent ones in all, .0592/10.
        let expected = crate::theory::chance::largest_correlation(400, 20).unwrap();
        assert!((mean - expected).abs() < 3.0 * 0.0592 / 10.0, "{mean} {expected}");
    }
}
