//! MSSA is multi-head self-attention with tied weights: AoT (ICML 2025), after Eq. (5).
//!
//! The two sides of a trial share no code: the MSSA side is (3) and (4) token by token, in loops over the
//! coefficients and φ on one column at a time ([`by_definition`]); the other side is the layer [`Mhsa`].

use super::setting::{PER_SECOND, mixture, seconds_of_scores};
use crate::quantities::*;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mhsa, Phi};
use attnlab_theory::sample::Bases;
use ndarray::{Array2, ArrayView1, ArrayView2};

/// W_Q^k = W_K^k = W_V^k = U_kᵀ and W_O = [U_1 .. U_K] turn MHSA into MSSA.
#[derive(Default, Serialize, Deserialize)]
pub struct MssaIsMhsa {
    /// Scores divided by √p, as attention layers usually do.
    scaled: bool,
    /// Relative excess of the scores.
    larger: f64,
    /// φ along the rows of the scores: over the queries of a key.
    rows: bool,
    /// W_V of the next head.
    swapped: bool,
}

/// Rounding errors of a sum of m terms that are counted, in units of m ε: its own, that of its terms, and the
/// same on the other side.
const ROUNDINGS: f64 = 8.0;

/// Share of the result beyond which rounding says nothing any more.
const MOST_ROUNDING: f64 = 1e-6;

/// Tokens of a user's: by the definition, some minutes at d = 768.
const MOST_TOKENS: usize = 4096;

/// A layer, with what its rounding error is relative to.
struct Layer {
    tokens: Array2<f64>,
    /// Largest sum of the moduli of the terms of one entry.
    magnitude: f64,
    /// Largest modulus of a score.
    score: f64,
}

/// One MSSA layer by its definition, (3) and (4): $z_j + \eta \sum_k U_k \sum_i y_i w_{ij}$ with $y = U_k^T z$ and
/// $w_{\cdot j}$ = φ of the scores $\langle y_i, y_j \rangle$ of column j; with `rows`, φ of those of row i.
fn by_definition(tokens: ArrayView2<f64>, bases: &[Array2<f64>], (phi, eta, rows): (&Phi, f64, bool)) -> Layer {
    let (ambient, n) = tokens.dim();
    let mut next = tokens.to_owned();
    let mut moduli = tokens.mapv(f64::abs);
    let mut score = 0.0_f64;
    for u in bases {
        let y = Array2::from_shape_fn((u.ncols(), n), |(a, j)| inner(u.column(a), tokens.column(j)));
        // U y_i and its moduli, for every key.
        let lifted = Array2::from_shape_fn((ambient, n), |(r, i)| inner(u.row(r), y.column(i)));
        for fixed in 0..n {
            let mut weights: Vec<f64> = (0..n).map(|i| inner(y.column(i), y.column(fixed))).collect();
            score = weights.iter().fold(score, |most, x| most.max(x.abs()));
            phi.apply(&mut weights);
            for (other, weight) in weights.into_iter().enumerate() {
                let (key, query) = if rows { (fixed, other) } else { (other, fixed) };
                for r in 0..ambient {
                    let term = eta * weight * lifted[[r, key]];
                    next[[r, query]] += term;
                    moduli[[r, query]] += term.abs();
                }
            }
        }
    }
    Layer { tokens: next, magnitude: moduli.iter().fold(0.0, |most, x| most.max(*x)), score }
}

fn inner(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl Claim for MssaIsMhsa {
    from_sheet!("aot.mssa_is_mhsa");

    fn schema(&self) -> Schema {
        vec![
            TOKENS.meaning("number of tokens").within(Domain::Whole(1, 1000)).or(60),
            CLUSTERS.meaning("number of heads").or(3),
            DIM.or(8),
            DELTA.or(0.2),
            ETA.or(0.5),
            PHI.or("softmax"),
            TAU.meaning("threshold, where φ has one").or(0.55),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        mixture(params).map(|_| ())
    }

    fn memory(&self, params: &Params) -> u64 {
        let [n, k, p] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q) as u64);
        let d = k.saturating_mul(p);
        // Scores, weights and one copy of them; tokens before and after, bases and heads.
        memory::total(&[&[8, 3, n, n], &[8, 8, n.saturating_add(d), d]])
    }

    fn seconds(&self, params: &Params) -> f64 {
        // Both forms in f64: two products and an exponential per score, and the projections.
        let width = params.real(CLUSTERS) * params.real(DIM);
        let projections = 8.0 * params.real(TOKENS) * width * width / PER_SECOND;
        4.0 * seconds_of_scores(params, params.real(DIM) + 300.0) + projections
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut mixture = mixture(params)?;
        // The identity is algebra: it must not need orthogonal subspaces.
        mixture.bases = Bases::Independent;
        let draw = mixture.draw(streams)?;
        self.compared(params, draw.tokens.view(), &draw.bases)
    }

    fn takes(&self) -> &'static [ArraySpec] {
        const {
            &[
                ArraySpec::one("tokens", "Z (d, N): the tokens, one per column", &[TOKENS.name, DELTA.name]),
                ArraySpec::several("bases", "U_k (d, p): one for every head", &[CLUSTERS.name, DIM.name]),
            ]
        }
    }

    fn on(&self, params: &Params, arrays: &Arrays) -> Result<Vec<Outcome>> {
        let tokens = arrays.one("tokens")?;
        let few = format!("at most {MOST_TOKENS} columns; one side is computed token by token");
        require_shape(tokens.ncols() <= MOST_TOKENS, "tokens", tokens.dim(), few)?;
        let bases = arrays.several("bases");
        for (k, u) in bases.iter().enumerate() {
            let expected = format!("(d, p) with d = {} as the tokens have rows", tokens.nrows());
            require_shape(u.nrows() == tokens.nrows(), format!("bases[{k}]"), u.dim(), expected)?;
        }
        Ok(vec![self.compared(params, tokens, bases)?])
    }
}

impl MssaIsMhsa {
    /// Compares the two sides on these tokens (d, N) with these bases (d, p).
    fn compared(&self, params: &Params, tokens: ArrayView2<f64>, bases: &[Array2<f64>]) -> Result<Outcome> {
        let eta = params.get(ETA);
        let phi = Phi::parse(params.get(PHI), params.get(TAU))?;
        let (d, n) = tokens.dim();
        let p = bases.iter().map(Array2::ncols).max().unwrap_or(0);
        let mut tied = Mhsa::tied(bases, phi.clone(), eta)?;
        tied.scale = if self.scaled { 1.0 / (p as f64).sqrt() } else { 1.0 + self.larger };
        if self.swapped {
            tied.w_v.rotate_left(1);
        }
        let mhsa = tied.apply(tokens)?;
        let mssa = by_definition(tokens, bases, (&phi, eta, self.rows));
        let gap = (&mssa.tokens - &mhsa).iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        // Sums over d, p and N terms; a score's error changes the logarithm of a weight by as much.
        let terms = (d + p + n) as f64;
        let relative = ROUNDINGS * f64::EPSILON * terms * (1.0 + mssa.score);
        let witness = witness! { "largest_difference" => gap, "largest_entry" => mssa.magnitude };
        if !(relative <= MOST_ROUNDING && gap.is_finite()) {
            return Ok(Outcome::uninformative("rounding of the scores decides the weights", witness));
        }
        Ok(Outcome::equal(gap, 0.0, relative * mssa.magnitude, witness))
    }
}
