//! Paths of tokens on the circle and the sphere: clusters that form early and merge late.

mod pictures;

use super::{PART, cell, data, log_times};
use crate::PAPERS;
use crate::quantities::{BETA, TOKENS};
use crate::setting::uniform;
use attnlab_core::error::{Error, Result, positive};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, store};
use attnlab_theory::dynamics::flow::{Flow, Method};
use attnlab_theory::particles::{Normalisation, Particles, cosines, of_state, to_state};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectories {
    /// Independent draws per cell.
    pub trials: u64,
    /// Tokens on the circle.
    pub circle_tokens: usize,
    /// Tokens on the sphere.
    pub sphere_tokens: usize,
    /// Inverse temperatures on the circle.
    pub circle: Vec<f64>,
    /// Inverse temperatures on the sphere.
    pub sphere: Vec<f64>,
    /// Last time.
    pub until: f64,
    /// Number of times.
    pub points: usize,
    /// Angle below which two tokens are linked.
    pub link: f64,
}

/// First time shown.
const FIRST: f64 = 0.1;

impl Described for Trajectories {
    const ID: &'static str = "cluster.trajectories";
    const NAME: &'static str = "cluster_trajectories";
    const TITLE: &'static str = "Tokens on the circle and the sphere: clusters and plateaus";
    const SOURCE: Source = Source { paper: &PAPERS[1], place: "Section 5" };
}

impl Trajectories {
    fn times(&self) -> Vec<f64> {
        log_times(FIRST, self.until, self.points)
    }
}

/// Number of groups of tokens (d, n) that are linked by steps of an angle below `link`.
pub fn groups(tokens: &Array2<f64>, link: f64) -> Result<usize> {
    let gram = cosines(tokens.view())?;
    let (n, near) = (gram.nrows(), link.cos());
    let (mut group, mut count) = (vec![usize::MAX; n], 0);
    for first in 0..n {
        if group[first] != usize::MAX {
            continue;
        }
        let mut open = vec![first];
        group[first] = count;
        while let Some(i) = open.pop() {
            for j in 0..n {
                if group[j] == usize::MAX && gram[[i, j]] >= near {
                    group[j] = count;
                    open.push(j);
                }
            }
        }
        count += 1;
    }
    Ok(count)
}

/// Energy $\frac1{n^2}\sum_{ij} e^{\beta(\langle x_i, x_j\rangle - 1)}$, 1 at a single point.
fn energy(tokens: &Array2<f64>, beta: f64) -> Result<f64> {
    let gram = cosines(tokens.view())?;
    Ok(gram.iter().map(|g| (beta * (g - 1.0)).exp()).sum::<f64>() / gram.len() as f64)
}

impl Experiment for Trajectories {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        settings::some("circle", &self.circle)?;
        settings::some("sphere", &self.sphere)?;
        settings::positive("circle", &self.circle)?;
        settings::positive("sphere", &self.sphere)?;
        for (name, n) in [("circle_tokens", self.circle_tokens), ("sphere_tokens", self.sphere_tokens)] {
            attnlab_core::error::at_least(name, n, 2)?;
        }
        attnlab_core::error::at_least("points", self.points, 2)?;
        positive("link", self.link)?;
        if !(self.until > FIRST && self.until.is_finite()) {
            return Err(Error::invalid("until", self.until, format!("must be a finite number > {FIRST}")));
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let of = |part: &'static str, n: usize, betas: &[f64]| -> Vec<Params> {
            betas.iter().map(|b| cell(part, vec![BETA.is(*b), TOKENS.is(n)])).collect()
        };
        let mut all = of("circle", self.circle_tokens, &self.circle);
        all.extend(of("sphere", self.sphere_tokens, &self.sphere));
        Ok(all)
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    /// "groups" and "energy" at each of the times; on the circle "angles", token by token.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (n, beta) = (cell.get(TOKENS), cell.get(BETA));
        let d = if cell.get(PART) == "circle" { 2 } else { 3 };
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let field = Particles::new(beta, Normalisation::Softmax).flow(n, d)?;
        // A gradient flow in another metric: real eigenvalues. Plateaus take few steps.
        let flow = Flow::new(Method::Chebyshev).within(1e-6);
        let path = flow.run(&field, &to_state(start.view()), &self.times())?;
        let (mut counts, mut energies, mut angles) = (vec![], vec![], vec![]);
        for state in &path.states {
            let tokens = of_state(state, n)?;
            counts.push(groups(&tokens, self.link)? as f64);
            energies.push(energy(&tokens, beta)?);
            angles.extend((0..n).map(|i| tokens[[1, i]].atan2(tokens[[0, i]])));
        }
        let mut found = data([("groups", store::series(&counts)), ("energy", store::series(&energies))]);
        if d == 2 {
            found.insert("angles".into(), store::series(&angles));
        }
        Ok(found)
    }

    fn size(&self) -> String {
        format!(
            "*n* = {} on the circle, {} on the sphere, {} draws",
            self.circle_tokens, self.sphere_tokens, self.trials
        )
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
