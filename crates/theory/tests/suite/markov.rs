//! Tests of Markov chains: stationary laws and entropies against numpy, draws against both.

use attnlab_core::rng::Streams;
use attnlab_core::stats;
use attnlab_theory::markov::MarkovChain;
use attnlab_theory::sample::markov::{dirichlet, draw};
use proptest::prelude::*;

fn close(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len());
    for (f, e) in values.iter().zip(expected) {
        assert!((f - e).abs() < 1e-14, "{values:?} {expected:?}");
    }
}

/// numpy 2, by eigenvectors instead of elimination, for rows of order k over V symbols:
///
/// ```python
/// S = V**k; P = np.zeros((S, S))
/// for s in range(S):
///     for c in range(V): P[s, (s*V + c) % S] += rows[s][c]
/// w, v = np.linalg.eig(P.T); pi = np.real(v[:, np.argmax(w.real)]); pi /= pi.sum()
/// for j in range(k + 1):
///     J = np.zeros((V**j, V))
///     for s in range(S): J[s % V**j] += pi[s] * np.array(rows[s])
///     print(-(J * np.log(J / J.sum(1, keepdims=True))).sum())
/// ```
#[test]
fn laws_and_entropies_are_numpy_s() {
    let rows = vec![0.9, 0.1, 0.3, 0.7, 0.5, 0.5, 0.2, 0.8];
    let chain = MarkovChain::new(2, 2, rows).unwrap();
    let law = [0.4761904761904768, 0.09523809523809518, 0.0952380952380951, 0.3333333333333328];
    close(&chain.stationary(), &law);
    let entropies = [0.6829081047004715, 0.4844804903768829, 0.4457937935195938];
    close(&chain.entropies(), &entropies);
    // Of two predictions, the first sees one symbol and the second two.
    close(&[chain.least_loss(2)], &[(entropies[1] + entropies[2]) / 2.0]);
    let chain = MarkovChain::new(3, 1, vec![0.5, 0.25, 0.25, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4]).unwrap();
    close(&chain.stationary(), &[0.230769230769231, 0.5769230769230766, 0.19230769230769226]);
    close(&chain.entropies(), &[0.9727696382494828, 0.8180116306353186]);
}

/// Computed by hand: a chain that changes its symbol with probability a or b has the law (b, a) / (a +
/// b), exactly, also for tiny a and b.
#[test]
fn a_slow_chain_keeps_its_digits() {
    let (a, b) = (1e-12, 3e-12);
    let chain = MarkovChain::new(2, 1, vec![1.0 - a, a, b, 1.0 - b]).unwrap();
    close(&chain.stationary(), &[0.75, 0.25]);
}

/// The chain's own law has its entropy rate as loss per token, up to sampling error; another law of the
/// same kind has a larger loss. The test thus detects a wrong entropy, sampler or loss.
#[test]
fn a_drawn_text_costs_its_entropy_rate() {
    let streams = Streams::new(7, "markov", 0, 0);
    for (vocabulary, order) in [(12, 1), (12, 2), (4, 3)] {
        let chain = dirichlet(vocabulary, order, 0.3, &streams).unwrap();
        let text = draw(&chain, 200_000, &streams);
        let windows: Vec<&[u16]> = text.windows(101).step_by(100).collect();
        let losses: Vec<f64> = windows.iter().map(|w| chain.loss(w)).collect();
        let estimate = stats::mean(&losses, 0.999).unwrap();
        assert!(estimate.covers(chain.least_loss(100)), "{estimate:?} {}", chain.least_loss(100));
        let other = dirichlet(vocabulary, order, 0.3, &streams.child("other", 0)).unwrap();
        let losses: Vec<f64> = windows.iter().map(|w| other.loss(w)).collect();
        assert!(stats::mean(&losses, 0.999).unwrap().low > estimate.high + 0.5);
        // Frequencies of single symbols cost the entropy of one.
        let mut counts = vec![0.0; vocabulary];
        text.iter().for_each(|x| counts[usize::from(*x)] += 1.0);
        let share = counts.iter().map(|c| c / text.len() as f64);
        let entropy: f64 = share.filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum();
        assert!((entropy - chain.entropies()[0]).abs() < 0.01);
    }
}

#[test]
fn what_is_no_chain_is_named() {
    let message = |v, k, rows: &[f64]| MarkovChain::new(v, k, rows.to_vec()).unwrap_err().to_string();
    for (text, expected) in [
        (message(2, 0, &[]), "order = 0: must be 1 or 2, or more with few symbols; it is the length of the context"),
        (message(1, 1, &[1.0]), "vocabulary = 1: must be at least 2; a single symbol has entropy 0"),
        (
            message(33, 2, &[]),
            "vocabulary = 33: must be such that vocabulary^order is at most 1024 (order is 2); the \
             exact entropies need every context",
        ),
        (
            message(2, usize::MAX, &[]),
            "vocabulary = 2: must be such that vocabulary^order is at most 1024 (order is \
             18446744073709551615); the exact entropies need every context",
        ),
        (message(2, 1, &[0.5, 0.5]), "rows has shape [2], expected 2 rows of 2"),
        (message(2, 1, &[0.5, 0.5, 0.7, 0.2]), "row 1 = [0.7, 0.2]: must be probabilities that sum to 1"),
        (message(2, 1, &[0.5, 0.5, f64::NAN, 0.2]), "row 1 = [NaN, 0.2]: must be probabilities that sum to 1"),
        (
            message(2, 1, &[1.0, 0.0, 0.0, 1.0]),
            "rows = without a path from context 1 to an earlier one: must be such that context 0 is \
             reached from every other; otherwise there may be several stationary laws",
        ),
    ] {
        assert_eq!(text, expected);
    }
    for bad in [0.0, 0.049, -1.0, f64::NAN, f64::INFINITY] {
        let error = dirichlet(4, 1, bad, &Streams::new(1, "markov", 0, 0)).unwrap_err().to_string();
        assert!(error.starts_with("concentration = "), "{error}");
    }
    // At the least concentration every transition is still possible.
    let least = dirichlet(32, 2, 0.05, &Streams::new(1, "markov", 0, 0)).unwrap();
    assert!(least.stationary().iter().all(|p| *p > 0.0));
}

proptest! {
    #[test]
    fn laws_are_stationary_and_entropies_fall(
        vocabulary in 2_usize..7,
        order in 1_usize..4,
        concentration in 0.05_f64..3.0,
        seed in 0_u64..1000,
    ) {
        let chain = dirichlet(vocabulary, order, concentration, &Streams::new(seed, "markov", 0, 0)).unwrap();
        let law = chain.stationary();
        prop_assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut after = vec![0.0; law.len()];
        for (s, share) in law.iter().enumerate() {
            let digits = |i: usize| (s / vocabulary.pow(i as u32)) % vocabulary;
            let past: Vec<u16> = (0..order).rev().map(|i| digits(i) as u16).collect();
            for (c, p) in chain.next(&past).iter().enumerate() {
                after[(s * vocabulary + c) % law.len()] += share * p;
            }
        }
        for (a, b) in law.iter().zip(&after) {
            prop_assert!((a - b).abs() < 1e-12);
        }
        let entropies = chain.entropies();
        prop_assert!(entropies[0] <= (vocabulary as f64).ln() + 1e-12);
        prop_assert!(entropies.windows(2).all(|h| h[1] <= h[0] + 1e-12));
        let least = chain.least_loss(9);
        prop_assert!(chain.entropy_rate() - 1e-12 <= least && least <= entropies[1] + 1e-12);
    }
}
