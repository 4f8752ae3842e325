//! The closed form of this room.

use crate::quantities::{SCALE, TOKENS};
use attnlab::formula::Formula;
use attnlab::prelude::*;

/// Closed forms that `attnlab eval` knows.
pub fn all() -> Vec<Formula> {
    vec![Formula {
        id: "own.support",
        doc: "expected support of sparsemax on independent exponential scores",
        source: "Notes on the support of sparsemax, Proposition 1",
        schema: || vec![TOKENS.required(), SCALE.required()],
        value: |p| Ok(expected_support(p).into()),
    }]
}

/// E min(n, 1 + P) with P a Poisson number of mean 1/β.
pub fn expected_support(params: &Params) -> f64 {
    let (most, mean) = (params.get(TOKENS) - 1, params.get(SCALE).recip());
    // E min(P, m) = λ P(P < m) + m P(P > m), with each P(P = j) from its logarithm: e^-λ underflows.
    let (mut log_mass, mut below) = (-mean, 0.0);
    for j in 0..most {
        below += log_mass.exp();
        log_mass += (mean / (j + 1) as f64).ln();
    }
    let above = 1.0 - below - log_mass.exp();
    1.0 + mean * below + most as f64 * above.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_support_is_that_of_small_cases() {
        let support =
            |tokens: usize, scale: f64| expected_support(&Params::from_iter([TOKENS.is(tokens), SCALE.is(scale)]));
        // One score; two, of which the second counts unless P = 0; so many that nothing is cut off.
        assert_eq!(support(1, 0.3), 1.0);
        assert!((support(2, 0.5) - (2.0 - (-2.0_f64).exp())).abs() < 1e-15);
        assert!((support(500, 0.1) - 11.0).abs() < 1e-12);
        // Scores that hardly differ are all in the support.
        assert!((support(5, 1e-4) - 5.0).abs() < 1e-12);
    }
}
