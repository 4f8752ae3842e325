//! Readers of files that a stranger wrote, as functions of bytes. Each returns whatever the bytes are: it must
//! neither panic nor run away. `fuzz_targets/` gives them to libFuzzer; `tests/suite/hostile.rs` replays the
//! corpora with seeded changes.

use attnlab::build;
use attnlab::catalogue::{Catalogue, Room};
use attnlab::folder::{self, RunFolder};
use attnlab::networks::transformer::Recordings;
use attnlab::networks::{Checkpoint, Tokenizer, Transformer, gguf::Gguf, npy};
use attnlab::run::Silent;
use attnlab::run::grid::GridOptions;
use attnlab::run::store::Manifest;
use attnlab::sweep::{Axis, Expression, Plan, Sweep};
use attnlab::toy;
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// A reader under attack.
pub struct Reader {
    /// Name of its target and of the folder of its corpus.
    pub name: &'static str,
    /// Reads bytes as this kind of file and uses what it finds; `true` if nothing was refused.
    pub read: fn(&[u8]) -> bool,
}

/// Every reader.
pub const READERS: &[Reader] = &[
    Reader { name: "sweep", read: sweep },
    Reader { name: "expression", read: expression },
    Reader { name: "rows", read: rows },
    Reader { name: "manifest", read: manifest },
    Reader { name: "numpy", read: numpy },
    Reader { name: "safetensors", read: safetensors },
    Reader { name: "config", read: config },
    Reader { name: "gguf", read: gguf },
    Reader { name: "tokenizer", read: tokenizer },
    Reader { name: "images", read: images },
];

/// File of rows of a run.
const ROWS: &str = "rows.jsonl";

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| attnlab::catalogue().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()])));

/// Calls `read` with the path of a file of this name and content, alone in its folder.
fn with_file(name: &str, data: &[u8], read: impl FnOnce(&Path) -> bool) -> bool {
    thread_local! {
        static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
    }
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        for old in fs::read_dir(folder.path()).expect("our folder").flatten() {
            fs::remove_file(old.path()).expect("our file");
        }
        read(&write(folder.path(), name, data))
    })
}

fn write(folder: &Path, name: &str, data: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, data).expect("room on the disk");
    path
}

/// A sweep file: parsed, planned, the first cells made.
pub fn sweep(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let Ok(sweep) = Sweep::parse(&text, Path::new("map.toml")) else {
        return false;
    };
    sweep.settings();
    // A million cells are allowed and take seconds.
    let lengths = sweep.axes.iter().map(|(_, axis)| match axis {
        Axis::List(values) => values.len(),
        Axis::Range(range) => usize::try_from(range.steps).unwrap_or(usize::MAX),
        Axis::Computed(_) => 1,
    });
    lengths.fold(1, usize::saturating_mul) <= 1000 && Plan::new(&sweep, &CATALOGUE).is_ok()
}

/// An expression of an axis: parsed, and its value found where every name is 2.
pub fn expression(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    Expression::parse("x", &text).map(|expression| expression.value(&|_| Some(2.0))).is_ok()
}

/// A sweep whose rows are read.
const SWEEP: &str = "
claim = 'toy.fair'
trials = 2
seed = 5
[axes]
heads = [0.3, 0.5]
";

/// Rows of a run whose manifest is sound; `BUILD` in them stands for the build of this program.
pub fn rows(data: &[u8]) -> bool {
    with_file(ROWS, &built(data), |path| {
        let folder = path.parent().unwrap_or(path);
        write(folder, Manifest::FILE, &example_run().0);
        read_run(folder)
    })
}

/// The manifest of a run, beside rows that are sound.
pub fn manifest(data: &[u8]) -> bool {
    with_file(Manifest::FILE, &built(data), |path| {
        let folder = path.parent().unwrap_or(path);
        write(folder, ROWS, &example_run().1);
        read_run(folder)
    })
}

/// Returns manifest and rows of a small sweep, made by this program.
pub fn example_run() -> &'static (Vec<u8>, Vec<u8>) {
    static RUN: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sweep = Sweep::parse(SWEEP, Path::new("map.toml")).expect("our sweep");
        let options = GridOptions::default();
        attnlab::sweep::run(&sweep, &CATALOGUE, folder.path(), options, &Silent).expect("our run");
        let read = |name| fs::read(folder.path().join(name)).expect("a file of the run");
        (read(Manifest::FILE), read(ROWS))
    });
    &RUN
}

fn built(data: &[u8]) -> Vec<u8> {
    let build = build::here().to_string();
    String::from_utf8_lossy(data).replace("BUILD", &build).into_bytes()
}

fn read_run(folder: &Path) -> bool {
    let read = folder::rows(folder, &CATALOGUE).and_then(|stored| stored.rows());
    let repaired = folder::repair(folder, &CATALOGUE, false);
    let opened = RunFolder::open(folder, &CATALOGUE);
    let drawn = opened.and_then(|run| run.missing().and_then(|_| run.figures()));
    drawn.is_ok() && read.is_ok() && repaired.is_ok_and(|found| found.is_clean())
}

/// A NumPy file: its shape, and its numbers as a matrix or as labels.
pub fn numpy(data: &[u8]) -> bool {
    with_file("z.npy", data, |path| {
        let numbers = npy::matrix("tokens", path).is_ok() | npy::labels("labels", path).is_ok();
        npy::shape("tokens", path).is_ok() && numbers
    })
}

/// A file of safetensors: its names, shapes and numbers.
pub fn safetensors(data: &[u8]) -> bool {
    with_file("model.safetensors", data, |path| {
        let Ok(checkpoint) = Checkpoint::open(path) else {
            return false;
        };
        let names: Vec<String> = checkpoint.names().map(str::to_string).collect();
        let read = |name: &String| {
            let _ = checkpoint.matrix(name);
            checkpoint.shape(name).is_ok() && checkpoint.values(name).is_ok()
        };
        names.iter().all(read) && checkpoint.digest().is_ok()
    })
}

/// The `config.json` of a network whose tensors are sound.
pub fn config(data: &[u8]) -> bool {
    let models: [(&str, &[u8]); 5] = [
        ("gpt2", include_bytes!("../../crates/networks/tests/data/gpt2/model.safetensors")),
        ("opt", include_bytes!("../../crates/networks/tests/data/opt/model.safetensors")),
        ("gpt_neox", include_bytes!("../../crates/networks/tests/data/gpt-neox/model.safetensors")),
        ("bert", include_bytes!("../../crates/networks/tests/data/bert/model.safetensors")),
        ("llama", include_bytes!("../../crates/networks/tests/data/llama/model.safetensors")),
    ];
    let text = String::from_utf8_lossy(data);
    let own = models.iter().find(|(kind, _)| text.contains(&format!("\"{kind}\"")));
    let (_, tensors) = own.unwrap_or(&models[0]);
    with_file("config.json", data, |path| {
        let folder = path.parent().unwrap_or(path);
        write(folder, "model.safetensors", tensors);
        let network = Transformer::open(folder);
        let ids: &[u32] = &[1, 2, 3];
        network.and_then(|network| network.forward(ids, &Recordings::none())).is_ok()
    })
}

/// A GGUF file: its metadata and tensors; the network and the tokenizer in it, if any.
pub fn gguf(data: &[u8]) -> bool {
    with_file("model.gguf", data, |path| {
        let _ = Transformer::open(path);
        let _ = Tokenizer::open(path);
        let Ok(file) = Gguf::open(path) else {
            return false;
        };
        let names: Vec<String> = file.names().map(str::to_string).collect();
        let read = |name: &String| file.shape(name).is_ok() && file.values(name).is_ok();
        names.iter().all(read)
    })
}

/// A `tokenizer.json`: a text encoded and decoded.
pub fn tokenizer(data: &[u8]) -> bool {
    with_file("tokenizer.json", data, |path| {
        let Ok(tokenizer) = Tokenizer::open(path) else {
            return false;
        };
        let ids = tokenizer.encode("a few words, and 12 numbers");
        ids.and_then(|ids| tokenizer.decode(&ids)).is_ok()
    })
}

/// Images of one kind; the first byte chooses it.
pub fn images(data: &[u8]) -> bool {
    let Some((first, data)) = data.split_first() else {
        return false;
    };
    let kinds = [
        "train-images-idx3-ubyte",
        "data_batch_1.bin",
        "digits.csv.gz",
        "shard-000000.tar",
        "images.npy",
        "train-images-idx3-ubyte.gz",
        "one.png",
        "one.jpg",
    ];
    let name = kinds[usize::from(*first) % kinds.len()];
    let labels: [u8; 10] = [0, 0, 8, 1, 0, 0, 0, 2, 0, 1];
    let zipped: [u8; 30] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 99, 96, 224, 96, 100, 96, 96, 96, 98, 96, 4, 0, 143, 156, 155, 226, 10, 0,
        0, 0,
    ];
    let array = include_bytes!("../corpus/numpy/i64");
    with_file("placeholder", &[], |path| {
        // One folder per class, in a folder of its own; the other kinds beside their labels.
        let root = tempfile::tempdir_in(path.parent().unwrap_or(path)).expect("a temporary folder");
        let read = match name.split_once('.') {
            Some(("one", _)) => {
                let class = root.path().join("class");
                fs::create_dir(&class).expect("our folder");
                write(&class, name, data);
                look_at(root.path())
            }
            _ => {
                // Plain or in gzip, as their images are.
                match name.ends_with("ubyte.gz") {
                    true => write(root.path(), "train-labels-idx1-ubyte.gz", &zipped),
                    false => write(root.path(), "train-labels-idx1-ubyte", &labels),
                };
                write(root.path(), "labels.npy", array);
                look_at(&write(root.path(), name, data))
            }
        };
        root.close().expect("our folder");
        read
    })
}

fn look_at(path: &Path) -> bool {
    let Ok(opened) = attnlab_images::open(path) else {
        return false;
    };
    (0..opened.images.count().min(4)).all(|index| opened.images.image(index).is_ok())
}
