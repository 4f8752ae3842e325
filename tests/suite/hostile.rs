//! Readers on files of an enemy: the corpora of `fuzz/` and seeded changes of them.

#[path = "../../fuzz/src/readers.rs"]
mod readers;

use attnlab::rng::{Generator, Streams};
use rand::RngExt;
use rand::seq::IndexedRandom;
use readers::{READERS, Reader};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pieces of text at which readers tend to stumble.
const PIECES: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "18446744073709551615",
    "9223372036854775808",
    "-9223372036854775808",
    "4294967296",
    "1e400",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "[[[[[[[[[[[[",
    "((((((((",
    "null",
    "\n",
    "\0",
    "\u{feff}",
    ",",
    "9999999999999999999999",
];

/// Whole numbers at which counts of bytes tend to overflow.
const NUMBERS: [u64; 7] = [0, 1, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];

/// Files of the corpus of a reader, in the order of their names.
fn corpus(reader: &Reader) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(reader.name);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Changes bytes at one place, more rarely at up to four.
fn changed(seed: &[u8], other: &[u8], rng: &mut Generator) -> Vec<u8> {
    let mut data = seed.to_vec();
    let places = [1, 1, 1, 2, 4][rng.random_range(0..5)];
    for _ in 0..places {
        let at = rng.random_range(0..=data.len());
        let end = (at + rng.random_range(1..=16)).min(data.len());
        match rng.random_range(0..10) {
            0 if at < data.len() => data[at] ^= 1 << rng.random_range(0..8),
            1 if at < data.len() => data[at] = rng.random(),
            2 => drop(data.drain(at..end)),
            3 => data.truncate(at),
            4 => {
                let piece = PIECES.choose(rng).expect("pieces");
                drop(data.splice(at..end, piece.bytes()));
            }
            5 => {
                // A number of the text becomes another one.
                let digits = |b: &u8| b.is_ascii_digit();
                let first = data[at..].iter().position(digits).map_or(at, |i| at + i);
                let last = data[first..].iter().position(|b| !digits(b)).map_or(data.len(), |i| first + i);
                let piece = PIECES[rng.random_range(0..11)];
                drop(data.splice(first..last, piece.bytes()));
            }
            6 => {
                let number = NUMBERS.choose(rng).expect("numbers").to_le_bytes();
                let length = [4, 8][rng.random_range(0..2)];
                let end = (at + length).min(data.len());
                data[at..end].copy_from_slice(&number[..end - at]);
            }
            7 => {
                // A digit becomes another one.
                let places: Vec<usize> = (0..data.len()).filter(|&i| data[i].is_ascii_digit()).collect();
                if let Some(&place) = places.choose(rng) {
                    data[place] = rng.random_range(b'0'..=b'9');
                }
            }
            _ if !other.is_empty() => {
                let from = rng.random_range(0..other.len());
                let to = (from + rng.random_range(1..=64)).min(other.len());
                drop(data.splice(at..at, other[from..to].iter().copied()));
            }
            _ => {}
        }
    }
    data
}

/// A seed that is refused at its first byte tests nothing behind it.
#[test]
fn every_seed_is_understood() {
    let mut wrong = vec![];
    for reader in READERS {
        let corpus = corpus(reader);
        assert!(!corpus.is_empty(), "{}", reader.name);
        for (name, data) in corpus {
            let refused = name.starts_with("refused");
            if (reader.read)(&data) == refused {
                wrong.push(format!("{}/{name}", reader.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// `ATTNLAB_REPLAYS` is the number of changed files per reader.
#[test]
fn changed_files_are_read_or_refused() {
    let replays = std::env::var("ATTNLAB_REPLAYS").map_or(3000, |n| n.parse().unwrap());
    for reader in READERS {
        let corpus = corpus(reader);
        let streams = Streams::new(17, reader.name, 0, 0);
        let began = Instant::now();
        let mut understood = 0;
        for number in 0..replays {
            let mut rng = streams.part("change", number);
            let (_, seed) = corpus.choose(&mut rng).unwrap();
            let (_, other) = corpus.choose(&mut rng).unwrap();
            let data = changed(seed, other, &mut rng);
            let one = Instant::now();
            let found = std::panic::catch_unwind(|| (reader.read)(&data));
            let quick = one.elapsed() < Duration::from_secs(5);
            let Ok(found) = found.map_err(|_| ()).and_then(|found| if quick { Ok(found) } else { Err(()) }) else {
                let kept = std::env::temp_dir().join(format!("attnlab-hostile-{}-{number}", reader.name));
                fs::write(&kept, &data).unwrap();
                panic!("{}: panics or takes over 5 s on {}", reader.name, kept.display());
            };
            understood += u64::from(found);
        }
        println!("{}: {understood} of {replays} understood, {:.1?}", reader.name, began.elapsed());
        // Changes that are always refused would test the first check alone.
        assert!(understood * 200 > replays, "{}: {understood} of {replays}", reader.name);
    }
}

/// Writes the corpora of rows and manifests anew: `ATTNLAB_BLESS=1 cargo test --test suite hostile`.
#[test]
fn corpora_of_runs_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let build = attnlab::build::here().to_string();
    let (manifest, rows) = readers::example_run();
    for (name, made) in [("manifest/sweep", manifest), ("rows/sweep", rows)] {
        let made = String::from_utf8(made.clone()).unwrap().replace(&build, "BUILD");
        let path = folder.join(name);
        if std::env::var_os("ATTNLAB_BLESS").is_some() {
            fs::write(&path, &made).unwrap();
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(made, stored, "{name}: write it anew with ATTNLAB_BLESS=1");
    }
}
