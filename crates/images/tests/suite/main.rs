//! Images against Pillow and scikit-learn, hand-made files, and files made by an enemy.

mod baselines;
mod parts;
mod pillow;
mod readers;
mod refusals;
mod transforms;

use attnlab_core::rng::Streams;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Streams of a test.
fn streams(seed: u64) -> Streams {
    Streams::new(seed, "images", 0, 0)
}

/// Path of a file in `tests/data`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Grey PNG of `height` × `width` whose pixels have this level.
fn png(height: u32, width: u32, level: u8) -> Vec<u8> {
    let image = image::GrayImage::from_pixel(width, height, image::Luma([level]));
    let mut bytes = std::io::Cursor::new(vec![]);
    image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
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

/// Tar file with these entries.
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
