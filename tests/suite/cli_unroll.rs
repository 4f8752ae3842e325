//! `unroll` on NumPy files: what NumPy writes is read, what does not fit is refused with its place.

use crate::common::{attnlab, json_lines, refused};
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
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
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
        let all = "unroll --tokens @z.npy --bases @u0.npy @u1.npy --labels @y.npy";
        all.split(' ')
            .chain(rest.iter().copied())
            .map(|word| match word.strip_prefix('@') {
                Some(name) => self.path(name).display().to_string(),
                None => word.to_string(),
            })
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

    fn refused(&self, rest: &[&str], message: &str) {
        let args = self.args(rest);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        refused(&args, &message.replace('@', &format!("{}/", self.0.path().display())));
    }
}

fn close(found: &[Vec<Option<f64>>], expected: &[[f64; 2]], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        for (a, b) in found.iter().zip(expected) {
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
    let causal = ["--layers", "2", "--mask", "causal", "--normalise-queries"];
    close(&files.snr(&causal), &CAUSAL, 1e-13);
    // Single precision keeps about seven digits.
    close(&files.snr(&["--layers", "2", "--precision", "f32"]), &SOFTMAX, 1e-5);
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
    let draw = Mixture::balanced(60, 2, 40, 0.05).unwrap();
    let draw = draw.draw(&Streams::new(1, "tests.unroll", 0, 0)).unwrap();
    let files = Files::new();
    let put = |name: &str, a: &ndarray::Array2<f64>| {
        ndarray_npy::write_npy(files.path(name), a).unwrap();
    };
    put("z.npy", &draw.tokens);
    put("u0.npy", &draw.bases[0]);
    put("u1.npy", &draw.bases[1]);
    files.put("y.npy", &i8_labels(&draw.labels.iter().map(|k| *k as i64).collect::<Vec<_>>()));
    let rows = files.snr(&["--layers", "3", "--phi", "thresholded-softmax", "--tau", "0.6"]);
    for layers in rows.windows(2) {
        for (before, after) in layers[0].iter().zip(&layers[1]) {
            let ratio = after.unwrap() / before.unwrap();
            assert!((ratio - 1.3).abs() < 1e-11, "1 + eta tau, Eq. (8): {ratio}");
        }
    }
}

#[test]
fn files_are_written_whole_and_never_over_others() {
    let files = Files::new();
    let all = ["--layers", "1", "--csv", "@rows.csv", "--save-tokens", "@out.npy"];
    let expected = files.snr(&all);
    let csv = std::fs::read_to_string(files.path("rows.csv")).unwrap();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines[0], "layer,snr_0,snr_1");
    assert_eq!(lines[2], format!("1,{},{}", expected[1][0].unwrap(), expected[1][1].unwrap()));
    let z: ndarray::Array2<f64> = ndarray_npy::read_npy(files.path("out.npy")).unwrap();
    assert_eq!(z.dim(), (4, 4));
    // The last Z goes on where the run stopped.
    std::fs::copy(files.path("out.npy"), files.path("z.npy")).unwrap();
    close(&files.snr(&["--layers", "1"]), &SOFTMAX[1..], 1e-13);
    files.refused(&all, "@rows.csv: entity already exists. Write --force to replace it, or another name");
    files.put("rows.csv", b"old");
    files.snr(&[&all[..], &["--force"]].concat());
    assert!(std::fs::read_to_string(files.path("rows.csv")).unwrap().starts_with("layer,"));
    files.refused(&["--csv", "@missing/rows.csv"], "@missing: entity not found. Create this folder first");
}

#[test]
fn what_does_not_fit_is_refused() {
    let cases: [(&str, Vec<u8>, &str); 13] = [
        (
            "z.npy",
            npy("<f8", false, "(4, 4)", &f8(&Z.map(|x| if x == 1.25 { f64::NAN } else { x }))),
            "tokens[3, 3] = NaN: must be a finite number, in @z.npy",
        ),
        (
            "z.npy",
            npy("<f8", false, "(4,)", &f8(&Z[..4])),
            "tokens has shape (4,), expected two dimensions, (d, N) for tokens and (d, p) for a basis, none of them 0",
        ),
        (
            "z.npy",
            npy("<f8", false, "(4, 4)", &f8(&Z[..9])),
            "@z.npy: 72 bytes of data do not fill the shape (4, 4) of its header: is the file complete?",
        ),
        (
            "z.npy",
            npy("<f8", false, "(4294967296, 4294967296)", &f8(&Z)),
            "@z.npy: 128 bytes of data do not fill the shape (4294967296, 4294967296) of its header: is the file complete?",
        ),
        (
            "z.npy",
            npy("<i8", false, "(4, 4)", &f8(&Z)),
            "@z.npy: tokens has the NumPy type i8, expected float32 or float64: write z.astype('float64')",
        ),
        (
            "u1.npy",
            npy("<f8", false, "(2, 4)", &f8(&U1)),
            "bases[1] has shape (2, 4), expected (d, p) with d = 4 as the tokens have",
        ),
        (
            "u1.npy",
            npy("<f8", false, "(4, 2)", &f8(&U1.map(|x| 2.0 * x))),
            "|U'U - I| of bases[1] = 3.0e0: must be at most 1e-5: the SNR needs orthonormal columns, such as numpy.linalg.qr(u)[0]",
        ),
        (
            "u1.npy",
            npy("<f8", false, "(4, 4)", &f8(&[1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.])),
            "columns of the bases = 6: must be at most d = 4 columns in all: they cannot be orthogonal",
        ),
        ("y.npy", i8_labels(&[0, 0, 1]), "labels has shape (3,), expected (4,), one label per token"),
        ("y.npy", i8_labels(&[0, 0, 2, 1]), "labels[2] = 2: must be a whole number from 0 to 1, one per basis"),
        ("y.npy", i8_labels(&[0, -1, 1, 1]), "labels[1] = -1: must be a whole number from 0 to 1, one per basis"),
        (
            "y.npy",
            npy("<f8", false, "(4,)", &f8(&[0.0, 0.0, 1.0, 1.0])),
            "@y.npy: labels has the NumPy type f8, expected an integer type: write y.astype('int64')",
        ),
        (
            "y.npy",
            b"0,0,1,1".to_vec(),
            "@y.npy: first bytes = others: must be those of numpy.save. Write the file again",
        ),
    ];
    for (name, bytes, message) in cases {
        let files = Files::new();
        files.put(name, &bytes);
        files.refused(&[], message);
    }
    let files = Files::new();
    files.refused(&["--layers", "0"], "layers = 0: must be a whole number >= 1");
    files.refused(&["--eta", "-1"], "eta = -1: must be a finite number > 0");
    files.refused(&["--tau", "1.5", "--phi", "thresholded-softmax"], "tau = 1.5: must be a number in (0, 1]");
    std::fs::remove_file(files.path("z.npy")).unwrap();
    let args = files.args(&[]);
    attnlab(&args.iter().map(String::as_str).collect::<Vec<_>>()).assert().code(2);
}

#[test]
fn what_is_odd_is_said_and_what_explodes_is_stopped() {
    let files = Files::new();
    // Not orthogonal to the first basis; and nobody has the label 1.
    let tilted = [0.6, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0, 1.0];
    files.put("u1.npy", &npy("<f8", false, "(4, 2)", &f8(&tilted)));
    files.put("y.npy", &i8_labels(&[0, 0, 0, 0]));
    let args = files.args(&["--json", "--layers", "1"]);
    let output = attnlab(&args.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(0));
    assert!(error.contains("warning: the bases are not orthogonal to each other"), "{error}");
    assert!(error.contains("warning: no token has the label 1"), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("null"));
    // Linear attention grows like Z^3 per layer.
    let args = Files::args(&files, &["--phi", "linear", "--layers", "30"]);
    let output = attnlab(&args.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(3));
    assert!(error.contains("error: the tokens are no longer finite after layer"), "{error}");
}
