//! Files of arrays and tables that lie: idx, NumPy, CIFAR, digits.

use crate::{assert_says, gzip, idx, npy, npy_header, refused_file, refused_folder};

#[test]
fn idx_files_that_lie_are_refused() {
    let folder = |images: &[u8], labels: &[u8]| {
        refused_folder(&[("a-images-idx3-ubyte", images), ("a-labels-idx1-ubyte", labels)])
    };
    let (images, labels) = (idx(&[2, 1, 1], &[0, 0]), idx(&[2], &[0, 1]));
    let million = idx(&[1_000_000, 1_000, 1_000], &[0; 8]);
    let message = ["data of shape (1000000, 1000, 1000) = 1000000000000 bytes: must be at most 24"];
    assert_says(&folder(&million, &labels), &message);
    assert_says(&folder(&idx(&[u32::MAX; 3], &[0; 8]), &labels), &["must be at most"]);
    assert_says(&folder(&idx(&[3, 1, 1], &[0, 0]), &labels), &["must be in the file; it ends after 2"]);
    assert_says(&folder(&idx(&[1, 1, 1], &[0, 0]), &labels), &["longer than announced"]);
    assert_says(&folder(&images, &idx(&[3], &[0, 1, 1])), &["labels = 3: must be as many"]);
    assert_says(&folder(&images, &idx(&[2], &[0, 2])), &["label = 2: must be below the number of images, 2"]);
    assert_says(&folder(&idx(&[3, 1, 1], &[0; 3]), &idx(&[3], &[0, 2, 2])), &["class '1' = 0"]);
    assert_says(&folder(&images, b"xxxxxx"), &["magic number = 78 78 78 78"]);
    assert_says(&folder(&idx(&[0, 1, 1], &[]), &idx(&[0], &[])), &["images = 0: must be at least one"]);
    assert_says(&folder(&idx(&[2, 0, 1], &[]), &labels), &["no side of 0"]);
    assert_says(&refused_file("labels", &labels), &["idx file of labels"]);
    assert_says(&refused_file("x", &images), &["name = without 'images'"]);
    assert_says(&refused_folder(&[("images", &images)]), &["labels", "Give the path"]);
    // In gzip: a size that no compression reaches, a stream that is cut, a bomb that is longer than its header says.
    assert_says(&folder(&gzip(&idx(&[1_000_000, 1_000, 1_000], &[0; 8])), &labels), &["by the length of the file"]);
    let whole = gzip(&idx(&[2, 100, 100], &[7; 20_000]));
    assert_says(&folder(&whole[..whole.len() - 12], &labels), &["data = broken"]);
    assert_says(&folder(&gzip(&idx(&[2, 1, 1], &vec![0; 10_000_000])), &labels), &["longer than announced"]);
}

#[test]
fn numpy_files_that_lie_are_refused() {
    let pair = |images: &[u8], labels: &[u8]| refused_folder(&[("x.npy", images), ("y.npy", labels)]);
    let labels = npy(&npy_header("|u1", "(2,)"), &[0, 1]);
    let image = |kind: &str, shape: &str, data: &[u8]| npy(&npy_header(kind, shape), data);
    let bomb = image("|u1", "(1000000, 1000, 1000)", &[0; 2]);
    assert_says(&pair(&bomb, &labels), &["x.npy: shape = [1000000, 1000, 1000]: must fill the 2 bytes"]);
    assert_says(&pair(&image("|u1", "(18446744073709551615, 2, 2)", &[0; 2]), &labels), &["must fill"]);
    assert_says(&pair(&image("<f8", "(2, 1, 1)", &[0; 16]), &labels), &["type = f8", "x.astype('float32')"]);
    assert_says(&pair(&image("|u1", "(2, 1)", &[0; 2]), &labels), &["(N, H, W)"]);
    assert_says(&pair(&image("|u1", "(2, 3, 1, 2)", &[0; 12]), &labels), &["transpose(0, 2, 3, 1)"]);
    assert_says(&pair(&image("|u1", "(0, 1, 1)", &[]), &labels), &["no 0"]);
    let nan = [f32::NAN.to_le_bytes(), [0; 4]].concat();
    assert_says(&pair(&image("<f4", "(2, 1, 1)", &nan), &labels), &["entry [0, 0, 0] = NaN"]);
    let good = image("|u1", "(2, 1, 1)", &[0; 2]);
    let negative = npy(&npy_header("|i1", "(2,)"), &[0, 255]);
    assert_says(&pair(&good, &negative), &["label 1 = -1: must be a whole number >= 0"]);
    let far = npy(&npy_header("<u8", "(2,)"), &[[0; 8], [255; 8]].concat());
    assert_says(&pair(&good, &far), &["label = 18446744073709551615: must be below the number of images, 2"]);
    assert_says(&pair(&good, &npy(&npy_header("<f4", "(2,)"), &[0; 8])), &["an integer type"]);
    assert_says(&pair(&good, &good), &["NumPy files of images and labels = 2 and 0"]);
    assert_says(&pair(&good, b"\x93NUMPY"), &["first bytes = others: must be those of numpy.save"]);
    let long = [&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], &[b' '; 100]].concat();
    assert_says(&pair(&good, &long), &["header = 4294967295 bytes"]);
    assert_says(&pair(&good, &npy(&format!("{{'descr': {}", "[".repeat(40)), &[])), &["header = nested"]);
    assert_says(&pair(&good, &npy("no header", &[])), &["header = "]);
}

#[test]
fn cifar_files_that_lie_are_refused() {
    let record = |label: u8| {
        let mut bytes = vec![0; 3073];
        bytes[0] = label;
        bytes
    };
    assert_says(&refused_folder(&[("data_batch_1.bin", &[0; 100])]), &["bytes = 100: must be a multiple of 3073"]);
    assert_says(&refused_folder(&[("data_batch_1.bin", b"")]), &["bytes = 0"]);
    let wrong = [record(1), record(10)].concat();
    assert_says(&refused_folder(&[("data_batch_1.bin", &wrong)]), &["label of record 1 = 10: must be below 10"]);
    assert_says(&refused_folder(&[("data_batch_1.bin", &record(1))]), &["classes = 10: must be at most"]);
    assert_says(&refused_file("x.bin", &wrong), &["content = unknown"]);
    let records: Vec<u8> = (0..10).flat_map(record).collect();
    let names = refused_folder(&[("data_batch_1.bin", &records), ("batches.meta.txt", b"cat\ndog")]);
    assert_says(&names, &["batches.meta.txt: names = 2: must be 10"]);
    let both = refused_folder(&[("data_batch_1.bin", &records), ("train.bin", &records)]);
    assert_says(&both, &["files = neither or both"]);
}

#[test]
fn digits_and_json_that_lie_are_refused() {
    let line = |last: &str| format!("{}{last}\n", "16,".repeat(64));
    assert_says(&refused_file("x.csv", (line("0") + "1,2\n").as_bytes()), &["numbers in line 2 = 2: must be 65"]);
    assert_says(
        &refused_file("x.csv", line("10").as_bytes()),
        &["number 65 of line 1 = 10: must be a whole number from 0 to 9"],
    );
    let level = line("0").replacen("16", "17", 1);
    assert_says(&refused_file("x.csv", level.as_bytes()), &["number 1 of line 1 = 17", "0 to 16"]);
    assert_says(&refused_file("x.csv", line("1").as_bytes()), &["label = 1: must be below the number of images, 1"]);
    let cut = gzip(line("0").repeat(50).as_bytes());
    assert_says(&refused_file("x.csv.gz", &cut[..cut.len() - 9]), &["broken"]);
    let json = |text: &str| refused_folder(&[("0.json", text.as_bytes())]);
    assert_says(&json("{\"data\": [0, 0.5]}"), &["0.json: JSON = number 1, 0.5, is no level"]);
    assert_says(&json("{\"data\": [0, 1.01]}"), &["is no level"]);
    assert_says(&json("{\"data\": [0, 1]}"), &["numbers = 2: must be a multiple of 784"]);
    assert_says(&json("{\"data\": []}"), &["numbers = 0"]);
    assert_says(&json("{\"data\": [0,"), &["JSON = "]);
    assert_says(&json(&"[".repeat(100_000)), &["JSON = "]);
    assert_says(&json(&format!("{{\"data\": [{}0]}}", "0,".repeat(783))), &["1.json", "Give the path"]);
}
