//! The merging of the closest pair of clusters: as printed (`printed`), and what holds (`corrected`).

mod corrected;
mod printed;

pub use corrected::{Duration, PairPath};
pub use printed::{Clock, Contact, Masses};

use crate::quantities::{ANGLE, BETA, CLUSTERS, DIM, GAP, MASS_I, MASS_J};
use attnlab_core::rng::Generator;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::VectorField;
use attnlab_theory::particles::{Normalisation, ParticleFlow, Particles, of_state, to_state};
use ndarray::{Array1, Array2};

/// Draws after which the search for a place of a cluster ends.
const ATTEMPTS: usize = 4000;

/// Placements behind the hypothesis that there is room.
const PILOT: u64 = 5;

/// Error of the integrator over a path.
const ROUNDING: f64 = 1e-6;

/// SA in the rescaled time dt = e^{β(1 − ρ(t))} ds with the present inner product ρ of the pair, the first two tokens. The
/// last coordinate is the time in the printed unit, e^{β(1 − ρ_0)}: its rate is e^{−β(ρ(t) − ρ_0)}. Nothing grows with β, as
/// it would in the printed unit.
pub(crate) struct Rescaled {
    flow: ParticleFlow,
    n: usize,
    beta: f64,
    start: f64,
}

impl VectorField for Rescaled {
    fn dim(&self) -> usize {
        self.flow.dim() + 1
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let tokens = self.flow.dim();
        self.flow.rate(&x[..tokens], &mut out[..tokens]);
        let now = cosine(&x[..tokens], self.n);
        let factor = (self.beta * (1.0 - now)).exp();
        out[..tokens].iter_mut().for_each(|v| *v *= factor);
        out[tokens] = (-self.beta * (now - self.start)).exp();
    }
}

/// Returns the time in the printed unit, e^{β(1 − ρ_0)}, the last coordinate of a state.
pub(crate) fn printed_time(state: &[f64]) -> f64 {
    state.last().copied().unwrap_or(f64::NAN)
}

/// Computes the inner product of the pair in a state of n tokens, with or without the time behind them.
pub(crate) fn cosine(state: &[f64], n: usize) -> f64 {
    let (mut dot, mut a, mut b) = (0.0, 0.0, 0.0);
    for row in state.chunks_exact(n) {
        dot += row[0] * row[1];
        a += row[0] * row[0];
        b += row[1] * row[1];
    }
    dot / f64::sqrt(a * b)
}

pub(crate) fn angle(state: &[f64], n: usize) -> f64 {
    cosine(state, n).clamp(-1.0, 1.0).acos()
}

fn parameters(mass_i: f64, mass_j: f64) -> Schema {
    vec![
        BETA.within(Domain::closed(1.0, 400.0)).or(60.0),
        ANGLE.within(Domain::closed(0.3, 1.5)).or(0.8),
        MASS_I.within(Domain::closed(0.01, 1.0)).or(mass_i),
        MASS_J.within(Domain::closed(0.01, 1.0)).or(mass_j),
        CLUSTERS.within(Domain::Whole(2, 6)).or(4),
        DIM.within(Domain::Whole(2, 16)).or(3),
        GAP.within(Domain::left_open(0.0, 1.5)).or(0.3),
    ]
}

/// Clusters with the pair at its angle, and all other inner products smaller by the gap at least.
pub(crate) struct Setting {
    pub(crate) state: Vec<f64>,
    masses: Array1<f64>,
    n: usize,
    d: usize,
}

/// Places the clusters; None where there is no room for them.
pub(crate) fn place(params: &Params, rng: &mut Generator) -> Result<Option<Setting>> {
    let (n, d) = (params.get(CLUSTERS), params.get(DIM));
    let largest = params.get(ANGLE).cos() - params.get(GAP);
    let first = crate::setting::uniform(d, 2, rng)?;
    let (e, f) = (first.column(0).to_owned(), first.column(1).to_owned());
    let f = &f - &(&e * e.dot(&f));
    let f = &f / f.dot(&f).sqrt();
    let second = &e * params.get(ANGLE).cos() + &f * params.get(ANGLE).sin();
    let mut clusters = vec![e, second];
    for _ in 0..ATTEMPTS {
        if clusters.len() == n {
            break;
        }
        let cluster = crate::setting::uniform(d, 1, rng)?.column(0).to_owned();
        if clusters.iter().all(|x| x.dot(&cluster) <= largest) {
            clusters.push(cluster);
        }
    }
    if clusters.len() < n {
        return Ok(None);
    }
    let tokens = Array2::from_shape_fn((d, n), |(c, i)| clusters[i][c]);
    let (a, b) = (params.get(MASS_I), params.get(MASS_J));
    let mut masses = Array1::from_elem(n, 0.5 * (a + b));
    (masses[0], masses[1]) = (a, b);
    let total = masses.sum();
    let mut state = to_state(tokens.view());
    // The time.
    state.push(0.0);
    Ok(Some(Setting { state, masses: masses / total, n, d }))
}

impl Setting {
    /// Makes the flow of the clusters in the rescaled time.
    pub(crate) fn field(&self, params: &Params) -> Result<Rescaled> {
        let beta = params.get(BETA);
        let flow = Particles::new(beta, Normalisation::Softmax).weighted(self.masses.clone()).flow(self.n, self.d)?;
        Ok(Rescaled { flow, n: self.n, beta, start: params.get(ANGLE).cos() })
    }

    /// Computes the largest distance of another cluster from its place at the start.
    fn moved(&self, state: &[f64]) -> Result<f64> {
        let (now, then) =
            (of_state(&state[..self.n * self.d], self.n)?, of_state(&self.state[..self.n * self.d], self.n)?);
        let apart = (2..self.n).map(|k| {
            let step = &now.column(k) - &then.column(k);
            step.dot(&step).sqrt()
        });
        Ok(apart.fold(0.0, f64::max))
    }
}

/// Returns the hypothesis that there is room for the clusters: all placements of a pilot with streams of its own succeed.
fn room(params: &Params) -> Hypothesis {
    let params = equal_masses(params);
    let placed = |i: &u64| {
        let mut rng = Streams::new(0, "cluster.pilot", 0, *i).part("clusters", 0);
        matches!(place(&params, &mut rng), Ok(Some(_)))
    };
    let share = (0..PILOT).filter(placed).count() as f64 / PILOT as f64;
    let printed = "[here: random places with the gap g are found for all clusters]";
    Hypothesis::new("room for the clusters", printed, share - 1.0)
}

fn equal_masses(params: &Params) -> Params {
    let given = params.as_json().iter().map(|(name, value)| (name.clone(), value.clone()));
    given.chain([MASS_I.is(1.0), MASS_J.is(1.0)]).collect()
}

fn no_room() -> Outcome {
    Outcome::uninformative("no room for so many clusters at this gap", Witness::new())
}

/// Bounds the change of angles by what the limit β → ∞ leaves out, until the pair's angle is `end` at the rescaled
/// time s: the weight of the pair in its own denominators, and the other clusters.
fn left_out(params: &Params, end: f64, s: f64) -> f64 {
    let (beta, a, b) = (params.get(BETA), params.get(MASS_I), params.get(MASS_J));
    let ratio = (a / b).max(b / a);
    let pair = (-beta * (1.0 - end.cos())).exp();
    let others = params.real(CLUSTERS) * (-beta * params.get(GAP)).exp();
    2.0 * ratio * ratio * (pair + others) * s
}

#[cfg(test)]
#[test]
fn the_clusters_keep_their_gap() {
    let params = Params::resolve(&parameters(0.1, 0.3), serde_json::json!({}).as_object().unwrap()).unwrap();
    let mut rng = Streams::new(1, "pair", 0, 0).part("clusters", 0);
    let setting = place(&params, &mut rng).unwrap().unwrap();
    assert!((angle(&setting.state, setting.n) - 0.8).abs() < 1e-12);
    let tokens = of_state(&setting.state[..12], setting.n).unwrap();
    let gram = tokens.t().dot(&tokens);
    let close = gram.indexed_iter().filter(|((i, j), _)| i < j && (*i, *j) != (0, 1));
    assert!(close.into_iter().all(|(_, g)| *g <= 0.8_f64.cos() - 0.3));
    assert!((setting.masses.sum() - 1.0).abs() < 1e-15);
}
