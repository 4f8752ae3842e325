//! The collapse of the tokens of pure attention to one row.

mod pictures;

use crate::PAPERS;
use crate::quantities::{PART, SCALE, START, TOKENS};
use crate::setting::{heads, rows};
use crate::theory::collapse::{composite_norm, constant};
use attnlab_lab::prelude::*;

settings! {
    /// Residuals of the tokens, layer by layer.
    #[experiment("cluster.collapse", rows = "cluster_collapse",
        title = "Rank collapse of pure attention: residuals cubed by every layer")]
    #[source(&PAPERS[6], "Theorem 2.3 of v1")]
    pub struct Collapse {
        pub trials: u64 = spread,
        pub dim: usize = whole(1..),
        pub heads: usize = whole(1..),
        pub layers: usize = whole(1..),
        pub tokens: usize = whole(2..),
        pub scales: Vec<f64> = positive,
        pub starts: Vec<f64> = positive,
        pub contexts: Vec<usize> = whole(2..),
    }
}

impl Experiment for Collapse {
    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |part: &str, n: usize, scale: f64, start: f64| {
            Params::from_iter([PART.is(part), TOKENS.is(n), SCALE.is(scale), START.is(start)])
        };
        let grid = iproduct!(&self.scales, &self.starts);
        let layers = grid.map(|(scale, start)| cell("layers", self.tokens, *scale, *start));
        let last = self.starts[self.starts.len() - 1];
        let contexts = self.contexts.iter().map(|n| cell("contexts", *n, self.scales[0], last));
        Ok(layers.chain(contexts).collect())
    }

    /// "residual": norm ‖·‖_{1,∞} of the distance of the tokens from their mean, at the start and after every layer;
    /// "constant": printed factor 4βH/√d_qk of every layer.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let mut tokens = rows(cell.get(TOKENS), self.dim, cell.get(START), streams);
        let mut residuals = vec![composite_norm(tokens.residuals.view())];
        let mut constants = vec![];
        for layer in 0..self.layers as u64 {
            let heads = heads(self.dim, self.heads, cell.get(SCALE), &streams.child("layer", layer));
            tokens = tokens.layer(&heads);
            residuals.push(composite_norm(tokens.residuals.view()));
            constants.push(constant(&heads));
        }
        Ok(Map::from_iter([
            ("residual".into(), store::series(&residuals)),
            ("constant".into(), store::series(&constants)),
        ]))
    }

    fn memory(&self, cell: &Params) -> u64 {
        // The scores of a head, their exponentials and the weights.
        let n = cell.get(TOKENS) as u64;
        memory::product(&[8, 3, n, n])
    }

    fn size(&self) -> String {
        let Collapse { dim, heads, trials, .. } = self;
        format!("*d* = {dim}, *H* = {heads}, {trials} draws")
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
