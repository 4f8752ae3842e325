//! The tokens of a network as particles: `attnlab run cluster_network --set network=FOLDER --set text=FILE`. Settings:
//! `settings.toml`.
//!
//! Beside the network, on the same windows of text: the same architecture with random weights; the law of motion from the
//! directions of the embedding (length 1), with as many tokens and dimensions, the network's mask and place of the norm, one
//! head, Q, K, V the identity, and no MLP; and uniform tokens, the chance level.

mod opened;
mod pictures;

use crate::PAPERS;
use crate::experiments::shape;
use crate::quantities::{BETA, VARIANT};
use crate::setting::{flow, uniform};
use attnlab_core::linalg::{product, symmetric_eigen};
use attnlab_core::stats::quantile;
use attnlab_lab::prelude::*;
use attnlab_networks::Transformer;
use attnlab_networks::transformer::{NormPlace, Recordings, TransformerArchitecture};
use attnlab_theory::attention::Mask;
use attnlab_theory::measure::spectrum;
use attnlab_theory::particles::{LayerNorm, Normalisation, Particles, cosines, directions, of_state, to_state};
use ndarray::{Array2, ArrayView2, Axis, s};
use opened::Opened;
use std::path::PathBuf;

settings! {
    /// Groups, energy, rank and distances of a network's tokens, block by block, and those of the law of motion.
    #[experiment("cluster.network", rows = "cluster_network",
        title = "Tokens of a network as particles, block by block, against the law of motion")]
    #[source(&PAPERS[0], "Sections 3 and 8, on trained networks")]
    pub struct OfNetwork {
        pub network: PathBuf,
        pub text: PathBuf,
        pub trials: u64 = spread,
        pub window: usize = whole(3..),
        pub skip: usize,
        pub centre: bool,
        pub betas: Vec<f64> = positive,
        pub time: f64 = within("(0, 1000]"),
        pub energy_beta: f64 = positive,
        pub link: f64 = within("(0, 1.5]"),
        #[serde(skip)]
        opened: Shared<Opened>,
    }
}

/// Error per step of the law, relative: the numbers are read off a figure.
const TOLERANCE: f64 = 1e-6;

/// States of the integrator beside those that are kept: stages, estimates and the velocity's own copies.
const STATES_OF_INTEGRATOR: u64 = 16;

impl OfNetwork {
    /// Measures the tokens (d, n) of a window: numbers by the names that rows have.
    fn shape(&self, tokens: ArrayView2<f64>, ids: &[u32]) -> Result<[(&'static str, f64); 6]> {
        let mut unit = directions(tokens.slice(s![.., self.skip..]))?;
        if self.centre
            && let Some(mean) = unit.mean_axis(Axis(1))
        {
            unit -= &mean.insert_axis(Axis(1));
            unit = directions(unit.view()).map_err(|_| {
                let allowed = "must be false; of a token that points along the mean of its window nothing is left";
                Error::invalid("centre", self.centre, allowed)
            })?;
        }
        let cosines = cosines(unit.view())?;
        let nearest = shape::nearest(cosines.view(), &ids[self.skip..]);
        let n = unit.ncols() as f64;
        Ok([
            ("groups", shape::number_of_groups(&shape::groups(cosines.view(), self.link))),
            ("energy", shape::energy(cosines.view(), self.energy_beta)),
            ("effective_rank", spectrum(unit.view())?.entropy_rank),
            ("closest", nearest.iter().copied().fold(f64::INFINITY, f64::min)),
            ("neighbour", quantile(&nearest, 0.5)),
            ("mean_cosine", (cosines.sum() - n) / (n * (n - 1.0))),
        ])
    }

    /// Measures the tokens at every place.
    fn shapes(&self, places: &[Array2<f64>], ids: &[u32]) -> Result<Map<String, Value>> {
        let shapes = places.iter().map(|tokens| self.shape(tokens.view(), ids)).collect::<Result<Vec<_>>>()?;
        let series = |i: usize| {
            let values: Vec<f64> = shapes.iter().map(|shape| shape[i].1).collect();
            (shapes[0][i].0.to_string(), store::series(&values))
        };
        Ok((0..shapes[0].len()).map(series).collect())
    }

    /// Moves the embedding (d, n) by the law of motion, for as many units of `time` as there are blocks.
    fn moved(&self, embedding: &Array2<f64>, beta: f64, a: &TransformerArchitecture) -> Result<Vec<Array2<f64>>> {
        let mut start = directions(embedding.view())?;
        let (d, n) = start.dim();
        if d > n {
            start = in_their_span(&start)?;
        }
        let mask = if a.causal { Mask::Causal } else { Mask::None };
        let place = match a.place {
            NormPlace::Before => LayerNorm::Pre,
            NormPlace::After => LayerNorm::Post,
        };
        let field =
            Particles::new(beta, Normalisation::Softmax).masked(mask).normalised(place).flow(n, start.nrows())?;
        let times: Vec<f64> = (1..=a.layers).map(|block| self.time * block as f64).collect();
        let path = flow().within(TOLERANCE).run(&field, &to_state(start.view()), &times)?;
        std::iter::once(Ok(start)).chain(path.states.iter().map(|state| of_state(state, n))).collect()
    }
}

/// Returns tokens (n, n) with the inner products of tokens (d, n), coordinates in their span, in which the law keeps them.
fn in_their_span(tokens: &Array2<f64>) -> Result<Array2<f64>> {
    let (squares, vectors) = symmetric_eigen(product(tokens.t(), tokens.view()).view())?;
    // Of dependent tokens rounding makes some squares negative.
    Ok((vectors * squares.mapv(|square| square.max(0.0).sqrt())).reversed_axes())
}

/// Runs a network on a window; returns the residual stream (d, n) at every place, the embedding first.
fn streams_of(network: &Transformer, ids: &[u32]) -> Result<Vec<Array2<f64>>> {
    let mut places = vec![];
    let pass = network.forward_each(ids, &Recordings::named(&["residual"])?, |block| {
        places.extend(block.residual);
        Ok(())
    })?;
    Ok(pass.embedding.into_iter().chain(places).map(|stream| stream.mapv(f64::from)).collect())
}

impl Experiment for OfNetwork {
    fn ready(&self) -> Result<()> {
        for (name, path) in [("network", &self.network), ("text", &self.text)] {
            if path.as_os_str().is_empty() {
                return Err(Error::invalid(name, "\"\"", format!("must be a path. Give it with --set {name}=PATH")));
            }
        }
        self.opened.files(self).map(drop)
    }

    fn cells(&self) -> Result<Vec<Params>> {
        if self.network.as_os_str().is_empty() {
            return Ok(vec![]);
        }
        let cell = |variant: &str| Params::from_iter([VARIANT.is(variant)]);
        let laws = self.betas.iter().map(|beta| Params::from_iter([VARIANT.is("law"), BETA.is(*beta)]));
        Ok(["trained", "untrained"].map(cell).into_iter().chain(laws).chain([cell("uniform")]).collect())
    }

    /// "groups", "energy", "effective_rank", "closest", "neighbour" and "mean_cosine" of the tokens of a window at every
    /// place, the embedding and after each block; of uniform tokens once.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let files = self.opened.files(self)?;
        let ids = files.window(streams.trial());
        let (n, architecture) = (ids.len(), files.network.architecture());
        match cell.get(VARIANT) {
            "uniform" => {
                let others: Vec<u32> = (0..n as u32).collect();
                self.shapes(&[uniform(architecture.width, n, &mut streams.part("tokens", 0))?], &others)
            }
            "law" => self.shapes(&self.moved(&streams_of(&files.network, ids)?[0], cell.get(BETA), architecture)?, ids),
            "untrained" => {
                // One network with random weights for all windows.
                self.shapes(&streams_of(self.opened.untrained(&files.network, &streams.of_trial(0)), ids)?, ids)
            }
            _ => self.shapes(&streams_of(&files.network, ids)?, ids),
        }
    }

    fn memory(&self, cell: &Params) -> u64 {
        let Ok(files) = self.opened.files(self) else { return 0 };
        let a = files.network.architecture();
        let (d, n, places) = (a.width as u64, self.window as u64, a.layers as u64 + 1);
        let states = if cell.get(VARIANT) == "law" { STATES_OF_INTEGRATOR } else { 0 };
        memory::total(&[&[8, d, n, places + states + 3], &[8, 4, n, n], &[8, 4, d.min(n), d.min(n)]])
    }

    fn size(&self) -> String {
        format!("{} windows of {} tokens", self.trials, self.window)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_core::rng::Streams;
    use ndarray::concatenate;

    /// In the span of the tokens, of which one is there twice, the law is that of the whole space.
    #[test]
    fn the_law_keeps_the_span() {
        let four = uniform(9, 4, &mut Streams::new(1, "test", 0, 0).part("tokens", 0)).unwrap();
        let tokens = concatenate![Axis(1), four, four.slice(s![.., 1..2])];
        let inside = in_their_span(&tokens).unwrap();
        assert_eq!(inside.dim(), (5, 5));
        for mask in [Mask::None, Mask::Causal] {
            let law = Particles::new(2.0, Normalisation::Softmax).masked(mask);
            let ends = [&tokens, &inside].map(|tokens| {
                let path = flow().run(&law.flow(5, tokens.nrows()).unwrap(), &to_state(tokens.view()), &[3.0]).unwrap();
                cosines(of_state(path.end(), 5).unwrap().view()).unwrap()
            });
            let apart = (&ends[0] - &ends[1]).mapv(f64::abs).into_iter().fold(0.0, f64::max);
            assert!(apart < 1e-6, "{apart}");
        }
    }
}
