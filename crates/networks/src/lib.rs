//! Files of networks and of their activations.
//!
//! - [`Checkpoint`]: the tensors of a network by name, from safetensors files, sharded or not, from GGUF files, or from
//!   a folder of NumPy files;
//! - [`gguf`]: settings and quantised tensors of a GGUF file;
//! - [`npy`]: single arrays of NumPy;
//! - [`text`]: files of text in UTF-8, packed by gzip or not;
//! - [`transformer`]: trained networks, run in f32 with records of their parts;
//! - [`Tokenizer`]: text into their ids and back (feature `tokenizers`, on by default);
//! - `Windows`: the ids of a text in windows of equal length (the same feature).
//!
//! A header is checked against the length of its file before any number is read, so a file cannot ask for more
//! memory than five times its bytes: its own, and their numbers in f64.
//!
//! ```no_run
//! use attnlab_networks::Checkpoint;
//! let checkpoint = Checkpoint::open("pythia-70m/step1000".as_ref())?;
//! for name in checkpoint.matching(&["*.mlp.dense_h_to_4h.weight"]) {
//!     println!("{name}: {:?}", checkpoint.shape(&name)?);
//! }
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod checkpoint;
mod foreign;
pub mod gguf;
mod index;
mod names;
pub mod npy;
mod tensors;
pub mod text;
#[cfg(all(feature = "tokenizers", not(target_family = "wasm")))]
mod tokenizer;
mod training;
pub mod transformer;
#[cfg(all(feature = "tokenizers", not(target_family = "wasm")))]
mod windows;

pub use checkpoint::{Checkpoint, sha256};
pub use names::{kind, layer, numbers, step, steps, title};
#[cfg(all(feature = "tokenizers", not(target_family = "wasm")))]
pub use tokenizer::Tokenizer;
pub use transformer::Transformer;
#[cfg(all(feature = "tokenizers", not(target_family = "wasm")))]
pub use windows::Windows;
