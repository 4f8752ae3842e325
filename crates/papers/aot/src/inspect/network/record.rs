//! Records of a network's forward passes as NumPy files: `attnlab inspect NETWORK --record NAME,..`.
//!
//! A file holds one quantity of one window at one place or block, in float32 with tokens as columns:
//!
//! | file | shape |
//! |---|---|
//! | `ids.npy` | (windows, N), int64 |
//! | `residual.place-L.window-W.npy` | (d, N); place 0 is the embedding, place L is after block L |
//! | `last.window-W.npy` | (d, N), after the last norm; written with `residual` |
//! | `inputs.block-L.window-W.npy` | (d, N) |
//! | `scores.block-L.window-W.npy`, `weights.block-L.window-W.npy` | (heads, N, N): head, key, query |
//! | `outputs.block-L.window-W.npy` | (heads, p, N) |
//! | `hidden.block-L.window-W.npy` | (h, N) |
//! | `logits.window-W.npy` | (V, N): column j is for the token after token j |
//!
//! Blocks are counted from 1 and windows from 0. N is the whole window, with the tokens that `--skip` leaves out.

use attnlab_core::error::{Error, Result, require};
use attnlab_core::npy::{self, Element};
use attnlab_lab::run::{disk, files, memory};
use attnlab_networks::transformer::{OutputHead, RecordedLayer, Recordings};
use attnlab_networks::{Transformer, Windows};
use ndarray::{Array2, ArrayRef, Axis, Dimension, stack};
use std::fs;
use std::path::{Path, PathBuf};

/// Option of the command line that chooses the quantities.
const OPTION: &str = "record";
const ADVICE: &str = "Choose a folder that you may write with --out";

/// Refuses quantities that the network has not, and files that neither memory nor disk hold. Nothing is written.
///
/// # Errors
/// Logits of a network without a language-model head; one window that does not fit into memory; files for which the
/// disk of `folder` has no space.
pub fn check(network: &Transformer, windows: &Windows, quantities: &Recordings, folder: &Path) -> Result<()> {
    let a = network.architecture();
    let without = "must not be asked for; the network has no language-model head. Write the other names of --record";
    require(!quantities.has("logits") || a.output != OutputHead::Absent, OPTION, "logits", without)?;
    // The records of a block and once more its heads, side by side for the file.
    let window = quantities.clone().in_layers(0..1.min(a.layers));
    let needed = memory::product(&[2, window.bytes(a, windows.window())]);
    memory::ensure("the records of a window", needed)?;
    // All files, but for their headers.
    let of_windows = memory::product(&[windows.iter().len() as u64, quantities.bytes(a, windows.window())]);
    let needed = of_windows.saturating_add(memory::product(&[8, windows.ids().len() as u64]));
    let free = disk::available(folder).unwrap_or(u64::MAX);
    let allowed = format!(
        "must fit on the disk, where {} are free. Write fewer names, smaller --tokens or another --out",
        memory::size(free)
    );
    require(needed <= free, OPTION, memory::size(needed), allowed)
}

/// Deletes the files that [`write()`] wrote into a folder, those of another run.
///
/// # Errors
/// A folder that cannot be read or changed.
pub fn clear(folder: &Path) -> Result<()> {
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let known = name == "ids.npy"
            || name.split_once('.').is_some_and(|(quantity, end)| {
                (quantity == "last" || Recordings::NAMES.contains(&quantity))
                    && end.contains("window-")
                    && end.ends_with(".npy")
            });
        if known {
            fs::remove_file(&path).map_err(|e| Error::io(&path, e, ADVICE))?;
        }
    }
    Ok(())
}

/// [`clear`] of a folder and of the folders in it, one per network.
///
/// # Errors
/// A folder that cannot be read or changed.
pub fn clear_below(folder: &Path) -> Result<()> {
    entries(folder)?.iter().try_for_each(|path| clear(path))?;
    clear(folder)
}

/// The paths in a folder; none where there is no folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let unreadable = |e| Error::io(folder, e, ADVICE);
    fs::read_dir(folder).map_err(unreadable)?.map(|entry| entry.map(|entry| entry.path()).map_err(unreadable)).collect()
}

/// Runs the network on every window and writes the files, one block of one window at a time. Returns their number.
///
/// # Errors
/// Those of [`check`] and of [`Transformer::forward_each`]; a folder that cannot be written.
pub fn write(network: &Transformer, windows: &Windows, quantities: &Recordings, folder: &Path) -> Result<usize> {
    check(network, windows, quantities, folder)?;
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, ADVICE))?;
    let n = windows.window();
    let count = windows.iter().len();
    let digits = |most: usize| most.to_string().len();
    let (of_place, of_window) = (digits(network.architecture().layers), digits(count.saturating_sub(1)));
    let mut files = Files { folder, written: 0 };
    let ids = Array2::from_shape_fn((count, n), |(w, i)| i64::from(windows.ids()[w * n + i]));
    files.put("ids", &ids)?;
    for (w, ids) in windows.iter().enumerate() {
        let end = format!("window-{w:0of_window$}");
        let pass = network.forward_each(ids, quantities, |block| {
            files.block(block, |kind, place| format!("{kind}-{place:0of_place$}.{end}"))
        })?;
        if let Some(embedding) = pass.embedding {
            files.put(&format!("residual.place-{:0of_place$}.{end}", 0), &embedding)?;
        }
        for (name, matrix) in [("last", pass.last), ("logits", pass.logits)] {
            matrix.map_or(Ok(()), |matrix| files.put(&format!("{name}.{end}"), &matrix))?;
        }
    }
    Ok(files.written)
}

/// Files that are written.
struct Files<'a> {
    folder: &'a Path,
    written: usize,
}

impl Files<'_> {
    fn put<T: Element, D: Dimension>(&mut self, name: &str, array: &ArrayRef<T, D>) -> Result<()> {
        let path = self.folder.join(format!("{name}.npy"));
        files::replace(&path, |to| npy::write(array, to)).map_err(|e| Error::io(&path, e, ADVICE))?;
        self.written += 1;
        Ok(())
    }

    /// Writes what was recorded of a block; `end` makes the end of a name from "place" or "block" and its number.
    fn block(&mut self, block: RecordedLayer, end: impl Fn(&str, usize) -> String) -> Result<()> {
        let place = block.layer + 1;
        let (residual, inputs, hidden) = (block.residual, block.inputs, block.hidden);
        for (name, kind, matrix) in
            [("residual", "place", residual), ("inputs", "block", inputs), ("hidden", "block", hidden)]
        {
            matrix.map_or(Ok(()), |matrix| self.put(&format!("{name}.{}", end(kind, place)), &matrix))?;
        }
        for (name, heads) in [("scores", block.scores), ("weights", block.weights), ("outputs", block.outputs)] {
            if !heads.is_empty() {
                let views: Vec<_> = heads.iter().map(|head| head.view()).collect();
                let stacked = stack(Axis(0), &views).map_err(|e| Error::undefined(e.to_string()))?;
                self.put(&format!("{name}.{}", end("block", place)), &stacked)?;
            }
        }
        Ok(())
    }
}
