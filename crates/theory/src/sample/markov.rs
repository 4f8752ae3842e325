//! Texts of known entropy rate: Markov chains with random transitions, and sequences drawn from them.

use crate::markov::{MarkovChain, contexts};
use attnlab_core::error::{Error, Result, require};
use attnlab_core::rng::{Generator, Streams};
use rand::RngExt;
use rand_distr::{Distribution, Gamma};

/// Least concentration a. A Gamma(a) variable is about U^(1/a), and the 20th power of a 53-bit U is still
/// above the least positive f64, so that no transition rounds to zero.
pub const LEAST_CONCENTRATION: f64 = 0.05;

/// Checks that rows of a chain can be drawn with this concentration.
///
/// # Errors
/// [`Error::Invalid`] if it is below [`LEAST_CONCENTRATION`] or not
/// finite.
pub fn check_concentration(concentration: f64) -> Result<()> {
    let allowed = format!("must be a finite number >= {LEAST_CONCENTRATION}; below, transitions round to zero");
    let holds = concentration >= LEAST_CONCENTRATION && concentration.is_finite();
    require(holds, "concentration", concentration, allowed)
}

/// Draws a chain whose rows are independent Dirichlet(a, .., a) with a = `concentration`: nearly
/// deterministic for small a, nearly uniform for large a.
///
/// # Errors
/// If the concentration, the vocabulary or the order is out of range, or as [`MarkovChain::new`].
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::markov;
/// let streams = Streams::new(1, "doc", 0, 0);
/// let chain = markov::dirichlet(8, 2, 0.3, &streams)?;
/// let h = chain.entropies();
/// assert!(h.len() == 3 && h[0] > h[1] && h[1] > h[2]);
/// let text = markov::draw(&chain, 1000, &streams);
/// assert!(text.len() == 1000 && text.iter().all(|x| *x < 8));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn dirichlet(vocabulary: usize, order: usize, concentration: f64, streams: &Streams) -> Result<MarkovChain> {
    check_concentration(concentration)?;
    let mut rows = Vec::with_capacity(contexts(vocabulary, order)? * vocabulary);
    let gamma =
        Gamma::new(concentration, 1.0).map_err(|e| Error::invalid("concentration", concentration, e.to_string()))?;
    let mut rng = streams.part("transitions", 0);
    for _ in 0..contexts(vocabulary, order)? {
        let row: Vec<f64> = (0..vocabulary).map(|_| gamma.sample(&mut rng)).collect();
        let sum: f64 = row.iter().sum();
        rows.extend(row.iter().map(|x| x / sum));
    }
    MarkovChain::new(vocabulary, order, rows)
}

/// Draws a text of `length` symbols from the stationary chain.
pub fn draw(chain: &MarkovChain, length: usize, streams: &Streams) -> Vec<u16> {
    let mut rng = streams.part("text", 0);
    let mut text: Vec<u16> = Vec::with_capacity(length);
    for t in 0..length {
        // With fewer than k symbols so far, the next one is drawn from its stationary law given those.
        let next = chosen(chain.next(&text[t.saturating_sub(chain.order())..]), &mut rng);
        text.push(next);
    }
    text
}

/// Returns the symbol whose share of [0, 1) contains a uniform number; the last symbol of positive
/// probability if rounding leaves the sum of the shares below 1.
fn chosen(law: &[f64], rng: &mut Generator) -> u16 {
    let u: f64 = rng.random();
    let mut below = 0.0;
    let symbol = law.iter().position(|p| {
        below += p;
        u < below
    });
    let last = || law.iter().rposition(|p| *p > 0.0).unwrap_or(0);
    // There are at most `MOST_CONTEXTS` symbols, which fit into 16 bits.
    symbol.unwrap_or_else(last) as u16
}
