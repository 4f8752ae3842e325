//! Readers of images and of data sets of them.

use crate::files::Files;
use attnlab_images::{MAX_EXPANSION, decode, open};

/// JPEG and PNG: an image has no more pixels than its bytes may encode.
pub fn image(bytes: &[u8]) {
    let Ok(image) = decode(bytes) else { return };
    let (channels, height, width) = image.dim();
    assert!(matches!(channels, 1 | 3));
    // A pixel takes a bit at least.
    assert!((height * width) as u64 <= 8 * MAX_EXPANSION * bytes.len() as u64);
    image.levels().expect("a decoded image has levels");
}

/// Folders of data sets, of every kind: every image has a class, and can be read or is refused.
pub fn dataset(bytes: &[u8]) {
    let names = "train-images-idx3-ubyte train-labels-idx1-ubyte images.npy labels.npy shard.tar digits.csv \
        data_batch_1.bin batches.meta.txt 0.json one/a.png two/b.jpg";
    let names: Vec<_> = names.split(' ').collect();
    let files = Files::new(bytes, &names);
    // Digits are given as a file.
    for path in [files.folder().to_path_buf(), files.at("digits.csv")] {
        let Ok(opened) = open(&path) else { continue };
        let images = opened.images;
        let classes = images.class_names().len();
        assert!(images.count() > 0 && images.labels().iter().all(|label| *label < classes));
        for index in 0..images.count().min(4) {
            let _ = images.image(index);
        }
        assert!(images.image(images.count()).is_err());
    }
}
