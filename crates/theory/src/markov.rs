//! Stationary Markov chains over a finite alphabet, and their entropies. Texts drawn from them have a known least loss.

use attnlab_core::error::{Error, Result, require, require_shape};

/// Largest number of contexts of a chain, vocabulary^order: the elimination that computes the stationary
/// law takes its cube in operations, a second at this size.
pub const MOST_CONTEXTS: usize = 1024;

/// Largest distance from 1 of the sum of a row: the rounding error of a row that was normalised elsewhere.
const SUM: f64 = 1e-9;

/// A chain of order k over V symbols with its stationary law. A context is the last k symbols, oldest
/// first, read as a number in base V.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovChain {
    vocabulary: usize,
    order: usize,
    /// Joint laws; entry j is that of j symbols and the one after them, (V^j, V) row by row.
    joints: Vec<Vec<f64>>,
    /// Conditional laws; entry j is that of the next symbol given the j before it, (V^j, V) row by row.
    conditionals: Vec<Vec<f64>>,
}

impl MarkovChain {
    /// Makes the chain whose row s, `rows[s V .. (s + 1) V]`, is the law of the symbol after context s.
    ///
    /// # Errors
    /// If there are no symbols, the order is 0, there are too many contexts, a row is not a probability law, or the
    /// chain cannot return to context 0 from every other: it may then have several stationary laws.
    ///
    /// ```
    /// use attnlab_theory::markov::MarkovChain;
    /// // Two symbols that stay with probability .9 and .6: the second has 1/5 of the time.
    /// let chain = MarkovChain::new(2, 1, vec![0.9, 0.1, 0.4, 0.6])?;
    /// // The roundings of the rows, half an ε each, come out times 1/(1 - .5), .5 the second eigenvalue.
    /// assert!((chain.stationary()[1] - 0.2).abs() < 16.0 * f64::EPSILON);
    /// // H = .8 H(.1) + .2 H(.4) nats.
    /// assert!((chain.entropy_rate() - 0.394_668_712_1).abs() < 1e-9);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(vocabulary: usize, order: usize, rows: Vec<f64>) -> Result<Self> {
        let contexts = contexts(vocabulary, order)?;
        let expected = format!("{contexts} rows of {vocabulary}");
        require_shape(rows.len() == contexts * vocabulary, "rows", [rows.len()], expected)?;
        for (s, row) in rows.chunks_exact(vocabulary).enumerate() {
            let sum: f64 = row.iter().sum();
            // A NaN is in no range, and its sum is not near 1.
            if !(row.iter().all(|p| (0.0..=1.0).contains(p)) && (sum - 1.0).abs() < SUM) {
                let allowed = "must be probabilities that sum to 1";
                return Err(Error::invalid(format!("row {s}"), format!("{row:?}"), allowed));
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
            // The oldest symbol is the leading digit, so dropping it adds up blocks of the table.
            let shorter = joint.len() / vocabulary;
            let (first, rest) = joint.split_at_mut(shorter);
            for block in rest.chunks_exact(shorter) {
                first.iter_mut().zip(block).for_each(|(a, b)| *a += b);
            }
            joint.truncate(shorter);
            joints.push(joint.clone());
        }
        joints.reverse();
        let conditionals = joints[..order].iter().map(|joint| normalised(joint, vocabulary)).chain([rows]).collect();
        Ok(MarkovChain { vocabulary, order, joints, conditionals })
    }

    /// Returns the number V of symbols.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Returns the order k.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Returns the stationary law of contexts (V^k,), with the oldest symbol as the leading digit.
    pub fn stationary(&self) -> Vec<f64> {
        self.joints[self.order].chunks_exact(self.vocabulary).map(|row| row.iter().sum()).collect()
    }

    /// Returns the law of the symbol after `past` (V,). Only the last k symbols of `past` count; if there
    /// are fewer, it is the stationary law given those.
    ///
    /// # Panics
    /// If a symbol is not below V.
    pub fn next(&self, past: &[u16]) -> &[f64] {
        let known = past.len().min(self.order);
        let context = past[past.len() - known..].iter().fold(0, |s, x| s * self.vocabulary + usize::from(*x));
        &self.conditionals[known][context * self.vocabulary..][..self.vocabulary]
    }

    /// Computes H(next | j symbols before it) in nats, for j = 0 ..= k: the entropy of one symbol first,
    /// the entropy rate last. The values do not increase with j.
    pub fn entropies(&self) -> Vec<f64> {
        let entropy = |(joint, law): (&Vec<f64>, &Vec<f64>)| {
            -joint.iter().zip(law).filter(|(p, _)| **p > 0.0).map(|(p, q)| p * q.ln()).sum::<f64>()
        };
        self.joints.iter().zip(&self.conditionals).map(entropy).collect()
    }

    /// Computes the entropy rate H(next | the k symbols before it), in nats per symbol: the least loss of
    /// any predictor with a full context.
    pub fn entropy_rate(&self) -> f64 {
        // The list has k + 1 entries.
        self.entropies()[self.order]
    }

    /// Computes the least expected loss, in nats per token, over windows of `context` symbols and the one after them,
    /// if nothing before the window is known: its first symbols have fewer than k before them.
    pub fn least_loss(&self, context: usize) -> f64 {
        let entropies = self.entropies();
        (1..=context).map(|before| entropies[before.min(self.order)]).sum::<f64>() / context as f64
    }

    /// Computes the mean loss, in nats per token, of the chain's own law over one such window. Of all
    /// predictors it has the least expectation, [`MarkovChain::least_loss`].
    ///
    /// # Panics
    /// If a symbol is not below V.
    pub fn loss(&self, window: &[u16]) -> f64 {
        let count = window.len().saturating_sub(1);
        (1..=count).map(|t| -self.next(&window[..t])[usize::from(window[t])].ln()).sum::<f64>() / count as f64
    }
}

/// Computes the number V^k of contexts.
///
/// # Errors
/// [`Error::Invalid`] if order or vocabulary is out of range, or there are more than [`MOST_CONTEXTS`]
/// contexts.
pub fn contexts(vocabulary: usize, order: usize) -> Result<usize> {
    let allowed = "must be 1 or 2, or more with few symbols; it is the length of the context";
    require(order > 0, "order", order, allowed)?;
    // Symbols are 16-bit numbers, whose range exceeds the largest number of contexts.
    require(vocabulary >= 2, "vocabulary", vocabulary, "must be at least 2; a single symbol has entropy 0")?;
    let count = u32::try_from(order).ok().and_then(|k| vocabulary.checked_pow(k));
    count.filter(|n| *n <= MOST_CONTEXTS).ok_or_else(|| {
        let allowed = format!(
            "must be such that vocabulary^order is at most {MOST_CONTEXTS} (order is {order}); the exact \
             entropies need every context"
        );
        Error::invalid("vocabulary", vocabulary, allowed)
    })
}

/// Scales rows to sum 1. A context of probability 0 keeps zeros.
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

/// Computes the stationary law by the elimination of Grassmann, Taksar and Heyman (1985). It needs no
/// subtraction, so that every entry has nearly full relative accuracy, however slowly the chain mixes.
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
        let allowed = "must be such that context 0 is reached from every other; otherwise there may be several \
                       stationary laws";
        require(out > 0.0, "rows", format!("without a path from context {m} to an earlier one"), allowed)?;
        for row in above.chunks_exact_mut(n) {
            row[m] /= out;
            let share = row[m];
            if share > 0.0 {
                row[..m].iter_mut().zip(last).for_each(|(x, y)| *x += share * y);
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
