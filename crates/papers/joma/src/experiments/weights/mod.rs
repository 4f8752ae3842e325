//! JoMA Fig. 7: stable rank of weights along checkpoints of a network, with chance levels.

use crate::PAPERS;
use crate::theory::chance;
use attnlab_lab::prelude::*;
use attnlab_networks::Checkpoint;
use attnlab_theory::measure::spectrum;
use ndarray::Array2;
use rand::seq::SliceRandom;
use std::path::{Path, PathBuf};

mod pictures;

settings! {
    /// Stable rank of weights along checkpoints.
    #[experiment("joma.weights", rows = "joma_weights",
        title = "Stable rank of the weights of a network along its checkpoints, against chance")]
    #[source(&PAPERS[0], "Figure 7")]
    pub struct JomaWeights {
        pub checkpoints: Vec<PathBuf>,
        pub tensors: Vec<String>,
        pub draws: u64 = spread,
        pub visible: f64 = positive,
    }
}

/// Parameters of the rows.
const CHECKPOINT: &str = "checkpoint";
const STEP: &str = "step";
const TENSOR: &str = "tensor";

impl JomaWeights {
    /// The steps of the checkpoints by their names, if all have one and they ascend.
    fn named_steps(&self) -> Option<Vec<u64>> {
        let steps = attnlab_networks::steps(&self.checkpoints)?;
        steps.is_sorted_by(|a, b| a < b).then_some(steps)
    }

    /// The steps of the checkpoints, or their places in the list.
    fn steps(&self) -> Vec<u64> {
        self.named_steps().unwrap_or_else(|| (0..self.checkpoints.len() as u64).collect())
    }
}

impl Experiment for JomaWeights {
    fn ready(&self) -> Result<()> {
        let allowed = "must hold at least one entry. Write attnlab weights FOLDER, which fills it in";
        require(!self.checkpoints.is_empty(), "checkpoints", "[]", allowed)?;
        require(!self.tensors.is_empty(), "tensors", "[]", allowed)?;
        let mut checkpoints = vec![];
        for path in &self.checkpoints {
            let checkpoint = Checkpoint::open(path)?;
            for tensor in &self.tensors {
                let (shape, first) = (checkpoint.shape(tensor)?, checkpoints.first());
                let same = first.map_or(Ok(shape.clone()), |c: &Checkpoint| c.shape(tensor))?;
                let fits = shape.len() == 2 && !shape.contains(&0) && shape == same;
                let expected = format!("a matrix of the shape of the first checkpoint, {same:?}");
                require_shape(fits, format!("{tensor} of {}", path.display()), shape, expected)?;
            }
            checkpoints.push(checkpoint);
        }
        Checkpoint::ensure_distinct(&checkpoints, &self.tensors)
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cells =
            iproduct!(self.checkpoints.iter().zip(self.steps()), &self.tensors).map(|((path, step), tensor)| {
                Params::from_iter([
                    (CHECKPOINT.to_string(), Value::from(path.display().to_string())),
                    (STEP.to_string(), Value::from(step)),
                    (TENSOR.to_string(), Value::from(tensor.as_str())),
                ])
            });
        Ok(cells.collect())
    }

    fn memory(&self, cell: &Params) -> u64 {
        let shape = |cell: &Params| -> Result<Vec<usize>> {
            let (path, tensor) = names(cell)?;
            Checkpoint::open(Path::new(path))?.shape(tensor)
        };
        // Files that cannot be opened are refused before the first trial.
        let sizes: Vec<u64> = shape(cell).unwrap_or_default().iter().map(|n| *n as u64).collect();
        let least = sizes.iter().copied().min().unwrap_or(0);
        // The stored bytes, W, W(0), two more for their difference or a permutation; Gram matrix, eigenvectors.
        memory::product(&[8, 5, memory::product(&sizes)]).saturating_add(memory::product(&[8, 4, least, least]))
    }

    /// "rows" and "columns"; "frobenius", "largest", "stable_rank" and "entropy_rank" of W; "permuted", the stable
    /// ranks of W with its entries in random order, a series over the draws; "moved", the stable rank of W − W(0), and
    /// "moved_norm", ‖W − W(0)‖_F/‖W(0)‖_F, where W(0) is that of the first checkpoint; "chance", the stable rank of
    /// independent entries; "hash", SHA-256 of the stored bytes.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (path, tensor) = names(cell)?;
        let checkpoint = Checkpoint::open(Path::new(path))?;
        let hash = checkpoint.hash(tensor)?;
        let weights = checkpoint.matrix(tensor)?;
        let measured = spectrum(weights.view())?;
        let permuted = (0..self.draws).map(|i| {
            let mut entries: Vec<f64> = weights.iter().copied().collect();
            entries.shuffle(&mut streams.part("permutation", i));
            let (rows, columns) = weights.dim();
            Ok(spectrum(Array2::from_shape_fn((rows, columns), |(i, j)| entries[i * columns + j]).view())?.stable_rank)
        });
        let permuted = permuted.collect::<Result<Vec<f64>>>()?;
        let start = Checkpoint::open(&self.checkpoints[0])?.matrix(tensor)?;
        let moved = spectrum((&weights - &start).view())?;
        let (rows, columns) = weights.dim();
        let numbers = [
            ("frobenius", measured.frobenius),
            ("largest", measured.largest),
            ("stable_rank", measured.stable_rank),
            ("entropy_rank", measured.entropy_rank),
            ("moved", moved.stable_rank),
            ("moved_norm", moved.frobenius / start.iter().map(|x| x * x).sum::<f64>().sqrt()),
            ("chance", chance::stable_rank(rows, columns)),
        ];
        let mut data: Map<String, Value> =
            numbers.into_iter().map(|(name, x)| (name.to_string(), store::number(x))).collect();
        data.insert("permuted".into(), store::series(&permuted));
        data.insert("rows".into(), rows.into());
        data.insert("columns".into(), columns.into());
        data.insert("hash".into(), hash.into());
        Ok(data)
    }

    fn size(&self) -> String {
        format!("{} checkpoints", self.checkpoints.len())
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

/// The path and the tensor of a cell.
fn names(cell: &Params) -> Result<(&str, &str)> {
    let word = |name: &str| {
        let value = cell.as_json().get(name).and_then(Value::as_str);
        value.ok_or_else(|| Error::invalid(name, "nothing", "must be a word"))
    };
    Ok((word(CHECKPOINT)?, word(TENSOR)?))
}
