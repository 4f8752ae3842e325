//! `joma_weights` and `attnlab weights` on files with known singular values.

use crate::catalogue;
use attnlab_lab::command::Out;
use attnlab_lab::run::store;
use ndarray::Array2;
use serde_json::json;
use std::fs;
use std::path::Path;

/// A checkpoint with two layers of which every lower matrix is diagonal, (4, 3).
fn put(path: &Path, diagonals: [[f32; 3]; 2]) {
    let mut data = vec![];
    let mut header = serde_json::Map::new();
    for (layer, diagonal) in diagonals.into_iter().enumerate() {
        let w = Array2::from_shape_fn((4, 3), |(i, j)| if i == j { diagonal[j] } else { 0.0 });
        let from = data.len();
        data.extend(w.iter().flat_map(|x| x.to_le_bytes()));
        header.insert(
            format!("layers.{layer}.fc1.weight"),
            json!({"dtype": "F32", "shape": [4, 3], "data_offsets": [from, data.len()]}),
        );
    }
    let header = serde_json::Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    fs::write(path, bytes).unwrap();
}

fn weights(arguments: &[&str]) -> Result<(), String> {
    let catalogue = catalogue();
    let command = catalogue.commands().find(|c| c.describe().get_name() == "weights").unwrap();
    let matches = command.describe().try_get_matches_from(std::iter::once("weights").chain(arguments.iter().copied()));
    command.run(&matches.map_err(|e| e.to_string())?, &mut Out::stdout()).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn stable_ranks_of_diagonal_matrices_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let (checkpoints, out) = (folder.path().join("all"), folder.path().join("out"));
    fs::create_dir(&checkpoints).unwrap();
    put(&checkpoints.join("step0.safetensors"), [[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]]);
    put(&checkpoints.join("step5.safetensors"), [[3.0, 1.0, 1.0], [3.0, 2.0, 1.0]]);
    put(&checkpoints.join("step10.safetensors"), [[2.0, 1.0, 1.0], [5.0, 0.0, 0.0]]);
    let paths = [checkpoints.to_str().unwrap(), "--out", out.to_str().unwrap()];
    weights(&paths).unwrap();
    let rows = store::read(&out).unwrap().rows;
    let ranks: Vec<f64> = rows.iter().map(|r| r.number("stable_rank").unwrap()).collect();
    let expected = [3.0, 11.0 / 9.0, 11.0 / 9.0, 14.0 / 9.0, 1.5, 1.0];
    for (rank, expected) in ranks.iter().zip(expected) {
        assert!((rank - expected).abs() < 1e-12, "{rank} {expected}");
    }
    let steps: Vec<f64> = rows.iter().map(|r| r.parameter("step").unwrap()).collect();
    assert_eq!(steps, [0.0, 0.0, 5.0, 5.0, 10.0, 10.0]);
    for row in &rows {
        // 12/(2 + √3)².
        assert!((row.number("chance").unwrap() - 12.0 / 13.928_203_230_275_51).abs() < 1e-12);
        assert_eq!(row.number("moved").unwrap().is_nan(), row.parameter("step").unwrap() == 0.0);
        // The permuted entries are the same ones: their squares have the same sum.
        assert!(row.series("permuted").unwrap().iter().all(|r| (1.0..=3.0).contains(r)));
        assert_eq!(row.word("tensor").unwrap().len(), "layers.0.fc1.weight".len());
    }
    // W(5) - W(0) of layer 1 is diag(0, 1, 0).
    assert!((rows[3].number("moved").unwrap() - 1.0).abs() < 1e-12);
    assert!((rows[3].number("moved_norm").unwrap() - 1.0 / 11.0_f64.sqrt()).abs() < 1e-12);
    assert!(out.join("joma_weights.svg").exists() && out.join("joma_weights.csv").exists());
    // The same again adds nothing; the report finds the run.
    weights(&paths).unwrap();
    assert_eq!(store::read(&out).unwrap().rows.len(), 6);
}

#[test]
fn what_cannot_be_measured_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let out = path("out");
    put(Path::new(&path("a1.safetensors")), [[1.0; 3]; 2]);
    put(Path::new(&path("a2.safetensors")), [[1.0; 3]; 2]);
    let equal = weights(&[&path("a1.safetensors"), &path("a2.safetensors"), "--out", &out]).unwrap_err();
    assert!(equal.contains("a2") && equal.contains("must differ from"), "{equal}");
    let none = weights(&[&path("a1.safetensors"), "--tensors", "*.up.weight", "--out", &out]).unwrap_err();
    assert!(none.contains("layers.*.fc1.weight") && none.contains("*.up.weight"), "{none}");
    let absent = weights(&[&path("b.safetensors"), "--out", &out]).unwrap_err();
    assert!(absent.contains("b.safetensors"), "{absent}");
    assert!(!Path::new(&out).exists());
    // A later checkpoint of another shape.
    attnlab_networks::npy::write(Path::new(&path("l.0.fc1.weight.npy")), &Array2::ones((2, 2)), false).unwrap();
    let other = weights(&[&path("a1.safetensors"), &path("l.0.fc1.weight.npy"), "--out", &out]).unwrap_err();
    assert!(other.contains("layers.0.fc1.weight"), "{other}");
    let entry = *catalogue().experiment("joma_weights").unwrap();
    assert!(entry.measures_files());
    let bare = entry.configure(false, None, &Default::default()).unwrap();
    assert!(bare.ready().unwrap_err().to_string().contains("attnlab weights"));
}
