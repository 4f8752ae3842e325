//! Files that lie, are cut short or are something else: a message that names them, no panic, no memory.

use crate::{gzip, idx, npy, npy_header, png, tar};
use attnlab_core::error::Error;
use attnlab_images::{LabelledImages, decode, open, readers};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// Message of the refusal of a path; every image that can be read is read.
fn refusal(path: &Path) -> String {
    let read = open(path).and_then(|opened| {
        (0..opened.images.count()).try_for_each(|i| opened.images.image(i).map(|_| ()))
    });
    let error = read.expect_err("must be refused");
    assert!(
        matches!(error, Error::Io { .. } | Error::Content { .. }),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    text
}

/// The same of a file with this name and content.
fn refused_file(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    refusal(&path)
}

/// The same of a folder with these files.
fn refused_folder(files: &[(&str, &[u8])]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    refusal(folder.path())
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
}

#[test]
fn what_is_no_data_set_is_refused_with_the_list_of_kinds() {
    assert_says(
        &refused_file("x", b""),
        &["content = unknown", "tar shards"],
    );
    assert_says(&refused_file("x", b"hello"), &["content = unknown"]);
    assert_says(
        &refused_file("x.png", &png(1, 1, 0)),
        &["one image", "folder"],
    );
    assert_says(
        &refused_file("x.npz", b"PK\x03\x04...."),
        &["zip archive", "Unpack"],
    );
    assert_says(
        &refused_folder(&[("x.txt", b"hello")]),
        &["content = unknown"],
    );
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
    assert_says(
        &deep,
        &["cat/sub: content = a folder", "Open the folder above"],
    );
    let broken = refused_folder(&[("cat/a.png", &image[..image.len() / 2])]);
    assert_says(&broken, &["cat/a.png: image = broken"]);
    let other = refused_folder(&[("cat/a.jpg", b"GIF89a")]);
    assert_says(&other, &["cat/a.jpg: first bytes = 47 49 46 38", "Convert"]);
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
    assert_says(
        &refusal(folder.path()),
        &["cat/loop.png", "no link to itself"],
    );
    fs::remove_file(class.join("loop.png")).unwrap();
    symlink("..", class.join("up")).unwrap();
    assert_says(&refusal(folder.path()), &["cat/up: content = a folder"]);
    fs::remove_file(class.join("up")).unwrap();
    assert!(open(folder.path()).is_ok());
    #[cfg(target_os = "linux")]
    {
        fs::create_dir(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff"))).unwrap();
        assert_says(
            &refusal(folder.path()),
            &["name of the class = no UTF-8", "Rename"],
        );
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
            sum = if sum & 1 == 1 {
                (sum >> 1) ^ 0xedb8_8320
            } else {
                sum >> 1
            };
        }
    }
    !sum
}

#[test]
fn image_bombs_are_refused_before_they_are_decoded() {
    let too_many = decode(&announced_png(1 << 16, 1 << 16))
        .unwrap_err()
        .to_string();
    assert_says(&too_many, &["size = 65536 x 65536: must have at most"]);
    let too_dense = decode(&announced_png(8000, 8000)).unwrap_err().to_string();
    assert_says(
        &too_dense,
        &["size = 8000 x 8000: must be at most 2048 times"],
    );
    let huge = decode(&announced_png(u32::MAX, u32::MAX))
        .unwrap_err()
        .to_string();
    assert!(
        huge.contains("size = ") || huge.contains("image = broken"),
        "{huge}"
    );
    // What is there is read, however well it is compressed.
    assert!(decode(&png(4000, 4000, 255)).is_ok());
}

#[test]
fn idx_files_that_lie_are_refused() {
    let folder = |images: &[u8], labels: &[u8]| {
        refused_folder(&[
            ("a-images-idx3-ubyte", images),
            ("a-labels-idx1-ubyte", labels),
        ])
    };
    let (images, labels) = (idx(&[2, 1, 1], &[0, 0]), idx(&[2], &[0, 1]));
    let million = idx(&[1_000_000, 1_000, 1_000], &[0; 8]);
    let message = ["data of shape (1000000, 1000, 1000) = 1000000000000 bytes: must be at most 24"];
    assert_says(&folder(&million, &labels), &message);
    assert_says(
        &folder(&idx(&[u32::MAX; 3], &[0; 8]), &labels),
        &["must be at most"],
    );
    assert_says(
        &folder(&idx(&[3, 1, 1], &[0, 0]), &labels),
        &["must be in the file; it ends after 2"],
    );
    assert_says(
        &folder(&idx(&[1, 1, 1], &[0, 0]), &labels),
        &["longer than announced"],
    );
    assert_says(
        &folder(&images, &idx(&[3], &[0, 1, 1])),
        &["labels = 3: must be as many"],
    );
    assert_says(
        &folder(&images, &idx(&[2], &[0, 2])),
        &["label = 2: must be below the number of images, 2"],
    );
    assert_says(
        &folder(&idx(&[3, 1, 1], &[0; 3]), &idx(&[3], &[0, 2, 2])),
        &["class '1' = 0"],
    );
    assert_says(&folder(&images, b"xxxxxx"), &["magic number = 78 78 78 78"]);
    assert_says(
        &folder(&idx(&[0, 1, 1], &[]), &idx(&[0], &[])),
        &["images = 0: must be at least one"],
    );
    assert_says(&folder(&idx(&[2, 0, 1], &[]), &labels), &["no side of 0"]);
    assert_says(&refused_file("labels", &labels), &["idx file of labels"]);
    assert_says(&refused_file("x", &images), &["name = without 'images'"]);
    assert_says(
        &refused_folder(&[("images", &images)]),
        &["labels", "Give the path"],
    );
    // In gzip: a size that no compression reaches, a stream that is cut, a bomb that is longer than its header says.
    let lie = gzip(&idx(&[1_000_000, 1_000, 1_000], &[0; 8]));
    assert_says(&folder(&lie, &labels), &["by the length of the file"]);
    let whole = gzip(&idx(&[2, 100, 100], &[7; 20_000]));
    assert_says(
        &folder(&whole[..whole.len() - 12], &labels),
        &["data = broken"],
    );
    let bomb = gzip(&idx(&[2, 1, 1], &vec![0; 10_000_000]));
    assert_says(&folder(&bomb, &labels), &["longer than announced"]);
}

#[test]
fn numpy_files_that_lie_are_refused() {
    let pair =
        |images: &[u8], labels: &[u8]| refused_folder(&[("x.npy", images), ("y.npy", labels)]);
    let labels = npy(&npy_header("|u1", "(2,)"), &[0, 1]);
    let image = |kind: &str, shape: &str, data: &[u8]| npy(&npy_header(kind, shape), data);
    let bomb = image("|u1", "(1000000, 1000, 1000)", &[0; 2]);
    assert_says(
        &pair(&bomb, &labels),
        &["x.npy: shape = [1000000, 1000, 1000]: must fill the 2 bytes"],
    );
    let overflow = image("|u1", "(18446744073709551615, 2, 2)", &[0; 2]);
    assert_says(&pair(&overflow, &labels), &["must fill"]);
    assert_says(
        &pair(&image("<f8", "(2, 1, 1)", &[0; 16]), &labels),
        &["type = f8", "x.astype('float32')"],
    );
    assert_says(
        &pair(&image("|u1", "(2, 1)", &[0; 2]), &labels),
        &["(N, H, W)"],
    );
    assert_says(
        &pair(&image("|u1", "(2, 3, 1, 2)", &[0; 12]), &labels),
        &["transpose(0, 2, 3, 1)"],
    );
    assert_says(&pair(&image("|u1", "(0, 1, 1)", &[]), &labels), &["no 0"]);
    let nan = [f32::NAN.to_le_bytes(), [0; 4]].concat();
    assert_says(
        &pair(&image("<f4", "(2, 1, 1)", &nan), &labels),
        &["entry [0, 0, 0] = NaN"],
    );
    let good = image("|u1", "(2, 1, 1)", &[0; 2]);
    let negative = npy(&npy_header("|i1", "(2,)"), &[0, 255]);
    assert_says(
        &pair(&good, &negative),
        &["label 1 = -1: must be a whole number >= 0"],
    );
    let far = npy(&npy_header("<u8", "(2,)"), &[[0; 8], [255; 8]].concat());
    assert_says(
        &pair(&good, &far),
        &["label = 18446744073709551615: must be below the number of images, 2"],
    );
    assert_says(
        &pair(&good, &npy(&npy_header("<f4", "(2,)"), &[0; 8])),
        &["an integer type"],
    );
    assert_says(
        &pair(&good, &good),
        &["NumPy files of images and labels = 2 and 0"],
    );
    assert_says(
        &pair(&good, b"\x93NUMPY"),
        &["first bytes: must be those of numpy.save"],
    );
    // A header of 4 GB, and one so deep that its parser would overflow the stack.
    let long = [&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], &[b' '; 100]].concat();
    assert_says(&pair(&good, &long), &["header = 4294967295 bytes"]);
    let deep = npy(&"(".repeat(60_000), &[]);
    assert_says(&pair(&good, &deep), &["header = nested"]);
    assert_says(&pair(&good, &npy("no header", &[])), &["header = "]);
}

#[test]
fn tar_files_that_lie_are_refused_with_the_entry() {
    let image = png(1, 1, 0);
    let refused = |entries: &[(&str, &[u8])]| refused_file("x.tar", &tar(entries));
    assert_says(
        &refused(&[("1.png", &image)]),
        &["entry '1': class = none", ".cls"],
    );
    assert_says(&refused(&[("1.cls", b"0")]), &["entry '1': image = none"]);
    let twice = refused(&[("1.png", &image), ("1.jpg", &image), ("1.cls", b"0")]);
    assert_says(&twice, &["entry '1.jpg': key = given twice"]);
    for class in [&b"cat"[..], b"-1", b"", b"\xff", &[b'1'; 100]] {
        let text = refused(&[("1.png", &image), ("1.cls", class)]);
        assert_says(&text, &["entry '1.cls': class = no number"]);
    }
    let gap = refused(&[("1.png", &image), ("1.cls", b"1000000000000")]);
    assert_says(
        &gap,
        &["label = 1000000000000: must be below the number of images, 1"],
    );
    assert_says(&refused(&[("1.txt", b"hello")]), &["images = 0"]);
    let broken = refused(&[("1.png", &image[..20]), ("1.cls", b"0")]);
    assert_says(&broken, &["entry '1.png': image = broken"]);
    // A size that the file does not have, and a file that is cut.
    let mut bytes = tar(&[("1.png", &image), ("1.cls", b"0")]);
    assert_says(&refused_file("x.tar", &bytes[..700]), &["x.tar"]);
    bytes[124..136].copy_from_slice(b"77777777777\0");
    let sum: u32 = bytes[..148]
        .iter()
        .chain(&[b' '; 8])
        .chain(&bytes[156..512])
        .map(|b| u32::from(*b))
        .sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_says(
        &refused_file("x.tar", &bytes),
        &["entry '1.png': size = 8589934591 bytes: must end within"],
    );
    assert_says(
        &refused_file("x.tgz", &gzip(&tar(&[("1.png", &image)]))),
        &["tar archive in gzip"],
    );
}

#[test]
fn cifar_files_that_lie_are_refused() {
    let record = |label: u8| {
        let mut bytes = vec![0; 3073];
        bytes[0] = label;
        bytes
    };
    assert_says(
        &refused_folder(&[("data_batch_1.bin", &[0; 100])]),
        &["bytes = 100: must be a multiple of 3073"],
    );
    assert_says(
        &refused_folder(&[("data_batch_1.bin", b"")]),
        &["bytes = 0"],
    );
    let wrong = [record(1), record(10)].concat();
    assert_says(
        &refused_folder(&[("data_batch_1.bin", &wrong)]),
        &["label of record 1 = 10: must be below 10"],
    );
    assert_says(
        &refused_folder(&[("data_batch_1.bin", &record(1))]),
        &["classes = 10: must be at most"],
    );
    assert_says(&refused_file("x.bin", &wrong), &["content = unknown"]);
    let all: Vec<u8> = (0..10).flat_map(record).collect();
    let names = refused_folder(&[
        ("data_batch_1.bin", &all),
        ("batches.meta.txt", b"cat\ndog"),
    ]);
    assert_says(&names, &["batches.meta.txt: names = 2: must be 10"]);
    let both = refused_folder(&[("data_batch_1.bin", &all), ("train.bin", &all)]);
    assert_says(&both, &["files = neither or both"]);
}

#[test]
fn digits_and_json_that_lie_are_refused() {
    let line = |last: &str| format!("{}{last}\n", "16,".repeat(64));
    assert_says(
        &refused_file("x.csv", (line("0") + "1,2\n").as_bytes()),
        &["numbers in line 2 = 2: must be 65"],
    );
    assert_says(
        &refused_file("x.csv", line("10").as_bytes()),
        &["number 65 of line 1 = 10: must be a whole number from 0 to 9"],
    );
    let level = line("0").replacen("16", "17", 1);
    assert_says(
        &refused_file("x.csv", level.as_bytes()),
        &["number 1 of line 1 = 17", "0 to 16"],
    );
    assert_says(
        &refused_file("x.csv", line("1").as_bytes()),
        &["label = 1: must be below the number of images, 1"],
    );
    let cut = gzip(line("0").repeat(50).as_bytes());
    assert_says(
        &refused_file("x.csv.gz", &cut[..cut.len() - 9]),
        &["broken"],
    );
    let json = |text: &str| refused_folder(&[("0.json", text.as_bytes())]);
    assert_says(
        &json("{\"data\": [0, 0.5]}"),
        &["0.json: JSON = number 1, 0.5, is no level"],
    );
    assert_says(&json("{\"data\": [0, 1.01]}"), &["is no level"]);
    assert_says(
        &json("{\"data\": [0, 1]}"),
        &["numbers = 2: must be a multiple of 784"],
    );
    assert_says(&json("{\"data\": []}"), &["numbers = 0"]);
    assert_says(&json("{\"data\": [0,"), &["JSON = "]);
    assert_says(&json(&"[".repeat(100_000)), &["JSON = "]);
    let one = format!("{{\"data\": [{}0]}}", "0,".repeat(783));
    assert_says(&json(&one), &["1.json", "Give the path"]);
}

#[cfg(unix)]
#[test]
fn devices_are_refused() {
    let error = open("/dev/zero".as_ref()).err().unwrap().to_string();
    assert_says(&error, &["must be a regular file"]);
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
            let short = &bytes[..cut.index(bytes.len() + 1)];
            for bytes in [&changed[..], short] {
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
