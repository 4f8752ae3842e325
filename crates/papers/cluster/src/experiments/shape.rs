//! Groups, energy and distances of tokens, from their inner products.

use ndarray::ArrayView2;

/// Returns the group of each token: tokens are in one group if steps between tokens of inner product cos(link) or more,
/// from their matrix (n, n), lead from one to the other. Groups are numbered by their first tokens.
pub fn groups(cosines: ArrayView2<f64>, link: f64) -> Vec<usize> {
    let (n, near) = (cosines.nrows(), link.cos());
    let mut group = vec![None; n];
    let mut count = 0;
    for first in 0..n {
        if group[first].is_some() {
            continue;
        }
        group[first] = Some(count);
        let mut open = vec![first];
        while let Some(i) = open.pop() {
            for j in 0..n {
                if group[j].is_none() && cosines[[i, j]] >= near {
                    group[j] = Some(count);
                    open.push(j);
                }
            }
        }
        count += 1;
    }
    group.into_iter().flatten().collect()
}

/// Returns the number of groups, from the [`groups`] of the tokens.
pub fn number_of_groups(groups: &[usize]) -> f64 {
    groups.iter().max().map_or(0.0, |last| *last as f64 + 1.0)
}

/// Energy $\frac1{n^2}\sum_{ij} e^{\beta(\langle x_i, x_j\rangle - 1)}$, each token with itself among the pairs: 1 at a single
/// point, above 1/n always.
pub fn energy(cosines: ArrayView2<f64>, beta: f64) -> f64 {
    cosines.iter().map(|c| (beta * (c - 1.0)).exp()).sum::<f64>() / cosines.len() as f64
}

/// Returns the angle (radian) from each token to the nearest one of another kind; π where all are of its kind. Angles below
/// 1e-7 are rounding.
pub fn nearest(cosines: ArrayView2<f64>, kinds: &[u32]) -> Vec<f64> {
    let of = |i: usize| {
        (0..kinds.len()).filter(|j| kinds[*j] != kinds[i]).map(|j| cosines[[i, j]]).fold(-1.0, f64::max).min(1.0).acos()
    };
    (0..kinds.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn groups_are_joined_by_steps() {
        // Angles of 0, .1, .2 and π.
        let c = |angle: f64| angle.cos();
        let cosines = array![
            [1.0, -1.0, c(0.1), c(0.2)],
            [-1.0, 1.0, -c(0.1), -c(0.2)],
            [c(0.1), -c(0.1), 1.0, c(0.1)],
            [c(0.2), -c(0.2), c(0.1), 1.0],
        ];
        assert_eq!(groups(cosines.view(), 0.15), [0, 1, 0, 0]);
        assert_eq!(groups(cosines.view(), 0.05), [0, 1, 2, 3]);
        assert_eq!(number_of_groups(&[0, 1, 0, 0]), 2.0);
        assert!((energy(cosines.view(), 0.0) - 1.0).abs() < 1e-15);
        // The third and the fourth token are one word.
        let angles = nearest(cosines.view(), &[5, 6, 7, 7]);
        for (computed, angle) in angles.iter().zip([0.1, std::f64::consts::PI - 0.2, 0.1, 0.2]) {
            assert!((computed - angle).abs() < 1e-7, "{angles:?}");
        }
        assert_eq!(nearest(cosines.view(), &[7; 4]), [std::f64::consts::PI; 4]);
    }
}
