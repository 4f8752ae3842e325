//! A network on a text, place by place: the residual stream, the subspaces of its heads, attention, weights.
//!
//! Place 0 is the residual stream after the embedding, place l that after block l, counted from 1.

mod attention;
mod heads;
pub mod record;

pub use attention::Attention;
pub use heads::{CHANCE_DRAWS, head_bases, head_findings};

use super::{Controls, controls, insert};
use attnlab_core::stats::{Estimate, mean};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::number;
use attnlab_networks::transformer::{Recordings, TransformerArchitecture};
use attnlab_networks::{Checkpoint, Transformer, Windows, kind, layer};
use attnlab_theory::measure::spectrum;
use ndarray::{Array1, Array2, Axis, s};
use serde_json::json;

/// Returns the control of a text: the ids of all windows in random order, so that every frequency stays and no context
/// does.
pub fn shuffled(windows: &Windows, streams: &Streams) -> Windows {
    let order: Vec<usize> = (0..windows.ids().len()).collect();
    windows.reordered(&controls::shuffled(&order, &streams.child("tokens", 0)))
}

/// Records of one forward pass of every window, at all places.
#[derive(Debug)]
pub struct Passes {
    /// Tokens of a window that are measured.
    window: usize,
    /// Residual stream (d, N) of every place.
    streams: Vec<Array2<f32>>,
    /// Attention of every block.
    attention: Vec<Attention>,
}

/// Records of all windows around one place.
#[derive(Debug)]
pub struct Place {
    /// Number of the place.
    pub place: usize,
    /// Residual stream (d, N) of the place before; None at place 0.
    pub before: Option<Array2<f64>>,
    /// Residual stream (d, N).
    pub residual: Array2<f64>,
    /// Tokens of a window that are measured; N is a multiple of it.
    pub window: usize,
    /// Attention of the block that leads here; None at place 0.
    pub attention: Option<Attention>,
}

impl Passes {
    /// Runs a network once on every window and records all places. Bits do not depend on the number of threads.
    ///
    /// # Errors
    /// Those of [`Transformer::forward`]; streams that the memory cannot hold.
    pub fn record(network: &Transformer, windows: &Windows) -> Result<Self> {
        let a = network.architecture();
        let tokens = windows.tokens();
        memory::ensure("the residual streams of all places", Passes::bytes(a, tokens))?;
        let choice = Recordings::named(&["residual", "scores"])?;
        let window = windows.window() - windows.skip();
        let mut streams: Vec<Array2<f32>> = (0..=a.layers).map(|_| Array2::zeros((a.width, tokens))).collect();
        let mut observed = vec![vec![]; a.layers];
        for (w, ids) in windows.iter().enumerate() {
            let mut keep = |place: usize, stream: Option<Array2<f32>>| {
                let stream = stream.ok_or_else(|| Error::undefined("the residual stream was not recorded"))?;
                let columns = w * window..(w + 1) * window;
                streams[place].slice_mut(s![.., columns]).assign(&stream.slice(s![.., windows.skip()..]));
                Ok(())
            };
            let pass = network.forward_each(ids, &choice, |block| {
                observed[block.layer].push(attention::observe(&block.scores));
                keep(block.layer + 1, block.residual)
            })?;
            keep(0, pass.embedding)?;
        }
        let attention = observed.iter().map(|windows| Attention::over_windows(windows)).collect();
        Ok(Passes { window, streams, attention })
    }

    /// Computes the memory (bytes) of the streams of N tokens.
    pub fn bytes(a: &TransformerArchitecture, tokens: usize) -> u64 {
        memory::product(&[4, a.layers as u64 + 1, a.width as u64, tokens as u64])
    }

    /// Returns the records around a place, in f64.
    ///
    /// # Errors
    /// A place that is not there.
    pub fn place(&self, place: usize) -> Result<Place> {
        let stream = |place: usize| self.streams.get(place).map(|z| z.mapv(f64::from));
        let residual = stream(place).ok_or_else(|| {
            Error::invalid("place", place, format!("must be at most the number of blocks, {}", self.attention.len()))
        })?;
        let block = place.checked_sub(1);
        let attention = block.and_then(|block| self.attention.get(block).cloned());
        Ok(Place { place, before: block.and_then(stream), residual, window: self.window, attention })
    }
}

impl Place {
    /// Subtracts `mean` (d,), that of the residual stream, from it, and from the place before the mean of its own tokens;
    /// nothing if there is none.
    pub fn centre(&mut self, mean: Option<&Array1<f64>>) {
        let Some(mean) = mean else { return };
        self.residual -= &mean.view().insert_axis(Axis(1));
        if let Some(before) = &mut self.before
            && let Some(mean) = before.mean_axis(Axis(1))
        {
            *before -= &mean.insert_axis(Axis(1));
        }
    }
}

/// Mean of one number per window or per draw with its Student interval; of a single one, or where one is not finite,
/// the interval is NaN.
fn mean_of(values: &[f64], level: f64) -> Result<Estimate> {
    let finite = values.iter().all(|x| x.is_finite());
    if values.len() > 1 && finite {
        return mean(values, level);
    }
    let value = values.iter().sum::<f64>() / values.len() as f64;
    Ok(Estimate { value, low: f64::NAN, high: f64::NAN, level })
}

/// Adds a list of estimates as lists NAME, NAME_low and NAME_high.
fn insert_each(data: &mut Map<String, Value>, name: &str, estimates: &[Estimate]) {
    for (i, end) in ["", "_low", "_high"].into_iter().enumerate() {
        let list: Vec<Value> = estimates.iter().map(|e| number([e.value, e.low, e.high][i])).collect();
        data.insert(format!("{name}{end}"), list.into());
    }
}

/// Stable rank of every matrix of a block, and that of the same entries in random order: its chance level.
///
/// # Errors
/// A file that cannot be read.
pub fn weight_findings(path: &std::path::Path, block: usize, streams: &Streams) -> Result<Value> {
    let file = Checkpoint::open(path)?;
    let mut findings = Map::new();
    for (i, name) in file.matching(&["*"]).iter().enumerate() {
        let shape = file.shape(name)?;
        // A vector may be stored as a matrix of one row.
        let is_matrix = shape.len() == 2 && !shape.contains(&1);
        if layer(name) != Some(block as u64) || !is_matrix {
            continue;
        }
        let w = file.matrix(name)?;
        let (rows, columns) = w.dim();
        let entries: Vec<f64> = w.iter().copied().collect();
        let order = controls::shuffled(&(0..entries.len()).collect::<Vec<_>>(), &streams.child("entries", i as u64));
        let permuted = Array2::from_shape_fn((rows, columns), |(i, j)| entries[order[i * columns + j]]);
        let entry = json!({
            "rows": rows, "columns": columns, "stable_rank": number(spectrum(w.view())?.stable_rank),
            "permuted": number(spectrum(permuted.view())?.stable_rank),
        });
        findings.insert(kind(name), entry);
    }
    Ok(findings.into())
}

/// Controls of the arrays of a network: labels alone, because the networks beside it stand for the rest.
pub const CONTROLS: Controls = Controls::Labels;
