//! Files that lie, are cut short or are something else: a message that names them, no panic, no memory.

use crate::pillow::Records;
use crate::{assert_says, gzip, idx, npy, npy_header, png, refusal, refused_file, refused_folder, tar};
use attnlab_images::{LabelledImages, decode, open, readers};
use proptest::prelude::*;
use std::fs;

#[test]
fn what_is_no_data_set_is_refused_with_the_list_of_kinds() {
    assert_says(&refused_file("x", b""), &["content = unknown", "tar shards"]);
    assert_says(&refused_file("x", b"hello"), &["content = unknown"]);
    assert_says(&refused_file("x.png", &png(1, 1, 0)), &["one image", "folder"]);
    assert_says(&refused_file("x.npz", b"PK\x03\x04...."), &["zip archive", "Unpack"]);
    assert_says(&refused_folder(&[("x.txt", b"hello")]), &["content = unknown"]);
    let folder = tempfile::tempdir().unwrap();
    assert_says(&refusal(&folder.path().join("none")), &["Give the path"]);
    assert_says(&refusal(folder.path()), &["content = unknown"]);
}

#[test]
fn folders_of_images_are_refused_with_the_wrong_part() {
    let image = png(1, 1, 0);
    let empty = refused_folder(&[("cat/a.png", &image), ("dog/.keep", b"")]);
    assert_says(&empty, &["dog: images = 0: must be at least one"]);
    let deep = refused_folder(&[("cat/sub/a.png", &image)]);
    assert_says(&deep, &["cat/sub: content = a folder", "Open the folder above"]);
    let broken = refused_folder(&[("cat/a.png", &image[..image.len() / 2])]);
    assert_says(&broken, &["cat/a.png: image = broken"]);
    assert_says(&refused_folder(&[("cat/a.jpg", b"GIF89a")]), &["cat/a.jpg: first bytes = 47 49 46 38", "Convert"]);
}

#[cfg(unix)]
#[test]
fn links_and_names_do_not_confuse_the_reader() {
    use std::os::unix::{ffi::OsStrExt, fs::symlink};
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("cat");
    fs::create_dir(&class).unwrap();
    fs::write(class.join("a.png"), png(1, 1, 0)).unwrap();
    // A link to itself, and one to the folder above.
    symlink("loop.png", class.join("loop.png")).unwrap();
    assert_says(&refusal(folder.path()), &["cat/loop.png", "no link to itself"]);
    fs::remove_file(class.join("loop.png")).unwrap();
    symlink("..", class.join("up")).unwrap();
    assert_says(&refusal(folder.path()), &["cat/up: content = a folder"]);
    fs::remove_file(class.join("up")).unwrap();
    assert!(open(folder.path()).is_ok());
    #[cfg(target_os = "linux")]
    {
        fs::create_dir(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff"))).unwrap();
        assert_says(&refusal(folder.path()), &["name of the class = no UTF-8", "Rename"]);
    }
}

/// PNG that announces a size, with its checksum, and no data.
fn announced_png(height: u32, width: u32) -> Vec<u8> {
    let mut bytes = png(1, 1, 0);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let sum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// CRC-32 of PNG, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[test]
fn image_bombs_are_refused_before_they_are_decoded() {
    let too_many = decode(&announced_png(1 << 16, 1 << 16)).unwrap_err().to_string();
    assert_says(&too_many, &["size = 65536 x 65536: must have at most"]);
    let too_dense = decode(&announced_png(8000, 8000)).unwrap_err().to_string();
    assert_says(&too_dense, &["size = 8000 x 8000: must be at most 2048 times"]);
    let huge = decode(&announced_png(u32::MAX, u32::MAX)).unwrap_err().to_string();
    assert!(huge.contains("size = ") || huge.contains("image = broken"), "{huge}");
    // What is there is read, however well it is compressed.
    assert!(decode(&png(4000, 4000, 255)).is_ok());
    let mut bits = vec![];
    let mut encoder = png::Encoder::new(&mut bits, 8000, 8000);
    encoder.set_depth(png::BitDepth::One);
    encoder.write_header().unwrap().write_image_data(&[0; 8000 * 1000]).unwrap();
    assert!(decode(&bits).is_ok());
}

/// The decoder would fill what is missing with grey.
#[test]
fn a_jpeg_that_is_cut_short_is_refused() {
    let records = Records::read();
    let bytes = records.file("rgb.jpg");
    assert_eq!(decode(bytes).unwrap().dim(), (3, 11, 13));
    for end in [bytes.len() - 1, bytes.len() - 100, bytes.len() / 2, 100, 3] {
        assert_says(&decode(&bytes[..end]).unwrap_err().to_string(), &["image = broken: must be whole"]);
    }
}

#[test]
fn tar_files_that_lie_are_refused_with_the_entry() {
    let image = png(1, 1, 0);
    let refused = |entries: &[(&str, &[u8])]| refused_file("x.tar", &tar(entries));
    assert_says(&refused(&[("1.png", &image)]), &["entry '1': class = none", ".cls"]);
    assert_says(&refused(&[("1.cls", b"0")]), &["entry '1': image = none"]);
    let twice = refused(&[("1.png", &image), ("1.jpg", &image), ("1.cls", b"0")]);
    assert_says(&twice, &["entry '1.jpg': key = given twice"]);
    for class in [&b"cat"[..], b"-1", b"", b"\xff", &[b'1'; 100]] {
        assert_says(&refused(&[("1.png", &image), ("1.cls", class)]), &["entry '1.cls': class = no number"]);
    }
    let gap = refused(&[("1.png", &image), ("1.cls", b"1000000000000")]);
    assert_says(&gap, &["label = 1000000000000: must be below the number of images, 1"]);
    assert_says(&refused(&[("1.txt", b"hello")]), &["images = 0"]);
    let broken = refused(&[("1.png", &image[..20]), ("1.cls", b"0")]);
    assert_says(&broken, &["entry '1.png': image = broken"]);
    // A size that the file does not have, and a file that is cut.
    let mut bytes = tar(&[("1.png", &image), ("1.cls", b"0")]);
    assert_says(&refused_file("x.tar", &bytes[..700]), &["x.tar"]);
    bytes[124..136].copy_from_slice(b"77777777777\0");
    let sum: u32 = bytes[..148].iter().chain(&[b' '; 8]).chain(&bytes[156..512]).map(|b| u32::from(*b)).sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_says(&refused_file("x.tar", &bytes), &["entry '1.png': size = 8589934591 bytes: must end within"]);
    assert_says(&refused_file("x.tgz", &gzip(&tar(&[("1.png", &image)]))), &["tar archive in gzip"]);
}

#[cfg(unix)]
#[test]
fn devices_are_refused() {
    assert_says(&open("/dev/zero".as_ref()).err().unwrap().to_string(), &["must be a regular file"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes of any kind, and good files with a byte changed or cut short, are read or refused.
    #[test]
    fn no_bytes_bring_the_readers_down(
        noise in prop::collection::vec(any::<u8>(), 0..600),
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let image = png(3, 2, 9);
        let good = [
            image.clone(),
            idx(&[2, 2, 2], &[1; 8]),
            npy(&npy_header("|u1", "(2, 2, 2)"), &[1; 8]),
            tar(&[("1.png", &image), ("1.cls", b"0")]),
            gzip(&idx(&[2, 2, 2], &[1; 8])),
            noise.clone(),
            [&b"\x93NUMPY\x01\x00"[..], &noise].concat(),
            [&[0, 0, 8, 3][..], &noise].concat(),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("images");
        let labels = folder.path().join("labels");
        fs::write(&labels, idx(&[2], &[0, 1])).unwrap();
        for bytes in good {
            let mut changed = bytes.clone();
            if !changed.is_empty() {
                let place = at.index(changed.len());
                changed[place] = to;
            }
            for bytes in [&changed[..], &bytes[..cut.index(bytes.len() + 1)]] {
                let _ = decode(bytes);
                fs::write(&path, bytes).unwrap();
                if let Ok(opened) = open(&path) {
                    for i in 0..opened.images.count() {
                        let _ = opened.images.image(i);
                    }
                }
                let _ = readers::numpy::open(&path, &labels);
                let _ = readers::digits::open(&path);
                let _ = readers::shards::TarShards::open(&path).map(|read| read.images.image(0));
            }
        }
    }
}
