//! MSSA is multi-head self-attention with tied weights: AoT (ICML 2025), after Eq. (5).

use crate::quantities::*;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mhsa, Mssa, Phi};
use attnlab_theory::sample::{Bases, Mixture};

/// W_Q^k = W_K^k = W_V^k = U_kᵀ and W_O = [U_1 .. U_K] turn MHSA into MSSA.
#[derive(Clone, Copy, Debug, Default)]
pub struct MssaIsMhsa {
    /// The mutant: scores divided by √p, as attention layers usually do.
    scaled: bool,
    /// The mutant: W_O transposes the order of the heads.
    swapped: bool,
}

impl Claim for MssaIsMhsa {
    fn sheet(&self) -> &'static Sheet {
        sheet!("aot.mssa_is_mhsa")
    }

    fn schema(&self) -> Schema {
        vec![
            TOKENS.meaning("number of tokens").or(60),
            CLUSTERS.meaning("number of heads").or(3),
            DIM.or(8),
            DELTA.or(0.2),
            ETA.or(0.5),
            PHI.or("softmax"),
            TAU.meaning("threshold, where φ has one").or(0.55),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        let [n, k, p] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q) as u64);
        let d = k.saturating_mul(p);
        // Scores, weights and one copy of them; tokens before and after, bases and heads.
        let square = n.saturating_mul(n).saturating_mul(3);
        let tokens = n.saturating_add(d).saturating_mul(d).saturating_mul(8);
        square.saturating_add(tokens).saturating_mul(8)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (p, eta) = (params.get(DIM), params.get(ETA));
        let phi = Phi::parse(params.get(PHI), params.get(TAU))?;
        let (n, k) = (params.get(TOKENS), params.get(CLUSTERS));
        let mut mixture = Mixture::balanced(n, k, p, params.get(DELTA))?;
        // The identity is algebra: it must not need orthogonal subspaces.
        mixture.bases = Bases::Independent;
        let draw = mixture.draw(streams)?;
        let mssa = Mssa::new(phi.clone(), eta).apply(draw.tokens.view(), &draw.bases)?;
        let mut tied = Mhsa::tied(&draw.bases, phi, eta)?;
        if self.scaled {
            tied.scale = 1.0 / (p as f64).sqrt();
        }
        if self.swapped {
            tied.w_v.rotate_left(1);
        }
        let mhsa = tied.apply(draw.tokens.view())?;
        let largest = mssa.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let gap = (&mssa - &mhsa).iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        Ok(Outcome::Gap {
            lhs: gap,
            rhs: 0.0,
            // Two orders of summation over d, p and N terms of the size of the result: a few
            // hundred rounding errors, amplified by the slope of φ in scores of size p.
            tol: 1e4 * f64::EPSILON * largest * p as f64,
            relation: Relation::Equal,
            witness: witness! { "largest_difference" => gap, "largest_entry" => largest },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "scaled",
                MssaIsMhsa {
                    scaled: true,
                    ..*self
                },
            ),
            Mutant::new(
                "swapped",
                MssaIsMhsa {
                    swapped: true,
                    ..*self
                },
            ),
        ]
    }
}
