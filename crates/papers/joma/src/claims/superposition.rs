//! Pattern superposition, Section E.4.

use super::setting::*;
use attnlab_core::linalg::haar_basis;
use ndarray::Array1;

/// One weight that holds two patterns, each behind its own query.
#[derive(Serialize, Deserialize)]
pub struct Superposition {
    printed: bool,
    /// The sign of ξ in the weight.
    sign: f64,
    /// Flag of a mutant: embeddings that overlap.
    overlapping: bool,
}

impl Superposition {
    /// The weight with -ξ, as printed.
    pub const PRINTED: Self = Superposition { printed: true, sign: -1.0, overlapping: false };
    /// The weight with +ξ, as Eq. (60) has it.
    pub const CORRECTED: Self = Superposition { printed: false, sign: 1.0, overlapping: false };
}

/// The implicit bias as a share of the least response to a matching context.
const BIAS: f64 = -0.5;
/// Inner product of the mutant's embeddings: an unrelated context responds with it times the sum of both templates,
/// about 8 at the defaults, and the bias is about -0.3.
const OVERLAP: f64 = 0.1;

impl Claim for Superposition {
    fn sheet(&self) -> &'static Sheet {
        if self.printed { sheet!("joma.superposition") } else { sheet!("joma.superposition_corrected") }
    }

    fn schema(&self) -> Schema {
        vec![PATTERN_TOKENS.or(12)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let tokens = params.get(PATTERN_TOKENS);
        let third = tokens / 3;
        let mut rng = streams.part("patterns", 0);
        // Orthonormal embeddings of all tokens and both queries; or ones that overlap.
        let embeddings: Array2<f64> = match self.overlapping {
            true => Embeddings::coherent(tokens + 2, OVERLAP, 0.0)?.context,
            false => haar_basis(tokens + 2, tokens + 2, &mut rng)?,
        };
        let mut w = Array1::<f64>::zeros(embeddings.nrows());
        for i in 0..2 {
            let template: Vec<f64> = (0..third).map(|_| rng.random_range(0.5..1.5)).collect();
            // A context of the pattern responds with a mean of the template.
            let least = template.iter().copied().fold(f64::INFINITY, f64::min);
            for (l, v) in template.iter().enumerate() {
                w.scaled_add(*v, &embeddings.column(i * third + l));
            }
            w.scaled_add(self.sign * BIAS * least, &embeddings.column(tokens + i));
        }
        let mut context = |from: usize, to: usize| {
            let mut b = Array1::<f64>::zeros(embeddings.nrows());
            for (l, share) in (from..to).zip(probabilities(to - from, 0.01, &mut rng)) {
                b.scaled_add(share, &embeddings.column(l));
            }
            b
        };
        let (mut matching, mut unrelated) = (vec![], vec![]);
        for i in 0..2 {
            let query = embeddings.column(tokens + i);
            matching.push(w.dot(&(context(i * third, (i + 1) * third) + query)));
            unrelated.push(w.dot(&(context(2 * third, tokens) + query)));
        }
        let holds = matching.iter().all(|a| *a > 0.0) && unrelated.iter().all(|a| *a < 0.0);
        Ok(Outcome::Event { holds, witness: witness! { "matching" => matching, "unrelated" => unrelated } })
    }

    fn mutants(&self) -> Vec<Mutant> {
        // Each sees the draws of the form that has its sign.
        let drawn = |mutant: Mutant| match mutant.name {
            "wrong-sign" => mutant.drawn_as("joma.superposition"),
            _ => mutant.drawn_as("joma.superposition_corrected"),
        };
        variants(self).into_iter().map(drawn).collect()
    }
}
