//! Long contexts: the transition of one attention layer at β = γ log n.

mod pictures;

use crate::PAPERS;
use crate::quantities::{DIM, GAMMA, TOKENS};
use crate::setting::uniform;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mssa, Softmax};
use ndarray::ArrayView1;

settings! {
    /// One attention layer on equiangular and on uniform tokens.
    #[experiment("cluster.long_contexts", rows = "cluster_long_contexts",
        title = "Long contexts: the transition of one attention layer at β = γ log n")]
    #[source(&PAPERS[3], "the three regimes")]
    pub struct LongContexts {
        pub trials: u64 = spread,
        pub rho: f64 = within("(0, 1)"),
        pub equiangular: Vec<f64> = within("[2, 1e15]"),
        pub kappas: Vec<f64> = positive,
        pub contexts: Vec<usize> = whole(2..),
        pub delta: f64 = within("[0.1, 100]"),
        pub gammas: Vec<f64> = positive,
        pub pairs: usize = whole(1..),
    }
}

impl LongContexts {
    fn dim(&self, n: usize) -> usize {
        (self.delta * (n as f64).ln()).round().max(2.0) as usize
    }
}

impl Experiment for LongContexts {
    fn cells(&self) -> Result<Vec<Params>> {
        let cells = iproduct!(&self.contexts, &self.gammas)
            .map(|(n, gamma)| Params::from_iter([TOKENS.is(*n), DIM.is(self.dim(*n)), GAMMA.is(*gamma)]));
        Ok(cells.collect())
    }

    /// "own": mean weight of a token for itself; "cosine": mean cosine of two outputs; "input_cosine": of an output and its
    /// token.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (n, d) = (cell.get(TOKENS), cell.get(DIM));
        let beta = cell.get(GAMMA) * (n as f64).ln();
        let tokens = uniform(d, n, &mut streams.part("tokens", 0))?;
        // Scores β⟨x_i, x_j⟩ of √β x, in f32: the layer's own products are the same in f64 to 1e-6.
        let scaled = tokens.mapv(|x| (x * beta.sqrt()) as f32);
        let output = Mssa::new(Softmax, 1.0).stream_head(scaled.view())?.output.mapv(f64::from);
        let cosine = |a: ArrayView1<f64>, b: ArrayView1<f64>| a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt();
        let (mut own, mut between, mut input) = (vec![], vec![], vec![]);
        for i in (0..n).step_by((n / self.pairs).max(1)).take(self.pairs) {
            let (token, image) = (tokens.column(i), output.column(i));
            own.push(1.0 / (tokens.t().dot(&token) - 1.0).mapv(|cos| (beta * cos).exp()).sum());
            between.push(cosine(image, output.column((i + n / 2) % n)));
            input.push(cosine(image, token));
        }
        let mean = |values: &[f64]| store::number(values.iter().sum::<f64>() / values.len() as f64);
        Ok(Map::from_iter([
            ("own".into(), mean(&own)),
            ("cosine".into(), mean(&between)),
            ("input_cosine".into(), mean(&input)),
        ]))
    }

    fn memory(&self, cell: &Params) -> u64 {
        // Tokens and outputs in both precisions, with the layer's own copies.
        memory::product(&[8, 6, cell.get(TOKENS) as u64, cell.get(DIM) as u64 + 4])
    }

    fn size(&self) -> String {
        format!("{} draws, means over {} tokens or pairs", self.trials, self.pairs)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
