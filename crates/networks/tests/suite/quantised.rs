//! GGUF: every type against llama.cpp's own Python reader, and files made by an enemy.

use crate::parity::data;
use crate::variations;
use attnlab_networks::gguf::{Gguf, GgufValue};
use attnlab_networks::{Checkpoint, Transformer};
use proptest::prelude::*;
use std::fs;

#[test]
fn every_type_is_read_as_by_the_reference() {
    let checkpoint = Checkpoint::open(&data("types.gguf")).unwrap();
    let expected = Checkpoint::open(&data("types.expected.safetensors")).unwrap();
    let names: Vec<&str> = expected.names().collect();
    assert_eq!(names, checkpoint.names().collect::<Vec<_>>());
    for name in names {
        assert_eq!(checkpoint.shape(name).unwrap(), [2, 256]);
        let (values, wanted) = (checkpoint.values(name).unwrap(), expected.values(name).unwrap());
        assert_eq!(values, wanted, "{name}");
        assert!(checkpoint.matrix(name).unwrap().iter().zip(&values).all(|(a, b)| *a == f64::from(*b)));
        assert_eq!(checkpoint.hash(name).unwrap().len(), 64);
    }
}

#[test]
fn values_of_every_type_are_read() {
    let file = Gguf::open(&data("types.gguf")).unwrap();
    let get = |name: &str| file.metadata()[&format!("types.{name}")].clone();
    for (name, whole) in [("uint8", 200), ("uint16", 60_000), ("uint32", 4_000_000_000), ("uint64", 1 << 40)] {
        assert_eq!(get(name), GgufValue::Unsigned(whole));
    }
    for (name, whole) in [("int8", -100), ("int16", -30_000), ("int32", -2_000_000_000), ("int64", -(1 << 40))] {
        assert_eq!(get(name), GgufValue::Signed(whole));
    }
    assert_eq!(get("float32"), GgufValue::Float(0.5));
    assert_eq!(get("float64"), GgufValue::Float(0.1));
    assert_eq!(get("bool"), GgufValue::Flag(true));
    assert_eq!(get("string"), GgufValue::Text("n\u{e4}here".into()));
    assert_eq!(get("texts"), GgufValue::Texts(vec!["a".into(), "b".into()]));
    assert_eq!(get("wholes"), GgufValue::Wholes(vec![1, -2, 3]));
    assert_eq!(get("floats"), GgufValue::Floats(vec![0.5, -1.25]));
    assert_eq!(get("flags"), GgufValue::Flags(vec![true, false]));
}

/// A file as the format's description has it, with settings and entries of tensors given as bytes.
fn file(settings: &[Vec<u8>], tensors: &[Vec<u8>], data: usize) -> Vec<u8> {
    let counts = [tensors.len(), settings.len()].map(|count| (count as u64).to_le_bytes()).concat();
    let mut bytes = [&b"GGUF"[..], &3_u32.to_le_bytes(), &counts, &settings.concat(), &tensors.concat()].concat();
    bytes.resize(bytes.len().next_multiple_of(32) + data, 0);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn tensor(name: &str, shape: &[u64], kind: u32, start: u64) -> Vec<u8> {
    let sizes: Vec<u8> = shape.iter().flat_map(|n| n.to_le_bytes()).collect();
    let (dimensions, kind, start) = ((shape.len() as u32).to_le_bytes(), kind.to_le_bytes(), start.to_le_bytes());
    [&text(name)[..], &dimensions, &sizes, &kind, &start].concat()
}

/// A setting: its name, the type of its value, and the value.
fn setting(name: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [&text(name), &kind.to_le_bytes()[..], value].concat()
}

fn refusal(bytes: &[u8]) -> String {
    crate::refusal_of("model.gguf", bytes)
}

#[test]
fn files_that_lie_are_refused_with_the_wrong_part() {
    let whole = file(&[], &[tensor("w", &[4, 2], 0, 0)], 32);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("good.gguf");
    fs::write(&path, &whole).unwrap();
    assert_eq!(Checkpoint::open(&path).unwrap().shape("w").unwrap(), [2, 4]);
    assert!(refusal(b"GGUX").contains("begin with"));
    assert!(refusal(b"GGUF").contains("bytes are left"));
    assert!(refusal(&whole[..whole.len() - 1]).contains("is the file complete?"));
    // 2^60 tensors, settings, bytes of a name, entries of an array.
    let many = |start: usize| {
        let mut bytes = whole.clone();
        bytes[start..start + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
        refusal(&bytes)
    };
    assert!(many(8).contains("tensors"), "{}", many(8));
    assert!(many(16).contains("settings"), "{}", many(16));
    assert!(many(24).contains("a name of a tensor"), "{}", many(24));
    let huge = [&8_u32.to_le_bytes()[..], &(1_u64 << 60).to_le_bytes()].concat();
    assert!(refusal(&file(&[setting("a.b", 9, &huge)], &[], 0)).contains("entries of a.b"));
    let refused = |entry: Vec<u8>| refusal(&file(&[], &[entry], 32));
    // 10^12 numbers in a file of a few, and more than 64 bits count.
    assert_begins(&refused(tensor("w", &[1_000_000, 1_000_000], 0, 0)), "w: must lie in the file");
    assert_begins(&refused(tensor("w", &[u64::MAX, 2], 0, 0)), "w: must have fewer");
    assert_begins(&refused(tensor("w", &[1 << 62, 2], 0, 0)), "w: must have fewer than 2^64 bytes");
    assert_begins(&refused(tensor("w", &[4, 2], 16, 0)), "w: must have one of the types F32, F16, Q4_0");
    let advice = refused(tensor("w", &[4, 2], 21, 0));
    assert!(advice.contains("it is IQ3_S. Download the network in another type, such as Q8_0 or Q4_K_M"), "{advice}");
    assert_begins(&refused(tensor("w", &[4, 2], 10, 0)), "w: must have rows of whole blocks of 256");
    let q5_0 = |rows| refused(tensor("w", &[32, rows], 6, 0));
    assert_begins(&q5_0(2), "w: must lie in the file; it ends at byte 44 of 32");
    assert!(refused(tensor("w", &[4, 2], 999, 0)).contains("number 999"));
    assert_begins(&refused(tensor("w", &[4, 2], 2, 0)), "w: must have rows of whole blocks");
    assert_begins(&refused(tensor("w", &[1; 5], 0, 0)), "w: must have at most 4");
    assert_begins(&refused(tensor("w", &[4, 2], 0, 8)), "w: must begin at a multiple");
    assert_begins(&refusal(&file(&[], &[tensor("a", &[8], 0, 0), tensor("b", &[8], 0, 0)], 64)), "b: must begin after");
    assert!(refusal(&file(&[], &[tensor("a", &[8], 0, 0), tensor("a", &[8], 0, 32)], 64)).contains("must differ"));
    assert!(refusal(&file(&[setting("a", 13, &[])], &[], 0)).contains("a: must have a type"));
    assert!(refusal(&file(&[setting("a", 7, &[3])], &[], 0)).contains("a = 3: must be 0 or 1"));
    assert!(refusal(&file(&[setting("a", 7, &[1]), setting("a", 7, &[1])], &[], 0)).contains("a: must be there once"));
    assert!(refusal(&file(&[setting("general.alignment", 4, &3_u32.to_le_bytes())], &[], 0)).contains("power of 2"));
    let deep: Vec<u8> = [&9_u32.to_le_bytes()[..], &1_u64.to_le_bytes()].concat().repeat(50_000);
    assert!(refusal(&file(&[setting("a", 9, &deep)], &[], 0)).contains("nested"));
    let mut nan = file(&[], &[tensor("w", &[4, 2], 0, 0)], 32);
    let last = nan.len() - 4;
    nan[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_begins(&refusal(&nan), "w: entry [1, 3] must be finite");
    let mut old = whole.clone();
    old[4] = 1;
    assert!(refusal(&old).contains("GGUF version = 1: must be"));
}

/// The hash of a tensor whose type cannot be read is of all its bytes.
#[test]
fn a_tensor_of_an_unknown_type_has_a_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let mut bytes = file(&[], &[tensor("a", &[256], 16, 0), tensor("b", &[8], 0, 96)], 128);
    let hash = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Checkpoint::open(&path).unwrap().hash("a").unwrap()
    };
    let before = hash(&bytes);
    let place = bytes.len() - 33;
    bytes[place] = 1;
    assert_ne!(before, hash(&bytes));
}

/// A split file is opened by its first part; every other mistake names the file to give or to copy.
#[test]
fn a_split_file_is_opened_by_its_first_part() {
    let folder = tempfile::tempdir().unwrap();
    let part = |number: u32| folder.path().join(format!("llama-gguf-split-{number:05}-of-00003.gguf"));
    let copy = || {
        for file in fs::read_dir(variations::folder().join("networks/llama-gguf-split")).unwrap() {
            let path = file.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    };
    let refused = || Transformer::open(&part(1)).unwrap_err().to_string();
    copy();
    let whole = Transformer::open(folder.path()).unwrap();
    assert_eq!(whole.losses(&[1, 2, 3]).unwrap(), Transformer::open(&part(1)).unwrap().losses(&[1, 2, 3]).unwrap());
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(checkpoint.digest().unwrap(), Checkpoint::open(&part(1)).unwrap().digest().unwrap());
    let later = Transformer::open(&part(2)).unwrap_err().to_string();
    assert!(later.contains("split.no = 1: must be 0"), "{later}");
    assert!(later.contains(&format!("Give the first, {}", part(1).display())), "{later}");
    fs::copy(part(2), part(3)).unwrap();
    assert!(refused().contains("00003-of-00003.gguf: split.no = 1: must be 2"), "{}", refused());
    copy();
    let bytes = fs::read(part(3)).unwrap();
    fs::write(part(3), &bytes[..bytes.len() - 1]).unwrap();
    assert!(refused().contains("is the file complete?"), "{}", refused());
    fs::remove_file(part(3)).unwrap();
    assert!(refused().contains("00003-of-00003.gguf is not there. Copy the missing part"), "{}", refused());
    copy();
    fs::remove_file(part(1)).unwrap();
    let without = Transformer::open(folder.path()).unwrap_err().to_string();
    assert!(without.contains("Give the first"), "{without}");
    copy();
    let renamed = folder.path().join("renamed.gguf");
    fs::rename(part(1), &renamed).unwrap();
    let error = Transformer::open(&renamed).unwrap_err().to_string();
    assert!(error.contains("must be named NAME-00001-of-00003.gguf"), "{error}");
}

#[test]
fn divisors_of_frequencies_must_be_positive() {
    let path = variations::folder().join("networks/llama-gguf-llama3/llama-gguf-llama3.gguf");
    let mut bytes = fs::read(&path).unwrap();
    let factors = Checkpoint::open(&path).unwrap().values("rope_freqs.weight").unwrap();
    let stored: Vec<u8> = factors.iter().flat_map(|f| f.to_le_bytes()).collect();
    let start = bytes.windows(stored.len()).position(|window| window == stored).unwrap();
    bytes[start + 4..start + 8].copy_from_slice(&0.0_f32.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("model.gguf");
    fs::write(&changed, bytes).unwrap();
    let error = Transformer::open(&changed).unwrap_err().to_string();
    assert!(error.contains("rope_freqs.weight: entry 1 must be > 0; it is 0"), "{error}");
}

/// Tests that a message begins so after the path of its file.
fn assert_begins(refusal: &str, message: &str) {
    assert!(refusal.split_once(".gguf: ").is_some_and(|(_, m)| m.starts_with(message)), "{refusal}");
}

/// Changes of a good file: places and new values of some bytes, and a length to cut it to.
pub fn changes() -> impl Strategy<Value = (Vec<(prop::sample::Index, u8)>, Option<prop::sample::Index>)> {
    let bytes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (bytes, prop::option::weighted(0.2, any::<prop::sample::Index>()))
}

/// Applies changes to the first `head` bytes of a file, or anywhere.
pub fn changed(
    whole: &[u8],
    head: usize,
    changes: &(Vec<(prop::sample::Index, u8)>, Option<prop::sample::Index>),
) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for (i, (place, to)) in changes.0.iter().enumerate() {
        // Most of a file is numbers; its header is where the lies are.
        let among = if i % 2 == 0 { head } else { bytes.len() };
        bytes[place.index(among)] = *to;
    }
    if let Some(cut) = &changes.1 {
        bytes.truncate(cut.index(bytes.len()));
    }
    bytes
}

proptest! {
    /// A network with some bytes changed or cut short is read or refused.
    #[test]
    fn no_bytes_bring_the_reader_of_networks_down(changes in changes()) {
        let whole = fs::read(data("llama.gguf")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llama.gguf");
        fs::write(&path, changed(&whole, 9000, &changes)).unwrap();
        if let Ok(network) = Transformer::open(&path) {
            let _ = network.losses(&[1, 2, 3]);
        }
        let _ = attnlab_networks::Tokenizer::open(&path);
        let split = |number: u32| format!("llama-gguf-split-{number:05}-of-00003.gguf");
        let parts = variations::folder().join("networks/llama-gguf-split");
        for number in 1..=3 {
            fs::copy(parts.join(split(number)), folder.path().join(split(number))).unwrap();
        }
        let first = folder.path().join(split(1));
        fs::write(&first, changed(&fs::read(&first).unwrap(), 1500, &changes)).unwrap();
        if let Ok(network) = Transformer::open(&first) {
            let _ = network.losses(&[1, 2, 3]);
        }
        fs::write(&path, changed(&fs::read(data("types.gguf")).unwrap(), 1500, &changes)).unwrap();
        if let Ok(checkpoint) = Checkpoint::open(&path) {
            for name in checkpoint.names() {
                let _ = checkpoint.values(name);
                let _ = checkpoint.hash(name);
            }
        }
    }
}
