//! The number of first clusters on the circle.

mod pictures;

use super::arcs::{Arc, arcs};
use crate::PAPERS;
use crate::quantities::{BETA, MODEL, TOKENS};
use crate::setting::{model, uniform};
use crate::theory::modes;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField};
use attnlab_theory::particles::{Normalisation, ParticleFlow, Particles, of_state, to_state};
use std::f64::consts::TAU;

settings! {
    /// The number of first clusters beside the mode that grows fastest.
    #[experiment("cluster.first", rows = "cluster_first",
        title = "Number of first clusters on the circle and the fastest mode")]
    #[source(&PAPERS[4], "circle")]
    pub struct FirstClusters {
        pub trials: u64 = spread,
        pub tokens: usize = whole(2..),
        pub betas: Vec<f64> = positive,
        pub tight: f64 = positive,
        pub share: f64 = within("(0, 1]"),
    }
}

/// Gap between two clusters in units of 2π/√(2β): tokens closer than it belong together.
const LINK: f64 = 0.125;

/// Time between two looks in units of 1/(rate of the fastest mode).
const LOOK: f64 = 0.25;

/// Number of looks after which a count is given up; clusters are there after some twenty.
const MOST_LOOKS: usize = 80;

/// Number of looks after which the flow pauses to count.
const LOOKS: usize = 10;

/// Error per step, relative: clusters are counted, not measured.
const TOLERANCE: f64 = 1e-5;

/// The flow with time in units of 1/rate: rates of USA are of order e^β.
struct InUnits {
    flow: ParticleFlow,
    rate: f64,
}

impl VectorField for InUnits {
    fn dim(&self) -> usize {
        self.flow.dim()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        self.flow.rate(x, out);
        out.iter_mut().for_each(|v| *v /= self.rate);
    }
}

impl FirstClusters {
    /// Returns the number of clusters if they hold the share of the tokens on the circle. A single token is no cluster.
    fn count(&self, angles: impl IntoIterator<Item = f64>, beta: f64) -> Option<usize> {
        let unit = TAU / (2.0 * beta).sqrt().max(1.0);
        let tight = |arc: &Arc| arc.size > 1 && arc.width <= self.tight * unit;
        let clusters: Vec<Arc> = arcs(angles, LINK * unit).into_iter().filter(tight).collect();
        let held: usize = clusters.iter().map(|arc| arc.size).sum();
        (held as f64 >= self.share * self.tokens as f64).then_some(clusters.len())
    }
}

impl Experiment for FirstClusters {
    fn cells(&self) -> Result<Vec<Params>> {
        let cells = iproduct!(Normalisation::NAMES, &self.betas)
            .map(|(model, beta)| Params::from_iter([MODEL.is(model), BETA.is(*beta), TOKENS.is(self.tokens)]));
        Ok(cells.collect())
    }

    /// "count": clusters at the first look at which they hold the share of the tokens; "time": of that look, in units of
    /// 1/(rate of the fastest mode). NaN where the last look is reached.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (model, beta, n) = (model(cell)?, cell.get(BETA), cell.get(TOKENS));
        let start = uniform(2, n, &mut streams.part("tokens", 0))?;
        let rate = modes::rate(model, beta, modes::fastest(beta));
        let field = InUnits { flow: Particles::new(beta, model).flow(n, 2)?, rate };
        let flow = Flow::new(Method::Tsit45).within(TOLERANCE);
        let (mut state, mut count, mut time) = (to_state(start.view()), f64::NAN, f64::NAN);
        for looks in (0..MOST_LOOKS).step_by(LOOKS) {
            let times: Vec<f64> = (1..=LOOKS).map(|i| LOOK * i as f64).collect();
            let path = flow.run(&field, &state, &times)?;
            let counts = path
                .states
                .iter()
                .map(|state| Ok(self.count(of_state(state, n)?.columns().into_iter().map(|x| x[1].atan2(x[0])), beta)));
            let counts: Vec<Option<usize>> = counts.collect::<Result<_>>()?;
            if let Some(first) = counts.iter().position(Option::is_some) {
                count = counts[first].map_or(f64::NAN, |clusters| clusters as f64);
                time = LOOK * (looks + first + 1) as f64;
                break;
            }
            state.clone_from(&path.states[LOOKS - 1]);
        }
        Ok(Map::from_iter([("count".into(), store::number(count)), ("time".into(), store::number(time))]))
    }

    fn memory(&self, cell: &Params) -> u64 {
        memory::product(&[8, 2, cell.get(TOKENS) as u64, LOOKS as u64])
    }

    fn size(&self) -> String {
        format!("*n* = {}, {} draws", self.tokens, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

#[cfg(test)]
#[test]
fn single_and_spread_tokens_are_no_clusters() {
    // 2π/√(2β) = π: tokens closer than .39 are linked, and a cluster is at most 1.57 wide.
    let counts = |angles: &[f64], share: f64| {
        let settings = FirstClusters { trials: 2, tokens: angles.len(), betas: vec![2.0], tight: 0.5, share };
        settings.count(angles.iter().copied(), 2.0)
    };
    assert_eq!(counts(&[0.0, 0.1, 2.0, 2.1, 4.0], 0.8), Some(2));
    assert_eq!(counts(&[0.0, 0.1, 2.0, 2.1, 4.0], 0.9), None);
    assert_eq!(counts(&[0.0, 0.35, 0.7, 1.05, 1.4, 1.75], 0.5), None);
}
