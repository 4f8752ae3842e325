//! The subspaces of a block's heads in place of fitted ones: SNR before and after the block, and chance.

use super::{Place, insert, insert_each, mean_of};
use attnlab_core::linalg::{haar_basis, product, qr_q, singular_values};
use attnlab_core::stats::{Estimate, t_quantile};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::number;
use attnlab_networks::Transformer;
use attnlab_theory::measure::nearest_subspace;
use ndarray::{Array2, ArrayView2, Axis};
use serde_json::json;

/// Draws of the random subspaces beside those of the heads.
pub const CHANCE_DRAWS: u64 = 5;

/// Orthonormal bases (d, p) of what the heads of a block read of the residual stream: the rows of
/// [`Transformer::value_map`]. Heads that share values share a basis, which is listed once.
///
/// # Errors
/// A block that is not there; matrices without a basis.
pub fn head_bases(network: &Transformer, block: usize) -> Result<Vec<Array2<f64>>> {
    let a = network.architecture();
    (0..a.heads)
        .step_by(a.heads / a.kv_heads)
        .map(|head| qr_q(network.value_map(block, head)?.t().mapv(f64::from).view()))
        .collect()
}

/// The subspaces of a block's heads as those of Theorem 1, in place of fitted ones: a token belongs to the subspace with
/// its largest projection. SNR (6) of every head before the block and, with the same labels, after it, and the factor
/// between them, with intervals over windows; the same before and after it in random subspaces, means and intervals
/// over [`CHANCE_DRAWS`] draws; and by how much the subspaces fail to be orthogonal, the largest singular value of
/// U_kᵀU_l.
///
/// # Errors
/// Those of [`head_bases`]; a level outside (0, 1).
pub fn head_findings(
    network: &Transformer,
    place: &Place,
    level: f64,
    streams: &Streams,
) -> Result<Option<Map<String, Value>>> {
    let Some((block, before)) = place.place.checked_sub(1).zip(place.before.as_ref()) else { return Ok(None) };
    let bases = head_bases(network, block)?;
    let labels = nearest_subspace(before.view(), &bases);
    let counts: Vec<usize> = (0..bases.len()).map(|k| labels.iter().filter(|l| **l == k).count()).collect();
    let energies = |z: &Array2<f64>| Energies::of(z.view(), &bases, &labels, place.window);
    let (first, second) = (energies(before), energies(&place.residual));
    let mut data = Map::new();
    data.insert("counts".into(), json!(counts));
    let (windows, each) = (first.inside.ncols(), 0..bases.len());
    let intervals =
        |name: &str, all: &str, value: &dyn Fn(Option<usize>, Option<usize>) -> f64, data: &mut Map<String, Value>| {
            let of_head = |k| jackknifed(windows, level, |left_out| value(Some(k), left_out));
            insert_each(data, name, &each.clone().map(of_head).collect::<Result<Vec<_>>>()?);
            insert(data, all, &jackknifed(windows, level, |left_out| value(None, left_out))?);
            Ok::<(), Error>(())
        };
    intervals("snr_before", "all_before", &|k, w| first.snr(k, w), &mut data)?;
    intervals("snr_after", "all_after", &|k, w| second.snr(k, w), &mut data)?;
    intervals("factor_by_head", "factor", &|k, w| second.snr(k, w) / first.snr(k, w), &mut data)?;
    data.insert("coherence".into(), number(coherence(&bases)?));
    let draws = (0..CHANCE_DRAWS).map(|draw| chance(place, before, &bases, &streams.child("random subspaces", draw)));
    let draws = draws.collect::<Result<Vec<_>>>()?;
    for (i, name) in ["chance_before", "chance_after", "chance_factor", "chance_coherence"].into_iter().enumerate() {
        let values: Vec<f64> = draws.iter().map(|draw| draw[i]).collect();
        insert(&mut data, name, &mean_of(&values, level)?);
    }
    Ok(Some(data))
}

/// SNR before and after the block, the factor between them, and coherence, in one draw of random subspaces of the
/// dimensions of `like`.
fn chance(place: &Place, before: &Array2<f64>, like: &[Array2<f64>], streams: &Streams) -> Result<[f64; 4]> {
    let mut rng = streams.part("bases", 0);
    let random = like.iter().map(|u| haar_basis(u.nrows(), u.ncols(), &mut rng)).collect::<Result<Vec<_>>>()?;
    let labels = nearest_subspace(before.view(), &random);
    let snr = |z: &Array2<f64>| Energies::of(z.view(), &random, &labels, place.window).snr(None, None);
    let (first, second) = (snr(before), snr(&place.residual));
    Ok([first, second, second / first, coherence(&random)?])
}

/// Energies of tokens inside the subspaces of their labels and outside them: a row per subspace, a column per window.
struct Energies {
    inside: Array2<f64>,
    outside: Array2<f64>,
}

impl Energies {
    fn of(tokens: ArrayView2<f64>, bases: &[Array2<f64>], labels: &[usize], window: usize) -> Self {
        let shape = (bases.len(), labels.len().div_ceil(window.max(1)));
        let (mut inside, mut outside) = (Array2::zeros(shape), Array2::zeros(shape));
        for (k, u) in bases.iter().enumerate() {
            let members: Vec<usize> = (0..labels.len()).filter(|i| labels[*i] == k).collect();
            let z = tokens.select(Axis(1), &members);
            let signal = product(u.view(), product(u.t(), z.view()).view());
            // ‖Z‖² − ‖signal‖² would consist of rounding errors at high SNR.
            let noise = &z - &signal;
            for ((i, s), n) in members.iter().zip(signal.columns()).zip(noise.columns()) {
                inside[[k, i / window]] += s.dot(&s);
                outside[[k, i / window]] += n.dot(&n);
            }
        }
        Energies { inside, outside }
    }

    /// SNR (6) of one subspace or of all tokens, without one window or with all.
    fn snr(&self, subspace: Option<usize>, left_out: Option<usize>) -> f64 {
        let sum = |energies: &Array2<f64>| -> f64 {
            let counted = |(k, w): (usize, usize)| subspace.is_none_or(|s| s == k) && left_out != Some(w);
            energies.indexed_iter().filter(|(place, _)| counted(*place)).map(|(_, e)| e).sum()
        };
        (sum(&self.inside) / sum(&self.outside)).sqrt()
    }
}

/// A positive number of all windows with the interval that the jackknife over windows gives its logarithm (Efron and
/// Stein 1981). The ends are NaN where there is one window, or where the number without some window is not positive.
fn jackknifed(windows: usize, level: f64, value: impl Fn(Option<usize>) -> f64) -> Result<Estimate> {
    let of_all = value(None);
    let without: Vec<f64> = (0..windows).map(|w| value(Some(w)).ln()).collect();
    if windows < 2 || !of_all.ln().is_finite() || without.iter().any(|x| !x.is_finite()) {
        return Ok(Estimate { value: of_all, low: f64::NAN, high: f64::NAN, level });
    }
    let n = windows as f64;
    let centre = without.iter().sum::<f64>() / n;
    let variance = (n - 1.0) / n * without.iter().map(|x| (x - centre).powi(2)).sum::<f64>();
    let half = t_quantile(n - 1.0, 0.5 + level / 2.0)? * variance.sqrt();
    Ok(Estimate { value: of_all, low: of_all * (-half).exp(), high: of_all * half.exp(), level })
}

/// The largest singular value of U_kᵀU_l over k ≠ l: 0 for orthogonal subspaces, 1 where two share a direction.
fn coherence(bases: &[Array2<f64>]) -> Result<f64> {
    let mut most: f64 = 0.0;
    for (k, u) in bases.iter().enumerate() {
        for v in &bases[..k] {
            most = singular_values(product(u.t(), v.view()).view())?.iter().copied().fold(most, f64::max);
        }
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// By hand: SNR √(13/5) and √(16/7). Without a window, ln 2 and ln 1.5, whose standard error by the jackknife is half
    /// their difference, ln(4/3)/2; Student's 97.5 % quantile with one degree of freedom is tan(.475π) = 12.706205.
    #[test]
    fn intervals_are_those_of_the_jackknife() {
        let energies = Energies { inside: array![[4.0, 9.0], [1.0, 2.0]], outside: array![[1.0, 4.0], [1.0, 1.0]] };
        assert!((energies.snr(Some(0), None) - 2.6_f64.sqrt()).abs() < 1e-15);
        assert!((energies.snr(None, None) - (16.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        let e = jackknifed(2, 0.95, |w| energies.snr(Some(0), w)).unwrap();
        let half = (0.475 * std::f64::consts::PI).tan() * (4.0_f64 / 3.0).ln() / 2.0;
        assert!(((e.high / e.value).ln() - half).abs() < 1e-5, "{e:?}");
        assert!(((e.value / e.low).ln() - half).abs() < 1e-5, "{e:?}");
        assert!(jackknifed(1, 0.95, |w| energies.snr(Some(0), w)).unwrap().low.is_nan());
    }
}
