//! Images against Pillow and scikit-learn, hand-made files, and files made by an enemy.

mod baselines;
mod parts;
mod pillow;
mod readers;
mod refusals;
mod refusals_arrays;
mod transforms;

use attnlab_core::error::Error;
use attnlab_core::rng::Streams;
use attnlab_images::open;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Message of the refusal of a path, which it must name; every image that can be read is read.
fn refusal(path: &Path) -> String {
    let read =
        open(path).and_then(|opened| (0..opened.images.count()).try_for_each(|i| opened.images.image(i).map(|_| ())));
    let error = read.expect_err("must be refused");
    assert!(matches!(error, Error::Io { .. } | Error::Content { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    text
}

/// The same of a file with this name and content.
fn refused_file(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    refusal(&path)
}

/// The same of a folder with these files.
fn refused_folder(files: &[(&str, &[u8])]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    refusal(folder.path())
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
}

fn streams(seed: u64) -> Streams {
    Streams::new(seed, "images", 0, 0)
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/images/tests/data").join(name)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Grey PNG of `height` × `width` whose pixels have this level.
fn png(height: u32, width: u32, level: u8) -> Vec<u8> {
    let mut bytes = vec![];
    let mut writer = png::Encoder::new(&mut bytes, width, height).write_header().unwrap();
    writer.write_image_data(&vec![level; (height * width) as usize]).unwrap();
    writer.finish().unwrap();
    bytes
}

/// idx file with these sizes in its header.
fn idx(sizes: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    bytes.extend(sizes.iter().flat_map(|n| n.to_be_bytes()));
    bytes.extend(data);
    bytes
}

/// NumPy file of version 1 with this header.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let padded = format!("{header:<117}\n");
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.as_bytes());
    bytes.extend(data);
    bytes
}

fn npy_header(kind: &str, shape: &str) -> String {
    format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")
}

fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(vec![]);
    for (name, data) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, name, *data).unwrap();
    }
    builder.into_inner().unwrap()
}
