//! Stationary Markov chains over a finite alphabet, and their entropies: a text whose least possible
//! loss is known.

use attnlab_core::error::{Error, Result};

/// Contexts of a chain, vocabulary^order, at most: the elimination behind the stationary law takes the
/// cube of it in operations, a second at this size.
pub const MOST_CONTEXTS: usize = 1024;

/// How far from 1 the sum of a row may be: what rounding leaves of a row that somebody normalised.
const SUM: f64 = 1e-9;

/// A chain of order k over V symbols with its stationary law. A context is the last k symbols, oldest
/// first, read as a number in base V.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovChain {
    vocabulary: usize,
    order: usize,
    /// Entry j: the joint law of j symbols and the one after them, (V^j, V) row by row.
    joints: Vec<Vec<f64>>,
    /// Entry j: the law of the next symbol given the j before it, (V^j, V) row by row.
    conditionals: Vec<Vec<f64>>,
}

impl MarkovChain {
    /// The chain whose row s, `rows[s V .. (s + 1) V]`, is the law of the symbol after context s.
    ///
    /// # Errors
    /// No symbols, order 0, too many contexts, rows that are no probabilities, and a chain that cannot
    /// come back to context 0 from every other: it may have several stationary laws.
    ///
    /// ```
    /// use attnlab_theory::markov::MarkovChain;
    /// // Two symbols that stay with probability .9 and .6: the second has 1/5 of the time.
    /// let chain = MarkovChain::new(2, 1, vec![0.9, 0.1, 0.4, 0.6])?;
    /// assert!((chain.stationary()[1] - 0.2).abs() < 1e-15);
    /// // H = .8 H(.1) + .2 H(.4) nats.
    /// assert!((chain.entropy_rate() - 0.394_668_712_1).abs() < 1e-9);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(vocabulary: usize, order: usize, rows: Vec<f64>) -> Result<Self> {
        let contexts = contexts(vocabulary, order)?;
        if rows.len() != contexts * vocabulary {
            let expected = format!("{contexts} rows of {vocabulary}");
            return Err(Error::shape("rows", [rows.len()], expected));
        }
        for (s, row) in rows.chunks_exact(vocabulary).enumerate() {
            let sum: f64 = row.iter().sum();
            // A NaN is in no range, and makes no sum that is near 1.
            if !(row.iter().all(|p| (0.0..=1.0).contains(p)) && (sum - 1.0).abs() < SUM) {
                let allowed = "must be probabilities that sum to 1";
                return Err(Error::invalid(
                    format!("row {s}"),
                    format!("{row:?}"),
                    allowed,
                ));
            }
        }
        let stationary = stationary(vocabulary, &rows, contexts)?;
        let mut joint: Vec<f64> = stationary
            .iter()
            .zip(rows.chunks_exact(vocabulary))
            .flat_map(|(share, row)| row.iter().map(move |p| share * p))
            .collect();
        let mut joints = vec![joint.clone()];
        for _ in 0..order {
            // The oldest symbol is the leading digit: without it, blocks of the table add up.
            let shorter = joint.len() / vocabulary;
            let (first, rest) = joint.split_at_mut(shorter);
            for block in rest.chunks_exact(shorter) {
                first.iter_mut().zip(block).for_each(|(a, b)| *a += b);
            }
            joint.truncate(shorter);
            joints.push(joint.clone());
        }
        joints.reverse();
        let mut conditionals: Vec<Vec<f64>> = joints[..order]
            .iter()
            .map(|joint| normalised(joint, vocabulary))
            .collect();
        conditionals.push(rows);
        Ok(MarkovChain {
            vocabulary,
            order,
            joints,
            conditionals,
        })
    }

    /// V.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// k.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The stationary law of contexts, oldest symbol as the leading digit.
    pub fn stationary(&self) -> Vec<f64> {
        let rows = self.joints[self.order].chunks_exact(self.vocabulary);
        rows.map(|row| row.iter().sum()).collect()
    }

    /// The law of the symbol after `past`, of which at most the last k symbols count; with fewer, the
    /// stationary law given those.
    ///
    /// # Panics
    /// When a symbol is not below V.
    pub fn next(&self, past: &[u16]) -> &[f64] {
        let known = past.len().min(self.order);
        let context = past[past.len() - known..]
            .iter()
            .fold(0, |s, x| s * self.vocabulary + usize::from(*x));
        let from = context * self.vocabulary;
        &self.conditionals[known][from..from + self.vocabulary]
    }

    /// H(next | j symbols before it) in nats, for j = 0 ..= k: the entropy of one symbol first, the
    /// entropy rate last. They never grow with j.
    pub fn entropies(&self) -> Vec<f64> {
        let tables = self.joints.iter().zip(&self.conditionals);
        tables
            .map(|(joint, law)| {
                let terms = joint.iter().zip(law);
                -terms
                    .filter(|(p, _)| **p > 0.0)
                    .map(|(p, q)| p * q.ln())
                    .sum::<f64>()
            })
            .collect()
    }

    /// Nats per symbol that nobody can do without: H(next | the k symbols before it).
    pub fn entropy_rate(&self) -> f64 {
        // There are k + 1 of them.
        self.entropies()[self.order]
    }

    /// The least expected loss per token over windows of `context` symbols and the one after them, of
    /// which nothing before is seen: the first symbols of a window have fewer than k before them.
    pub fn least_loss(&self, context: usize) -> f64 {
        let entropies = self.entropies();
        let at = |seen: usize| entropies[seen.min(self.order)];
        (1..=context).map(at).sum::<f64>() / context as f64
    }

    /// Mean loss (nats per token) of the chain's own law over one such window: of all predictors it has
    /// the least expectation, [`MarkovChain::least_loss`].
    ///
    /// # Panics
    /// When a symbol is not below V.
    pub fn loss(&self, window: &[u16]) -> f64 {
        let count = window.len().saturating_sub(1);
        let one = |t: usize| -self.next(&window[..t])[usize::from(window[t])].ln();
        (1..=count).map(one).sum::<f64>() / count as f64
    }
}

/// V^k, if it can be computed with.
///
/// # Errors
/// Names the order or the vocabulary.
pub fn contexts(vocabulary: usize, order: usize) -> Result<usize> {
    if order == 0 {
        let allowed =
            "must be 1 or 2, or more with few symbols; the next token depends on so many before it";
        return Err(Error::invalid("order", 0, allowed));
    }
    // Symbols are 16-bit numbers, of which there are more than contexts.
    if vocabulary < 2 {
        let allowed = "must be at least 2; one symbol says nothing";
        return Err(Error::invalid("vocabulary", vocabulary, allowed));
    }
    let power = u32::try_from(order).ok();
    let all = power.and_then(|k| vocabulary.checked_pow(k));
    all.filter(|n| *n <= MOST_CONTEXTS).ok_or_else(|| {
        let allowed = format!(
            "must be such that vocabulary^order is at most {MOST_CONTEXTS} (order is {order}); the exact \
             entropies need every context"
        );
        Error::invalid("vocabulary", vocabulary, allowed)
    })
}

/// Rows scaled to sum 1. A context that never occurs keeps zeros.
fn normalised(joint: &[f64], vocabulary: usize) -> Vec<f64> {
    let mut law = joint.to_vec();
    for row in law.chunks_exact_mut(vocabulary) {
        let sum: f64 = row.iter().sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|p| *p /= sum);
        }
    }
    law
}

/// The stationary law by the elimination of Grassmann, Taksar and Heyman (1985): without a subtraction,
/// hence every entry to nearly full relative accuracy, however slowly the chain mixes.
fn stationary(vocabulary: usize, rows: &[f64], n: usize) -> Result<Vec<f64>> {
    let mut a = vec![0.0; n * n];
    for (s, row) in rows.chunks_exact(vocabulary).enumerate() {
        for (c, p) in row.iter().enumerate() {
            a[s * n + (s * vocabulary + c) % n] += p;
        }
    }
    for m in (1..n).rev() {
        let (above, last) = a.split_at_mut(m * n);
        let last = &last[..m];
        let out: f64 = last.iter().sum();
        if out <= 0.0 {
            return Err(Error::invalid(
                "rows",
                format!("without a way from context {m} to those before it"),
                "must be such that context 0 is reached from every other; else there may be several \
                 stationary laws",
            ));
        }
        for row in above.chunks_exact_mut(n) {
            row[m] /= out;
            let share = row[m];
            if share > 0.0 {
                row[..m]
                    .iter_mut()
                    .zip(last)
                    .for_each(|(x, y)| *x += share * y);
            }
        }
    }
    let mut law = vec![1.0];
    for m in 1..n {
        let mass = law.iter().enumerate().map(|(i, p)| p * a[i * n + m]).sum();
        law.push(mass);
    }
    let sum: f64 = law.iter().sum();
    law.iter_mut().for_each(|p| *p /= sum);
    Ok(law)
}
