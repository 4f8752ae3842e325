//! Files of checkpoints: known numbers, shards, and files made by an enemy.

mod parity;
mod public;
mod quantised;
mod real;
mod refusals;
mod texts;
mod variations;

use attnlab_core::error::Error;
use attnlab_networks::Checkpoint;
use ndarray::{Array2, array};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file as the format's description has it: length of the header, header, data.
fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn tensor(kind: &str, shape: &[usize], from: usize, to: usize) -> Value {
    json!({"dtype": kind, "shape": shape, "data_offsets": [from, to]})
}

/// Writes a matrix of float32 under a name.
fn put(path: &Path, name: &str, values: &Array2<f32>) {
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let header = json!({name: tensor("F32", &[values.nrows(), values.ncols()], 0, data.len())});
    fs::write(path, file(&header, &data)).unwrap();
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    refusal_of("model.safetensors", bytes)
}

/// Message with which a file of this name and content is refused, when it is opened or when its matrices are read.
fn refusal_of(name: &str, bytes: &[u8]) -> String {
    let folder = folder();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let read = Checkpoint::open(&path).and_then(|c| {
        let names: Vec<String> = c.names().map(String::from).collect();
        names.iter().try_for_each(|name| c.matrix(name).map(|_| ()))
    });
    read.expect_err("must be refused").to_string()
}

/// 1.5, -2, 0 and 0.25 in every type; the half-precision bits from NumPy, those of bfloat16 the upper half of f32's:
/// `numpy.array([1.5, -2, 0, .25], 'f2').tobytes().hex()` is 003e00c000000034.
#[test]
fn numbers_of_every_type_are_widened_exactly() {
    let expected = array![[1.5, -2.0], [0.0, 0.25]];
    let f16 = [0x00, 0x3e, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x34];
    let bf16 = [0xc0, 0x3f, 0x00, 0xc0, 0x00, 0x00, 0x80, 0x3e];
    let f32: Vec<u8> = expected.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
    let f64: Vec<u8> = expected.iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
    for (kind, data) in [("F16", &f16[..]), ("BF16", &bf16), ("F32", &f32), ("F64", &f64)] {
        let folder = folder();
        let path = folder.path().join("model.safetensors");
        let header = json!({"__metadata__": {"format": "pt"}, "w": tensor(kind, &[2, 2], 0, data.len())});
        fs::write(&path, file(&header, data)).unwrap();
        let checkpoint = Checkpoint::open(&path).unwrap();
        assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["w"]);
        assert_eq!(checkpoint.matrix("w").unwrap(), expected, "{kind}");
    }
}

#[test]
fn a_folder_of_shards_is_one_checkpoint_and_a_folder_of_folders_is_several() {
    let folder = folder();
    for (step, value) in [(1000, 3.0), (20, 2.0), (0, 1.0)] {
        let checkpoint = folder.path().join(format!("step{step}"));
        fs::create_dir(&checkpoint).unwrap();
        let w = Array2::from_elem((2, 3), value);
        put(&checkpoint.join("model-00001-of-00002.safetensors"), "layers.0.fc1.weight", &w);
        put(&checkpoint.join("model-00002-of-00002.safetensors"), "layers.10.fc1.weight", &w);
        // What lies beside it is none of our business.
        fs::write(checkpoint.join("config.json"), "{}").unwrap();
    }
    let checkpoints = Checkpoint::open_all(&[folder.path().to_path_buf()]).unwrap();
    let steps: Vec<Option<u64>> = checkpoints.iter().map(|c| attnlab_networks::step(c.path())).collect();
    assert_eq!(steps, [Some(0), Some(20), Some(1000)]);
    let names = checkpoints[0].matching(&["*.fc1.weight"]);
    assert_eq!(names, ["layers.0.fc1.weight", "layers.10.fc1.weight"]);
    assert_eq!(checkpoints[1].matrix(&names[1]).unwrap()[[1, 2]], 2.0);
    assert!(Checkpoint::ensure_distinct(&checkpoints, &names).is_ok());
    assert!(matches!(checkpoints[0].matrix("layers.1"), Err(Error::Unknown { .. })));
}

/// The hash is that of `python3 -c "import hashlib, struct; print(hashlib.sha256(struct.pack('<4f', 1, 1, 1, 1)).hexdigest())"`.
#[test]
fn two_steps_with_equal_tensors_are_refused() {
    let folder = folder();
    let paths: Vec<PathBuf> = [1, 2, 3].map(|step| folder.path().join(format!("step{step}.safetensors"))).to_vec();
    for (path, value) in paths.iter().zip([1.0, 5.0, 1.0]) {
        put(path, "w", &Array2::from_elem((2, 2), value));
    }
    let checkpoints = Checkpoint::open_all(&paths).unwrap();
    let error = Checkpoint::ensure_distinct(&checkpoints, &["w".into()]).unwrap_err().to_string();
    assert!(error.contains("step3") && error.contains("step1"), "{error}");
    assert!(Checkpoint::ensure_distinct(&checkpoints[..2], &["w".into()]).is_ok());
    let ones = "f6bb1294da2f78cd935b01c7656280df5eaa0439e9d97bc03775825a41a508e4";
    assert_eq!(checkpoints[0].hash("w").unwrap(), ones);
}

#[test]
fn a_tensor_in_two_shards_is_refused() {
    let folder = folder();
    for name in ["a.safetensors", "b.safetensors"] {
        put(&folder.path().join(name), "w", &Array2::zeros((1, 1)));
    }
    let error = Checkpoint::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("must be in one file"), "{error}");
}

#[test]
fn arrays_of_numpy_are_tensors_by_the_names_of_their_files() {
    let folder = folder();
    let w = array![[1.0, 2.0], [3.0, 4.0]];
    attnlab_networks::npy::write(&folder.path().join("layers.3.fc1.weight.npy"), &w, false).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["layers.3.fc1.weight"]);
    assert_eq!(checkpoint.matrix("layers.3.fc1.weight").unwrap(), w);
}

#[test]
fn files_that_lie_are_refused_with_their_tensor() {
    let good = json!({"w": tensor("F32", &[2, 2], 0, 16)});
    assert!(refusal(&[]).contains("0 bytes"));
    assert!(refusal(&file(&good, &[0; 12])).contains("is the file complete?"));
    assert!(refusal(&file(&good, &[0; 20])).contains("is the file complete?"));
    // A header of 2^63 bytes, and 10^12 numbers in a file of a few.
    assert!(refusal(&(1_u64 << 63).to_le_bytes()).contains("announce a header"));
    let bomb = json!({"w": tensor("F32", &[1_000_000, 1_000_000], 0, 4_000_000_000_000)});
    assert!(refusal(&file(&bomb, &[0; 16])).contains("is the file complete?"));
    let overflow = json!({"w": tensor("F32", &[usize::MAX, usize::MAX], 0, 16)});
    assert!(refusal(&file(&overflow, &[0; 16])).contains("contradicts itself"));
    let gap = json!({"a": tensor("F32", &[1], 0, 4), "b": tensor("F32", &[1], 8, 12)});
    assert!(refusal(&file(&gap, &[0; 12])).contains("contradicts itself"));
    assert!(refusal(&file(&json!({"w": tensor("F32", &[3, 2], 0, 16)}), &[0; 16])).contains("contradicts itself"));
    assert!(refusal(&file(&json!([1, 2]), &[])).contains("JSON"));
    assert!(refusal(&file(&json!({"w": 3}), &[])).contains("w:"));
    assert!(refusal(&file(&json!({"w": tensor("I32", &[2, 2], 0, 16)}), &[0; 16])).contains("F64, F32, F16 or BF16"));
    assert!(refusal(&file(&json!({"w": tensor("F32", &[4], 0, 16)}), &[0; 16])).contains("must be a matrix"));
    let mut nan = vec![0; 12];
    nan.extend(f32::NAN.to_le_bytes());
    assert!(refusal(&file(&good, &nan)).contains("[1, 1]"));
    let deep = format!("{{\"w\":{}", "[".repeat(100_000));
    assert!(refusal(&[&(deep.len() as u64).to_le_bytes()[..], deep.as_bytes()].concat()).contains("JSON"));
}

/// A parser that tries alternatives at every bracket would not return from this header.
#[test]
fn a_nested_header_of_numpy_is_refused_at_once() {
    let folder = folder();
    let path = folder.path().join("z.npy");
    fs::write(&path, [&b"\x93NUMPY\x01\x00"[..], &2000_u16.to_le_bytes(), &[b'['; 2000]].concat()).unwrap();
    let refused = Checkpoint::open(&path).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("nested"), "{refused}");
}

#[test]
fn paths_without_tensors_are_refused() {
    let folder = folder();
    for path in [folder.path().to_path_buf(), folder.path().join("none")] {
        assert!(matches!(Checkpoint::open_all(&[path]).unwrap_err(), Error::Content { .. } | Error::Io { .. }));
    }
}

proptest! {
    /// Bytes of any kind, and a good file with one byte changed or cut short, are read or refused.
    #[test]
    fn no_bytes_bring_the_reader_down(
        noise in prop::collection::vec(any::<u8>(), 0..64),
        at in 0_usize..200,
        to in any::<u8>(),
        cut in 0_usize..200,
    ) {
        let good = file(&json!({"a": tensor("F32", &[2, 2], 0, 16), "b": tensor("BF16", &[3], 16, 22)}), &[1; 22]);
        let mut changed = good.clone();
        changed[at % good.len()] = to;
        let headed = [&(noise.len() as u64).to_le_bytes()[..], &noise].concat();
        let folder = folder();
        let path = folder.path().join("x.safetensors");
        for bytes in [&noise[..], &headed, &changed, &good[..cut.min(good.len())]] {
            fs::write(&path, bytes).unwrap();
            if let Ok(checkpoint) = Checkpoint::open(&path) {
                for name in checkpoint.names() {
                    let _ = checkpoint.matrix(name);
                    let _ = checkpoint.hash(name);
                }
            }
        }
    }
}
