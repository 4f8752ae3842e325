//! Footnote 1: the gradient Δ as token discriminancy times token frequency.

use super::setting::*;
use rand_distr::{Distribution, StandardNormal};

/// The identity $\Delta_{lm} = \mathbb E_{l,q=m}[g]\,\mathbb P(l \mid m)$ on drawn sequences.
#[derive(Default, Serialize, Deserialize)]
pub struct Footnote1 {
    /// Flag of a mutant: E_{q=m}[g] for E_{l,q=m}[g].
    overall_mean: bool,
    /// Flag of a mutant: frequencies among one position more, that of the query.
    query_counted: bool,
    /// Relative change of the right side; a mutant's is near 0.
    change: f64,
}

/// Lengths of the sequences.
const LENGTHS: (usize, usize) = (5, 20);
/// Rounding of sums over 1000 samples of 20 tokens, of terms that sum to some units at most.
const TOLERANCE: f64 = 1e-12;

/// Sequences of tokens that end with the query m, with their probabilities and gradients.
struct Sequences {
    tokens: Vec<Vec<usize>>,
    probabilities: Vec<f64>,
    gradients: Vec<f64>,
}

impl Sequences {
    fn draw(tokens: usize, samples: usize, rng: &mut Generator) -> Self {
        let sequence = |rng: &mut Generator| {
            let length = rng.random_range(LENGTHS.0..=LENGTHS.1);
            // Squares of uniform numbers: small token numbers are frequent.
            (0..length).map(|_| (rng.random::<f64>().powi(2) * tokens as f64) as usize).collect::<Vec<usize>>()
        };
        Sequences {
            tokens: (0..samples).map(|_| sequence(rng)).collect(),
            probabilities: probabilities(samples, 0.1, rng),
            gradients: (0..samples).map(|_| StandardNormal.sample(rng)).collect(),
        }
    }

    /// x_l of sample i.
    fn input(&self, i: usize, l: usize, kind: &str) -> f64 {
        let count = self.tokens[i].iter().filter(|token| **token == l).count() as f64;
        match kind {
            "count" => count,
            "presence" => count.min(1.0),
            _ => count / self.tokens[i].len() as f64,
        }
    }

    /// P(l | m) and E_{l,q=m}[g], position by position: one position of a sequence is as likely as another.
    fn by_position(&self, tokens: usize) -> Vec<(f64, f64)> {
        let mut sums = vec![(0.0, 0.0); tokens];
        for (i, sequence) in self.tokens.iter().enumerate() {
            let share = self.probabilities[i] / sequence.len() as f64;
            for token in sequence {
                sums[*token].0 += share;
                sums[*token].1 += share * self.gradients[i];
            }
        }
        sums.into_iter().map(|(p, sum): (f64, f64)| if p > 0.0 { (p, sum / p) } else { (0.0, 0.0) }).collect()
    }
}

impl Claim for Footnote1 {
    from_sheet!("joma.footnote1");

    fn schema(&self) -> Schema {
        vec![TOKENS.or(6), SAMPLES.or(9), INPUT_KIND.or("frequency")]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let printed = "x_l[i] is the empirical frequency of token l in sample i";
        vec![met("frequency", printed, params.get(INPUT_KIND) == "frequency")]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (tokens, samples, kind) = (params.get(TOKENS), params.get(SAMPLES), params.get(INPUT_KIND));
        let drawn = Sequences::draw(tokens, samples, &mut streams.part("sequences", 0));
        let average = |of: &dyn Fn(usize) -> f64| -> f64 { (0..samples).map(|i| drawn.probabilities[i] * of(i)).sum() };
        let overall = average(&|i| drawn.gradients[i]);
        let (mut off, mut worst) = (0.0, witness! {});
        for (l, (frequency, mean)) in drawn.by_position(tokens).into_iter().enumerate() {
            let delta = average(&|i| {
                let length = drawn.tokens[i].len() as f64;
                let counted = if self.query_counted { length / (length + 1.0) } else { 1.0 };
                drawn.gradients[i] * counted * drawn.input(i, l, kind)
            });
            let gradient = if self.overall_mean { overall } else { mean };
            let said = (1.0 + self.change) * gradient * frequency;
            if (delta - said).abs() >= off {
                off = (delta - said).abs();
                worst = witness! {
                    "token" => l, "delta" => delta, "said" => said, "P(l|m)" => frequency, "mean_gradient" => mean,
                };
            }
        }
        Ok(Outcome::equal(off, 0.0, TOLERANCE, worst))
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Sequences, StandardNormal, Streams};

    /// The factor that stands for E_{l,q=m}[g] is a mean of g; that of inputs of either sign, as Lemma 2's, is not.
    #[test]
    fn only_frequencies_give_a_mean() {
        let mut rng = Streams::new(1, "footnote", 0, 0).part("x", 0);
        let drawn = Sequences::draw(6, 40, &mut rng);
        let least = drawn.gradients.iter().copied().fold(f64::INFINITY, f64::min);
        let most = drawn.gradients.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let by_token = drawn.by_position(6);
        assert!((by_token.iter().map(|(p, _)| p).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(by_token.iter().all(|(_, mean)| (least..=most).contains(mean)));
        let outside = (0..50).filter(|_| {
            let x: Vec<f64> = (0..40).map(|_| StandardNormal.sample(&mut rng)).collect();
            let sum = |f: &dyn Fn(usize) -> f64| -> f64 { (0..40).map(f).sum() };
            let mean = sum(&|i| drawn.gradients[i] * x[i]) / sum(&|i| x[i]);
            !(least..=most).contains(&mean)
        });
        assert!(outside.count() > 5);
    }
}
