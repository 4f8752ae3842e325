//! Readers of arrays, networks, tokenizers and texts.

use crate::files::Files;
use attnlab_aot::evaluate::{Task, files};
use attnlab_core::npy::{self, Element, Header};
use attnlab_lab::run::{Checkpoints, Silent};
use attnlab_networks::gguf::Gguf;
use attnlab_networks::transformer::{Recordings, TransformerArchitecture};
use attnlab_networks::{Checkpoint, Tokenizer, Transformer, text as texts};
use serde_json::Value;
use std::path::Path;

/// NumPy files: an array has the shape and the bytes of its file, and is the same when it is written and read again.
pub fn npy(bytes: &[u8]) {
    let mut rest = bytes;
    let Ok(header) = Header::read(&mut rest) else { return };
    assert_eq!(header.start as usize, bytes.len() - rest.len());
    same_array::<i8>(&header, rest);
    same_array::<i16>(&header, rest);
    same_array::<i32>(&header, rest);
    same_array::<i64>(&header, rest);
    same_array::<u8>(&header, rest);
    same_array::<u16>(&header, rest);
    same_array::<u32>(&header, rest);
    same_array::<u64>(&header, rest);
    same_array::<f32>(&header, rest);
    same_array::<f64>(&header, rest);
    let _ = header.integers(&mut &rest[..]);
    let files = Files::new(&[], &["array.npy"]);
    files.add("array.npy", bytes);
    let path = &files.at("array.npy");
    if let Ok(matrix) = attnlab_networks::npy::matrix("z", path) {
        assert_eq!(matrix.shape(), header.shape);
    }
    let _ = attnlab_networks::npy::stack("z", path);
    let _ = attnlab_networks::npy::labels("y", path);
    tensors(path, bytes.len());
}

fn same_array<T: Element>(header: &Header, data: &[u8]) {
    if header.kind() != T::KIND {
        return;
    }
    let Ok(array) = header.data::<T>(&mut &data[..]) else { return };
    assert_eq!(array.shape(), header.shape);
    assert_eq!(array.len() * size_of::<T>(), data.len());
    let (mut once, mut twice) = (vec![], vec![]);
    // A header of thousands of axes is not written.
    if npy::write(&array, &mut once).is_err() {
        return;
    }
    let again = npy::read::<T>(&once[..]).expect("an array that was written can be read");
    assert_eq!(again.shape(), array.shape());
    npy::write(&again, &mut twice).expect("an array that was written can be written again");
    // As bytes, since NaN differs from itself.
    assert_eq!(once, twice);
}

/// Largest number of numbers that a byte of a file encodes: Q2_K has 256 in 84 bytes.
const MAX_NUMBERS_PER_BYTE: usize = 4;

/// Asserts the promises about the tensors at a path of so many bytes.
fn tensors(path: &Path, bytes: usize) {
    let Ok(checkpoint) = Checkpoint::open(path) else { return };
    for name in checkpoint.names() {
        let shape = checkpoint.shape(name).expect("a tensor of a header has a shape");
        checkpoint.hash(name).expect("the bytes of a tensor of a header are there");
        if let Ok(values) = checkpoint.values(name) {
            assert_eq!(values.shape(), shape);
            assert!(values.len() <= MAX_NUMBERS_PER_BYTE * bytes);
        }
        if let Ok(matrix) = checkpoint.matrix(name) {
            assert_eq!(matrix.shape(), shape);
        }
    }
}

/// Folders of safetensors, with an index of shards or as a training here leaves them: tensors have the shapes and the
/// bytes that the header announces.
pub fn checkpoint(bytes: &[u8]) {
    let names = "model.safetensors model-00001-of-00002.safetensors model-00002-of-00002.safetensors \
        model.safetensors.index.json step-000000001.safetensors step-000000001.json";
    let names: Vec<_> = names.split(' ').collect();
    let files = Files::new(bytes, &names);
    tensors(files.folder(), bytes.len());
    let _ = Checkpoint::open_all(&[files.folder().to_path_buf()]);
    if let Ok(Some(restored)) = Checkpoints::at(files.folder()).restore::<Value>(|_| true, &Silent) {
        assert!(restored.tensors.len() <= bytes.len());
    }
    network_at(files.folder());
}

/// GGUF files, in one part or two: tensors as those of a checkpoint, the network and its tokenizer.
pub fn gguf(bytes: &[u8]) {
    let names = ["network.gguf", "network-00001-of-00002.gguf", "network-00002-of-00002.gguf"];
    let files = Files::new(bytes, &names);
    let path = names[..2].iter().map(|name| files.at(name)).find(|path| path.is_file());
    let Some(path) = path else { return };
    if Gguf::open(&path).is_err() {
        return;
    }
    tensors(&path, bytes.len());
    network_at(&path);
    tokenizer_at(&path);
}

/// `config.json` with tensors: sizes can be computed with, and a network that can be opened has a forward pass.
pub fn network(bytes: &[u8]) {
    network_at(Files::new(bytes, &["config.json", "model.safetensors"]).folder());
}

fn network_at(path: &Path) {
    const TOKENS: usize = 1024;
    let Ok(architecture) = TransformerArchitecture::of_network(path) else { return };
    architecture.validate().expect("an architecture that was read is valid");
    assert!([architecture.parameters(), architecture.activation_bytes(TOKENS)].into_iter().all(|size| size > 0));
    architecture.forward_cost(TOKENS);
    Recordings::all().bytes(&architecture, TOKENS);
    if let Ok(network) = Transformer::open(path)
        && let Ok(pass) = network.forward(&[0, 1], &Recordings::all())
    {
        assert_eq!(pass.layers.len(), network.architecture().layers);
    }
}

/// Folders of tokenizers, of every form.
pub fn tokenizer(bytes: &[u8]) {
    let names = "tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json vocab.json \
        merges.txt vocab.txt config.json";
    let names: Vec<_> = names.split(' ').collect();
    tokenizer_at(Files::new(bytes, &names).folder());
}

/// Asserts of the tokenizer at a path that a text has the same ids each time, with parts of the text to them.
fn tokenizer_at(path: &Path) {
    let Ok(tokenizer) = Tokenizer::open(path) else { return };
    for text in ["the attention of the tokens", " Ünïcode\u{301} \u{1f600}\n<|endoftext|>[CLS] 12", ""] {
        let Ok(tokens) = tokenizer.encode_with_spans(text) else { continue };
        let ids: Vec<u32> = tokens.iter().map(|(id, _)| *id).collect();
        assert_eq!(tokenizer.encode_plain(text).ok().as_ref(), Some(&ids));
        assert_eq!(tokens.iter().find(|(_, span)| text.get(span.clone()).is_none()), None, "no part of {text:?}");
        let _ = tokenizer.encode(text);
        let _ = tokenizer.decode(&ids);
    }
}

/// Texts, packed or not, and the benchmarks and documents in them: lines end in LF, and no document is empty.
pub fn text(bytes: &[u8]) {
    const MAX_BYTES: u64 = 1 << 20;
    let files = Files::new(bytes, &["text.txt"]);
    let path = &files.at("text.txt");
    if let Ok(text) = texts::read(path, MAX_BYTES, "Give a text") {
        assert!(text.len() as u64 <= MAX_BYTES && !text.contains('\r'));
    }
    for task in [Task::Lambada, Task::Cbt, Task::Text] {
        let _ = files::read(&[path], task);
    }
    if let Ok(documents) = files::documents(path) {
        assert!(!documents.is_empty() && documents.iter().all(|document| !document.value.trim().is_empty()));
    }
}
