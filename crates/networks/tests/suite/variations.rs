//! Every line of `tests/parity/variations.json` against the reference implementation: the network agrees, or is refused
//! as the line says. One line there adds a variation; `tests/parity/variations.py` makes its files.

use crate::parity::{TOLERANCE, ids, worst};
use attnlab_networks::Checkpoint;
use attnlab_networks::transformer::Transformer;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates/networks/tests/parity")
}

/// Checks a line of the table; the error says what is wrong.
fn check(name: &str, line: &Value) -> Result<(), String> {
    let opened = Transformer::open(&folder().join("networks").join(name));
    let Some(refused) = line.get("refused") else {
        let network = opened.map_err(|e| e.to_string())?;
        return agreement(&network, &folder().join("expected").join(format!("{name}.safetensors")));
    };
    let refused = refused.as_str().ok_or("refused must be a text")?;
    match opened {
        Ok(_) => Err(format!("must be refused with {refused}")),
        Err(e) if e.to_string().contains(refused) => Ok(()),
        Err(e) => Err(format!("must be refused with {refused}; it is with {e}")),
    }
}

/// Compares a network with the reference, as a whole and with its tokens cut in two.
fn agreement(network: &Transformer, expected: &Path) -> Result<(), String> {
    let from = Checkpoint::open(expected).map_err(|e| e.to_string())?;
    let ids = ids(&from, "ids");
    let distance = worst(network, &from, "", ids.as_slice().into());
    if distance >= TOLERANCE {
        return Err(format!("is {distance:e} from the reference"));
    }
    if !network.architecture().causal {
        return Ok(());
    }
    let logits = from.values("logits").map_err(|e| e.to_string())?;
    let largest = logits.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let (first, rest) = ids.split_at(4);
    let prefix = network.prefix(first).map_err(|e| e.to_string())?;
    let read = |_: usize, logits: &mut [f32]| logits.to_vec();
    let after = network.predict_after(&prefix, rest, 0..rest.len(), read).map_err(|e| e.to_string())?;
    let wanted = logits.iter().skip(first.len() * network.architecture().vocabulary);
    let far = after.iter().flatten().zip(wanted).any(|(a, b)| (a - b).abs() >= TOLERANCE * largest);
    if far { Err("is far from the reference after a prefix".into()) } else { Ok(()) }
}

#[test]
fn every_variation_agrees_or_is_refused() {
    let text = fs::read_to_string(folder().join("variations.json")).unwrap();
    let table: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(name, line)| check(name, line).err().map(|problem| format!("{name}: {problem}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let files = fs::read_dir(folder().join("networks")).unwrap();
    let networks: BTreeSet<String> = files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(networks, table.keys().cloned().collect(), "run tests/parity/variations.py");
}
