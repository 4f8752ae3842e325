//! Paths of tokens on the circle and the sphere: clusters that form early and merge late.

mod pictures;

use crate::PAPERS;
use crate::experiments::shape;
use crate::quantities::{BETA, PART, TOKENS};
use crate::setting::uniform;
use attnlab_lab::experiment::draw::log_spaced;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method};
use attnlab_theory::particles::{Normalisation, Particles, cosines, of_state, to_state};
use std::ops::Range;

settings! {
    /// Softmax attention from uniform tokens: paths, number of groups and energy.
    #[experiment("cluster.trajectories", rows = "cluster_trajectories",
        title = "Tokens on the circle and the sphere: clusters and plateaus")]
    #[source(&PAPERS[1], "Section 5")]
    pub struct Trajectories {
        pub trials: u64 = spread,
        pub circle_tokens: usize = whole(2..),
        pub sphere_tokens: usize = whole(2..),
        pub circle_betas: Vec<f64> = positive,
        pub sphere_betas: Vec<f64> = positive,
        pub until: f64 = within("(0.1, 1e15]"),
        pub points: usize = whole(2..),
        pub link: f64 = within("(0, 1]"),
    }
}

/// First time shown; `until` is later.
const FIRST: f64 = 0.1;

/// Error per step, relative: the paths are looked at, and counted in groups of an angle of `link`.
const TOLERANCE: f64 = 1e-6;

impl Trajectories {
    fn times(&self) -> Vec<f64> {
        log_spaced(FIRST, self.until, self.points)
    }
}

/// Returns the longest runs of equal counts of two or more groups, with the longest first; times are log-spaced, so that
/// the length of a run is a ratio of times.
fn plateaus(counts: &[f64]) -> Vec<Range<usize>> {
    let mut plateaus: Vec<Range<usize>> = vec![];
    for (k, count) in counts.iter().enumerate().filter(|(_, count)| **count > 1.0) {
        match plateaus.last_mut() {
            Some(run) if run.end == k && counts[run.start] == *count => run.end = k + 1,
            _ => plateaus.push(k..k + 1),
        }
    }
    plateaus.sort_by_key(|run| std::cmp::Reverse(run.len()));
    plateaus
}

impl Experiment for Trajectories {
    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |part: &'static str, n: usize| {
            move |beta: &f64| Params::from_iter([PART.is(part), BETA.is(*beta), TOKENS.is(n)])
        };
        let circle = self.circle_betas.iter().map(cell("circle", self.circle_tokens));
        Ok(circle.chain(self.sphere_betas.iter().map(cell("sphere", self.sphere_tokens))).collect())
    }

    /// "groups", number of them, and "energy" at each of the times; "cluster", the group of each token at the start of
    /// the longest plateau; "angle", of the first two coordinates, and on the sphere "height", the third, token by token
    /// at each of the times.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (n, beta) = (cell.get(TOKENS), cell.get(BETA));
        let d = if cell.get(PART) == "circle" { 2 } else { 3 };
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let field = Particles::new(beta, Normalisation::Softmax).flow(n, d)?;
        // A gradient flow in another metric: real eigenvalues. Plateaus take few steps.
        let path =
            Flow::new(Method::Chebyshev).within(TOLERANCE).run(&field, &to_state(start.view()), &self.times())?;
        let (mut labels, mut counts, mut energies) = (vec![], vec![], vec![]);
        let (mut angles, mut heights) = (vec![], vec![]);
        for state in &path.states {
            let tokens = of_state(state, n)?;
            let cosines = cosines(tokens.view())?;
            let groups = shape::groups(cosines.view(), self.link);
            counts.push(shape::number_of_groups(&groups));
            labels.push(groups);
            energies.push(shape::energy(cosines.view(), beta));
            angles.extend(tokens.columns().into_iter().map(|x| x[1].atan2(x[0])));
            heights.extend(tokens.rows().into_iter().skip(2).flatten().copied());
        }
        let plateau = plateaus(&counts).first().map_or(0, |run| run.start);
        let mut data = Map::from_iter([
            ("groups".into(), store::series(&counts)),
            ("energy".into(), store::series(&energies)),
            ("cluster".into(), labels[plateau].clone().into()),
            ("angle".into(), store::series(&angles)),
        ]);
        if d == 3 {
            data.insert("height".into(), store::series(&heights));
        }
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        // Inner products, and the states with what is kept of them.
        let n = cell.get(TOKENS) as u64;
        memory::product(&[8, 2, n, n + 4 * self.points as u64])
    }

    fn size(&self) -> String {
        let Trajectories { circle_tokens, sphere_tokens, trials, .. } = self;
        format!("*n* = {circle_tokens} on the circle, {sphere_tokens} on the sphere, {trials} draws")
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plateaus_are_ordered_by_length() {
        assert_eq!(plateaus(&[9.0, 5.0, 5.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0]), [3..6, 1..3, 0..1]);
        assert!(plateaus(&[1.0, 1.0]).is_empty());
    }
}
