//! `unroll` on NumPy files: what NumPy writes is read, and the numbers are those that NumPy computes.

use crate::common::json_lines;
use std::path::PathBuf;
use tempfile::TempDir;

/// `np.save(np.asfortranarray(Z.astype('f4')))` and `np.save(y.astype('i4'))`, byte for byte.
const TOKENS_F4_FORTRAN: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': True, 'shape': (4, 4), }                                                           \n\x00\x00\x00@\x00\x00\x00?\x00\x00\x80>\x00\x00\x00\xbe\x00\x00\xc0?\x00\x00\x80\xbf\x00\x00\x00>\x00\x00\x80>\x00\x00\x80>\x00\x00\x00>\x00\x00\xe0?\x00\x00\x00?\x00\x00\x00\xbf\x00\x00\x80>\x00\x00\x00\xc0\x00\x00\xa0?";
const LABELS_I4: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }                                                            \n\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00";

/// The same Z, row by row.
const Z: [f64; 16] = [2.0, 1.5, 0.25, -0.5, 0.5, -1.0, 0.125, 0.25, 0.25, 0.125, 1.75, -2.0, -0.125, 0.25, 0.5, 1.25];
const U0: [f64; 8] = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
const U1: [f64; 8] = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0];

/// An `.npy` file as NumPy lays it out (format 1.0, header padded to 64 bytes).
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let padding = 63 - (10 + header.len()) % 64;
    let header = format!("{header}{}\n", " ".repeat(padding));
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn f8(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn i8_labels(values: &[i64]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy("<i8", false, &format!("({},)", values.len()), &data)
}

/// A folder with z.npy, u0.npy, u1.npy and y.npy.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Files(tempfile::tempdir().unwrap());
        files.put("z.npy", &npy("<f8", false, "(4, 4)", &f8(&Z)));
        files.put("u0.npy", &npy("<f8", false, "(4, 2)", &f8(&U0)));
        files.put("u1.npy", &npy("<f8", false, "(4, 2)", &f8(&U1)));
        files.put("y.npy", &i8_labels(&[0, 0, 1, 1]));
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// `unroll` on the four files with more arguments; words that begin with `@` become paths.
    fn args(&self, rest: &[&str]) -> Vec<String> {
        "unroll --tokens @z.npy --bases @u0.npy @u1.npy --labels @y.npy"
            .split(' ')
            .chain(rest.iter().copied())
            .map(|word| word.strip_prefix('@').map_or(word.into(), |name| self.path(name).display().to_string()))
            .collect()
    }

    fn snr(&self, rest: &[&str]) -> Vec<Vec<Option<f64>>> {
        let args = self.args(&[rest, &["--json"]].concat());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let value = |v: &serde_json::Value| v.as_f64();
        json_lines(&args)
            .iter()
            .enumerate()
            .map(|(l, line)| {
                assert_eq!(line["layer"], l);
                line["snr"].as_array().unwrap().iter().map(value).collect()
            })
            .collect()
    }
}

fn close(snr: &[Vec<Option<f64>>], expected: &[[f64; 2]], tolerance: f64) {
    assert_eq!(snr.len(), expected.len());
    for (row, expected) in snr.iter().zip(expected) {
        for (a, b) in row.iter().zip(expected) {
            let a = a.unwrap();
            assert!((a - b).abs() <= tolerance * b, "{a} instead of {b}");
        }
    }
}

/// Made with NumPy 2 by the formula itself:
/// `S = (U.T@Z).T @ Q; W = exp(S - S.max(0)); W /= W.sum(0); Z = Z + .5*U@((U.T@Z)@W)` for each U.
const SOFTMAX: [[f64; 2]; 3] = [
    [6.928203230275509, 4.766550115125193],
    [5.526870225368312, 4.87282988307379],
    [3.6750596461842444, 3.294337219532253],
];
/// The same with queries of unit length and the upper triangle (keys i <= j) of the scores only.
const CAUSAL: [[f64; 2]; 3] = [
    [6.928203230275509, 4.766550115125193],
    [7.321027528310488, 3.2990798553348495],
    [7.60760729452483, 2.3802911254356958],
];

#[test]
fn snr_per_layer_is_numpys() {
    let files = Files::new();
    close(&files.snr(&["--layers", "2"]), &SOFTMAX, 1e-13);
    close(&files.snr(&["--layers", "2", "--mask", "causal", "--normalise-queries"]), &CAUSAL, 1e-13);
    // Single precision keeps about seven digits.
    close(&files.snr(&["--layers", "2", "--precision", "f32"]), &SOFTMAX, 1e-5);
}

/// These weights do not depend on the unit of the tokens, and so the SNR does not.
#[test]
fn the_unit_of_the_tokens_does_not_matter() {
    let files = Files::new();
    let snr = |unit: f64| {
        files.put("z.npy", &npy("<f8", false, "(4, 4)", &f8(&Z.map(|x| x * unit))));
        files.snr(&["--layers", "3", "--phi", "relu-normalised"])
    };
    let expected = snr(1.0);
    for unit in [1e-89, 1e-50, 1e50, 1e85] {
        for (row, expected) in snr(unit).iter().zip(&expected) {
            for (a, b) in row.iter().zip(expected) {
                let (a, b) = (a.unwrap(), b.unwrap());
                // Some dozen operations on each number.
                assert!((a / b - 1.0).abs() < 256.0 * f64::EPSILON, "{unit:e}: {a} instead of {b}");
            }
        }
    }
}

#[test]
fn every_layout_that_numpy_writes_is_read() {
    let files = Files::new();
    let expected = files.snr(&["--layers", "3"]);
    // Single precision, columns first, 32-bit labels: the values of Z are exact in float32.
    files.put("z.npy", TOKENS_F4_FORTRAN);
    files.put("y.npy", LABELS_I4);
    assert_eq!(files.snr(&["--layers", "3"]), expected);
    let big: Vec<u8> = Z.iter().flat_map(|x| x.to_be_bytes()).collect();
    files.put("z.npy", &npy(">f8", false, "(4, 4)", &big));
    assert_eq!(files.snr(&["--layers", "3"]), expected);
    for (descr, data) in [
        ("|u1", vec![0, 0, 1, 1]),
        ("|i1", vec![0, 0, 1, 1]),
        ("<u2", vec![0, 0, 0, 0, 1, 0, 1, 0]),
        (">i2", vec![0, 0, 0, 0, 0, 1, 0, 1]),
    ] {
        files.put("y.npy", &npy(descr, false, "(4,)", &data));
        assert_eq!(files.snr(&["--layers", "3"]), expected, "{descr}");
    }
}

#[test]
fn theorem_1_on_ones_own_data() {
    use attnlab::{rng::Streams, sample::Mixture};
    let draw = Mixture::balanced(60, 2, 40, 0.05).unwrap().draw(&Streams::new(1, "tests.unroll", 0, 0)).unwrap();
    let files = Files::new();
    let put = |name: &str, a: &ndarray::Array2<f64>| {
        attnlab::npy::write(a, std::fs::File::create(files.path(name)).unwrap()).unwrap();
    };
    put("z.npy", &draw.tokens);
    put("u0.npy", &draw.bases[0]);
    put("u1.npy", &draw.bases[1]);
    files.put("y.npy", &i8_labels(&draw.labels.iter().map(|k| *k as i64).collect::<Vec<_>>()));
    for layers in files.snr(&["--layers", "3", "--phi", "thresholded-softmax", "--tau", "0.6"]).windows(2) {
        for (before, after) in layers[0].iter().zip(&layers[1]) {
            let ratio = after.unwrap() / before.unwrap();
            assert!((ratio - 1.3).abs() < 1e-11, "1 + eta tau, Eq. (8): {ratio}");
        }
    }
}

#[test]
fn files_are_written_whole() {
    let files = Files::new();
    let expected = files.snr(&["--layers", "1", "--csv", "@rows.csv", "--save-tokens", "@out.npy"]);
    let csv = std::fs::read_to_string(files.path("rows.csv")).unwrap();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines[0], "layer,snr_0,snr_1");
    assert_eq!(lines[2], format!("1,{},{}", expected[1][0].unwrap(), expected[1][1].unwrap()));
    let z = attnlab::npy::read::<f64>(std::fs::File::open(files.path("out.npy")).unwrap()).unwrap();
    assert_eq!(z.shape(), &[4, 4]);
    // The last Z goes on where the run stopped.
    std::fs::copy(files.path("out.npy"), files.path("z.npy")).unwrap();
    close(&files.snr(&["--layers", "1"]), &SOFTMAX[1..], 1e-13);
}
