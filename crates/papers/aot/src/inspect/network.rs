//! A network on a text, place by place: the residual stream, the subspaces of its heads, attention, weights.
//!
//! Place 0 is the residual stream after the embedding, place l that after block l, counted from 1.

use super::Controls;
use super::controls;
use attnlab_core::error::{Error, Result};
use attnlab_core::linalg::{haar_basis, product, qr_q, singular_values};
use attnlab_core::rng::Streams;
use attnlab_core::stats::{Estimate, mean};
use attnlab_lab::run::store::{number, series};
use attnlab_networks::transformer::{Recorded, RecordedLayer, Recordings, TransformerArchitecture};
use attnlab_networks::{Checkpoint, Tokenizer, Transformer, kind, layer};
use attnlab_theory::measure::{nearest_subspace, snr, softmax_entropy, spectrum};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use serde_json::{Map, Value, json};

/// Ids of a text in windows of equal length, each with the special tokens that the tokenizer puts around a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    ids: Vec<u32>,
    window: usize,
    skip: usize,
}

impl Windows {
    /// Cuts the first ids of a text into windows of `window` ids, until they hold `tokens` of them. Of the residual
    /// stream the first `skip` columns of every window are left out: in many networks they are sinks of attention,
    /// a hundred times as long as others.
    ///
    /// # Errors
    /// A text that is shorter than one window; a window that is no longer than its special tokens and `skip`, or longer
    /// than the context of the network.
    pub fn of_text(
        text: &str,
        tokenizer: &Tokenizer,
        network: &TransformerArchitecture,
        [tokens, window, skip]: [usize; 3],
    ) -> Result<Self> {
        let (plain, around) = (tokenizer.encode_plain(text)?, tokenizer.encode("")?);
        // Special tokens before and after: those of the empty text, split where the text begins in its own ids.
        let whole = tokenizer.encode(text)?;
        let before = (0..=around.len()).find(|i| whole[*i..].starts_with(&plain));
        let (before, after) = around.split_at(before.unwrap_or(0));
        if window > network.context {
            let allowed = format!("must be at most the context of the network, {}", network.context);
            return Err(Error::invalid("window", window, allowed));
        }
        let least = around.len() + skip;
        if window <= least + 1 {
            let allowed = format!(
                "must be at least {}; {} special tokens and skip = {skip} leave nothing of a window",
                least + 2,
                around.len()
            );
            return Err(Error::invalid("window", window, allowed));
        }
        let room = window - around.len();
        let wanted = tokens.div_ceil(window).max(1);
        let ids: Vec<u32> =
            plain.chunks_exact(room).take(wanted).flat_map(|chunk| [before, chunk, after].concat()).collect();
        if ids.is_empty() {
            let allowed =
                format!("must have at least {room} tokens, one window; give a longer text or a smaller --window");
            return Err(Error::invalid("text", format!("{} tokens", plain.len()), allowed));
        }
        Ok(Windows { ids, window, skip })
    }

    /// Returns N, the number of tokens that are inspected.
    pub fn tokens(&self) -> usize {
        self.ids.len() / self.window * (self.window - self.skip)
    }

    /// Returns the ids, window after window.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the control: the ids of all windows in random order, so that every frequency stays and no context does.
    pub fn shuffled(&self, streams: &Streams) -> Self {
        let order: Vec<usize> = (0..self.ids.len()).collect();
        let order = controls::shuffled(&order, &streams.child("tokens", 0));
        Windows { ids: order.into_iter().map(|i| self.ids[i]).collect(), ..self.clone() }
    }
}

/// Records of all windows around one place.
pub struct Place {
    /// Number of the place.
    pub place: usize,
    /// Residual stream (d, N) of the place before; None at place 0.
    pub before: Option<Array2<f64>>,
    /// Residual stream (d, N).
    pub residual: Array2<f64>,
    /// Attention of the block that leads here; None at place 0.
    pub attention: Option<Attention>,
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

/// Attention of a block on all windows.
pub struct Attention {
    /// Mean entropy (nats) of a query's weights, per head (rows) and window (columns).
    pub entropy: Array2<f64>,
    /// Mean energy (nats) of a query, per head and window: −log of the mean of exp(score) over the tokens it may attend
    /// to, which is the energy of the head's associative memory up to a term quadratic in the query. Attention to all
    /// alike at scores 0 has energy 0.
    pub energy: Array2<f64>,
    /// Mean over the queries of the logarithm of the number of tokens that it may attend to: the largest entropy.
    pub ceiling: f64,
}

/// Runs a network on all windows and records one place. Bits do not depend on the number of threads.
///
/// # Errors
/// Those of [`Transformer::forward`].
pub fn at_place(network: &Transformer, windows: &Windows, place: usize) -> Result<Place> {
    let block = place.checked_sub(1);
    // The residual stream before a block is that after the block before it, or the embedding.
    let recorded = block.into_iter().flat_map(|b| [b.checked_sub(1), Some(b)]).flatten();
    let choice = Recordings::named(&["residual", "scores"])?.in_layers(recorded);
    let (mut befores, mut afters, mut attentions) = (vec![], vec![], vec![]);
    for ids in windows.ids.chunks_exact(windows.window) {
        let mut layers: Vec<RecordedLayer> = vec![];
        let states: Recorded = network.forward_each(ids, &choice, |layer| {
            layers.push(layer);
            Ok(())
        })?;
        let without_skipped = |z: Option<Array2<f32>>| {
            let z = z.ok_or_else(|| Error::undefined("the residual stream was not recorded"));
            Ok::<_, Error>(z?.slice(s![.., windows.skip..]).mapv(f64::from))
        };
        let last = match block {
            None => without_skipped(states.embedding.clone())?,
            Some(_) => {
                let of_block = layers.pop();
                let of_block = of_block.ok_or_else(|| Error::undefined("the block was not recorded"))?;
                attentions.push(attention(&of_block.scores));
                let before = layers.pop().map_or(states.embedding, |l| l.residual);
                befores.push(without_skipped(before)?);
                without_skipped(of_block.residual)?
            }
        };
        afters.push(last);
    }
    let joined = |parts: &[Array2<f64>]| {
        let views: Vec<ArrayView2<f64>> = parts.iter().map(|z| z.view()).collect();
        concatenate(Axis(1), &views).map_err(|e| Error::undefined(e.to_string()))
    };
    Ok(Place {
        place,
        before: block.map(|_| joined(&befores)).transpose()?,
        residual: joined(&afters)?,
        attention: block.map(|_| over_windows(&attentions)),
    })
}

/// Mean entropy, energy and ceiling of the queries of a window, per head.
fn attention(scores: &[Array2<f32>]) -> Vec<[f64; 3]> {
    let of_head = |scores: &Array2<f32>| {
        let mut sums = [0.0; 3];
        for query in scores.columns() {
            let seen = query.iter().copied().filter(|s| *s > f32::NEG_INFINITY);
            let seen: Vec<f64> = seen.map(f64::from).collect();
            let top = seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = seen.iter().map(|s| (s - top).exp()).sum();
            let ceiling = (seen.len() as f64).ln();
            sums[0] += softmax_entropy(&seen);
            sums[1] += ceiling - top - sum.ln();
            sums[2] += ceiling;
        }
        sums.map(|sum| sum / scores.ncols() as f64)
    };
    scores.iter().map(of_head).collect()
}

fn over_windows(windows: &[Vec<[f64; 3]>]) -> Attention {
    let heads = windows.first().map_or(0, Vec::len);
    let table = |i: usize| Array2::from_shape_fn((heads, windows.len()), |(h, w)| windows[w][h][i]);
    Attention { entropy: table(0), energy: table(1), ceiling: table(2).mean().unwrap_or(0.0) }
}

impl Attention {
    /// Returns the findings by name. Intervals are over windows and need two of them; else they are "NaN".
    ///
    /// # Errors
    /// A level outside (0, 1).
    pub fn findings(&self, level: f64) -> Result<Map<String, Value>> {
        let mut data = Map::new();
        for (name, table) in [("entropy", &self.entropy), ("energy", &self.energy)] {
            let per = |axis: usize| table.mean_axis(Axis(axis)).unwrap_or_default().to_vec();
            let over_windows = per(0);
            let estimate = match over_windows[..] {
                [value] => Estimate { value, low: f64::NAN, high: f64::NAN, level },
                _ => mean(&over_windows, level)?,
            };
            let ends = [("", estimate.value), ("_low", estimate.low), ("_high", estimate.high)];
            data.extend(ends.map(|(end, x)| (format!("{name}{end}"), number(x))));
            data.insert(format!("{name}_by_head"), series(&per(1)));
        }
        data.insert("ceiling".into(), number(self.ceiling));
        Ok(data)
    }
}

/// Orthonormal bases (d, p) of what the heads of a block read of the residual stream: the rows of
/// [`Transformer::value_map`]. Heads that share values share a basis, which is listed once.
///
/// # Errors
/// A block that is not there; matrices without a basis.
pub fn head_bases(network: &Transformer, block: usize) -> Result<Vec<Array2<f64>>> {
    let a = network.architecture();
    (0..a.heads)
        .step_by(a.heads / a.kv_heads)
        .map(|head| {
            let value = network.value_map(block, head)?;
            qr_q(value.t().mapv(f64::from).view())
        })
        .collect()
}

/// The subspaces of a block's heads as those of Theorem 1, in place of fitted ones: a token belongs to the subspace with
/// its largest projection. SNR (6) of every head before the block and, with the same labels, after it; the same before
/// it in random subspaces; and by how much the subspaces fail to be orthogonal, the largest singular value of U_kᵀU_l.
///
/// # Errors
/// Those of [`head_bases`].
pub fn head_findings(network: &Transformer, place: &Place, streams: &Streams) -> Result<Option<Map<String, Value>>> {
    let Some((block, before)) = place.place.checked_sub(1).zip(place.before.as_ref()) else {
        return Ok(None);
    };
    let bases = head_bases(network, block)?;
    let labels = nearest_subspace(before.view(), &bases);
    let mut rng = streams.part("random subspaces", 0);
    let random: Result<Vec<_>> = bases.iter().map(|u| haar_basis(u.nrows(), u.ncols(), &mut rng)).collect();
    let random = random?;
    let chance = nearest_subspace(before.view(), &random);
    let total = |bases: &[Array2<f64>], labels: &[usize], z: &Array2<f64>| {
        attnlab_theory::measure::labelled_snr(z.view(), bases, labels)
    };
    let counts: Vec<usize> = (0..bases.len()).map(|k| labels.iter().filter(|l| **l == k).count()).collect();
    Ok(Some(Map::from_iter(
        [
            ("counts", json!(counts)),
            ("snr_before", series(&snr(before.view(), &bases, &labels))),
            ("snr_after", series(&snr(place.residual.view(), &bases, &labels))),
            ("all_before", number(total(&bases, &labels, before))),
            ("all_after", number(total(&bases, &labels, &place.residual))),
            ("chance_before", number(total(&random, &chance, before))),
            ("chance_after", number(total(&random, &chance, &place.residual))),
            ("coherence", number(coherence(&bases)?)),
            ("chance_coherence", number(coherence(&random)?)),
        ]
        .map(|(name, value)| (name.to_string(), value)),
    )))
}

/// The largest singular value of U_kᵀU_l over k ≠ l: 0 for orthogonal subspaces, 1 where two share a direction.
fn coherence(bases: &[Array2<f64>]) -> Result<f64> {
    let mut most: f64 = 0.0;
    for (k, u) in bases.iter().enumerate() {
        for v in &bases[..k] {
            let cosines = singular_values(product(u.t(), v.view()).view())?;
            most = cosines.iter().copied().fold(most, f64::max);
        }
    }
    Ok(most)
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
