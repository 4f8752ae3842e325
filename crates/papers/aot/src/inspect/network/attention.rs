//! Attention of a block on all windows: entropy, energy, and the share of the first token.

use super::{insert, insert_each, mean_of};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::number;
use ndarray::{Array2, ArrayView1, Axis};
use rayon::prelude::*;

/// Attention of a block. Tables have a row per head and a column per window; entropies and energies are in nats.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Mean entropy of a query's weights.
    pub entropy: Array2<f64>,
    /// Mean energy of a query: −log of the mean of exp(score) over the tokens it may attend to, which is the energy of
    /// the head's associative memory up to a term quadratic in the query. Attention to all alike at scores 0 has
    /// energy 0.
    pub energy: Array2<f64>,
    /// Share of the first token of the window: mean of its weight over the other queries that may attend to it; NaN
    /// where there is none.
    pub sink: Array2<f64>,
    /// Mean entropy of a query's weights on the tokens after the first, scaled to sum 1; a query that may attend to
    /// the first alone counts 0, as it does in `entropy`.
    pub entropy_without_sink: Array2<f64>,
    /// Mean over the queries of the logarithm of the number of tokens that it may attend to: the largest entropy.
    pub ceiling: f64,
}

/// Means over the queries of a window and a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    entropy: f64,
    energy: f64,
    sink: f64,
    entropy_without_sink: f64,
    ceiling: f64,
}

/// Observes a window from the scores (N, N) of every head, whose column j belongs to the query of token j; −∞ where a
/// token is masked.
pub(super) fn observe(scores: &[Array2<f32>]) -> Vec<Observed> {
    scores.par_iter().map(of_head).collect()
}

fn of_head(scores: &Array2<f32>) -> Observed {
    let unmasked = |s: &f32| *s > f32::NEG_INFINITY;
    let mut visible: Vec<f64> = vec![];
    let query = |query: ArrayView1<f32>| {
        visible.clear();
        visible.extend(query.iter().copied().filter(unmasked).map(f64::from));
        let sees_first = query.first().is_some_and(unmasked);
        (of_query(&visible, sees_first), sees_first)
    };
    let queries: Vec<(Observed, bool)> = scores.columns().into_iter().map(query).collect();
    let mean = |of: fn(&Observed) -> f64| queries.iter().map(|(o, _)| of(o)).sum::<f64>() / queries.len() as f64;
    let sinks = queries.iter().skip(1).filter(|(_, sees_first)| *sees_first).map(|(o, _)| o.sink);
    Observed {
        entropy: mean(|o| o.entropy),
        energy: mean(|o| o.energy),
        sink: sinks.clone().sum::<f64>() / sinks.count() as f64,
        entropy_without_sink: mean(|o| o.entropy_without_sink),
        ceiling: mean(|o| o.ceiling),
    }
}

/// Observes a query from its scores, the first of which is that of the first token if the query sees it.
fn of_query(scores: &[f64], sees_first: bool) -> Observed {
    let (first, others) = scores.split_at(usize::from(sees_first));
    // The others have a maximum of their own: beside a large score of the first token their exponentials may be 0.
    let (of_first, of_others) = (Moments::of(first), Moments::of(others));
    let top = of_first.top.max(of_others.top);
    let [first, rest] = [&of_first, &of_others].map(|m| m.sum * (m.top - top).exp());
    let sum = first + rest;
    // H = Σ (weight of a part) (H of the part − log of the weight), whose terms are all ≥ 0 and cannot cancel.
    let part = |weight: f64, entropy: f64| if weight > 0.0 { weight * (entropy - weight.ln()) } else { 0.0 };
    let ceiling = (scores.len() as f64).ln();
    Observed {
        entropy: part(first / sum, of_first.entropy()) + part(rest / sum, of_others.entropy()),
        energy: ceiling - top - sum.ln(),
        sink: first / sum,
        entropy_without_sink: of_others.entropy(),
        ceiling,
    }
}

/// Sums over scores a of one part: their maximum, Σ exp(a − top) and Σ exp(a − top)(top − a).
struct Moments {
    top: f64,
    sum: f64,
    below: f64,
}

impl Moments {
    fn of(scores: &[f64]) -> Self {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut below) = (0.0, 0.0);
        for a in scores {
            let e = (a - top).exp();
            sum += e;
            below += e * (top - a);
        }
        Moments { top, sum, below }
    }

    /// Entropy of the softmax of these scores alone; 0 of none.
    fn entropy(&self) -> f64 {
        if self.sum > 0.0 { self.sum.ln() + self.below / self.sum } else { 0.0 }
    }
}

impl Attention {
    /// Joins what was observed of the heads in every window.
    pub(super) fn over_windows(windows: &[Vec<Observed>]) -> Self {
        let heads = windows.first().map_or(0, Vec::len);
        let table =
            |of: fn(&Observed) -> f64| Array2::from_shape_fn((heads, windows.len()), |(h, w)| of(&windows[w][h]));
        Attention {
            entropy: table(|o| o.entropy),
            energy: table(|o| o.energy),
            sink: table(|o| o.sink),
            entropy_without_sink: table(|o| o.entropy_without_sink),
            ceiling: table(|o| o.ceiling).mean().unwrap_or(0.0),
        }
    }

    /// Returns the findings by name: means over heads and NAME_by_head. Intervals are over windows and need two of
    /// them; else they are "nan".
    ///
    /// # Errors
    /// A level outside (0, 1).
    pub fn findings(&self, level: f64) -> Result<Map<String, Value>> {
        let mut data = Map::new();
        let Attention { entropy, energy, sink, entropy_without_sink, .. } = self;
        let names = ["entropy", "energy", "sink", "entropy_without_sink"];
        for (name, table) in names.into_iter().zip([entropy, energy, sink, entropy_without_sink]) {
            let over_windows = table.mean_axis(Axis(0)).unwrap_or_default().to_vec();
            insert(&mut data, name, &mean_of(&over_windows, level)?);
            let by_head = table.rows().into_iter().map(|head| mean_of(&head.to_vec(), level));
            insert_each(&mut data, &format!("{name}_by_head"), &by_head.collect::<Result<Vec<_>>>()?);
        }
        data.insert("ceiling".into(), number(self.ceiling));
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: weights 1/4 and 3/4 have entropy ln 4 − 3/4 ln 3, whatever the first token takes.
    #[test]
    fn a_strong_sink_leaves_the_entropy_of_the_others() {
        let others = 4.0_f64.ln() - 0.75 * 3.0_f64.ln();
        for (first, share) in [(800.0, 1.0), (4.0_f64.ln(), 0.5), (-800.0, 0.0)] {
            let o = of_query(&[first, 0.0, 3.0_f64.ln()], true);
            // Half of the weight on the first token: ln 2 more than half of what the others have.
            let entropy = if share == 0.5 { 2.0_f64.ln() + others / 2.0 } else { (1.0 - share) * others };
            for (value, expected) in [(o.sink, share), (o.entropy_without_sink, others), (o.entropy, entropy)] {
                assert!((value - expected).abs() < 1e-14, "{first}: {o:?}");
            }
        }
        let alone = of_query(&[2.0], true);
        assert_eq!((alone.sink, alone.entropy, alone.entropy_without_sink, alone.energy), (1.0, 0.0, 0.0, -2.0));
    }
}
