//! The trainable networks: parameter counts of the papers, the forward pass against the plain
//! operators, derivatives against finite differences.

use crate::networks::{loss, numbers, small, streams, variants};
use attnlab_theory::attention::{Mask, Mhsa, Mssa, Softmax};
use attnlab_train::model::{
    AttentionForm, ComputeDevice, FirstPositions, Input, Mlp, Model, ModelConfig, Norm, Output, Positions, Recording,
    Tensor, cross_entropy, preset,
};
use ndarray::{Array2, s};

/// FINDINGS of the audit and the papers' tables: printed count, and how far it is rounded.
#[test]
fn parameter_counts_are_the_papers() {
    let million = 1e6;
    // Language tables count without the table of positions, as nanoGPT prints it.
    for (name, printed) in [
        ("aot-mssa-l-base", 102.0),
        ("aot-mssa-l-medium", 182.0),
        ("aot-mssa-l-large", 326.0),
        ("aot-mhsa-l-base", 122.0),
        ("aot-hybrid-l", 81.0),
        ("aot-full-mlp-l", 109.0),
        ("gpt2-base", 124.0),
    ] {
        let count = preset(name).unwrap().parameters_without_positions() as f64 / million;
        assert!((count - printed).abs() < 0.5, "{name}: {count} {printed}");
    }
    // The printed 7.5M, 8.55M and 9.63M count a table of 50257 tokens that regression does not use.
    let table = 50_257.0 * 128.0 / million;
    for (name, network, printed, rounding) in [
        ("icl-aot-mssa", 1.09, 7.5, 0.05),
        // 8.55 in print; the network with the table has 8.58.
        ("icl-aot-mhsa", 2.15, 8.55, 0.04),
        ("icl-transformer", 3.20, 9.63, 0.005),
    ] {
        let count = preset(name).unwrap().parameters() as f64 / million;
        assert!((count - network).abs() < 0.005, "{name}: {count}");
        assert!((count + table - printed).abs() < rounding, "{name}: {}", count + table);
    }
    for (name, printed, rounding) in [
        ("aot-v-16m", 16.0, 0.5),
        ("aot-v-52m", 52.0, 0.5),
        // The width is inferred; 1152 is the nearest multiple of 64.
        ("aot-v-86m", 86.0, 1.3),
        ("crate-t", 6.09, 0.005),
        ("crate-s", 13.12, 0.005),
        ("crate-b", 22.80, 0.005),
        ("crate-l", 77.64, 0.005),
        ("vit-s", 22.0, 0.5),
    ] {
        let count = preset(name).unwrap().parameters() as f64 / million;
        assert!((count - printed).abs() < rounding, "{name}: {count} {printed}");
    }
    // Eq. (4) as printed would have 76.7M where the table prints 102M.
    let tied = ModelConfig {
        attention: AttentionForm::MssaTied { eta: 1.0, normalise_queries: true, scaled: false },
        ..preset("aot-mssa-l-base").unwrap()
    };
    let count = tied.parameters_without_positions() as f64 / million;
    assert!((count - 76.7).abs() < 0.05, "{count}");
}

/// The configuration whose blocks are exactly one layer of the papers: nothing but attention.
fn bare(attention: AttentionForm, causal: bool) -> Model {
    small(|c| {
        c.attention = attention;
        c.norm = Norm::None;
        c.positions = Positions::None;
        c.bias = false;
        c.causal = causal;
    })
}

/// The tokens at depths 0, 1, 2 of one sequence, (d, N).
fn depths(model: &Model) -> Vec<Array2<f64>> {
    let x = model.device().tensor(numbers("x", 15), [1, 5, 3]);
    let mut recording = Recording::keeping(["embedding", ".output"]);
    model.forward(x, &mut recording).unwrap();
    recording.activations().iter().map(|a| a.tokens(0).unwrap()).collect()
}

fn matrix(model: &Model, name: &str) -> Array2<f64> {
    let specs: Vec<_> = model.parameters().map(|p| p.spec.clone()).collect();
    let spec = specs.iter().find(|s| s.name == name).unwrap();
    Array2::from_shape_vec((spec.rows, spec.columns), model.values(name).unwrap()).unwrap()
}

fn assert_close(values: &Array2<f64>, expected: &Array2<f64>, what: &str) {
    let worst = (values - expected).iter().fold(0.0, |m: f64, e| m.max(e.abs()));
    let size = expected.iter().fold(0.0, |m: f64, e| m.max(e.abs()));
    assert!(worst <= 1e-12 * (1.0 + size), "{what}: {worst:e}");
}

#[test]
fn the_tied_form_is_eq_4() {
    for (causal, normalise_queries) in [(true, true), (true, false), (false, false)] {
        let eta = 0.7;
        let model = bare(AttentionForm::MssaTied { eta, normalise_queries, scaled: false }, causal);
        let z = depths(&model);
        for l in 0..2 {
            let u = matrix(&model, &format!("blocks.{l}.attention.u"));
            let bases: Vec<_> = (0..2).map(|k| u.slice(s![.., 4 * k..4 * k + 4]).to_owned()).collect();
            let mask = if causal { Mask::Causal } else { Mask::None };
            let layer = Mssa { phi: Softmax.into(), eta, mask, normalise_queries };
            assert_close(&z[l + 1], &layer.apply(z[l].view(), &bases).unwrap(), &format!("layer {l}, causal {causal}"));
        }
    }
}

/// MHSA, and trained MSSA as MHSA with one matrix for queries, keys and values.
#[test]
fn mhsa_and_trained_mssa_are_eq_5() {
    let trained = AttentionForm::Mssa { normalise_queries: false, scaled: true };
    for attention in [AttentionForm::Mhsa, trained] {
        let model = bare(attention, true);
        let z = depths(&model);
        for l in 0..2 {
            let parts: Vec<Array2<f64>> = match attention {
                AttentionForm::Mhsa => {
                    let qkv = matrix(&model, &format!("blocks.{l}.attention.qkv"));
                    (0..3).map(|i| qkv.slice(s![.., 8 * i..8 * i + 8]).to_owned()).collect()
                }
                _ => vec![matrix(&model, &format!("blocks.{l}.attention.u")); 3],
            };
            let heads = |w: &Array2<f64>| {
                let head = |k: usize| w.slice(s![.., 4 * k..4 * k + 4]).t().to_owned();
                vec![head(0), head(1)]
            };
            let layer = Mhsa {
                w_q: heads(&parts[0]),
                w_k: heads(&parts[1]),
                w_v: heads(&parts[2]),
                w_o: matrix(&model, &format!("blocks.{l}.attention.out")).t().to_owned(),
                phi: Softmax.into(),
                eta: 1.0,
                scale: 0.5,
                mask: Mask::Causal,
            };
            assert_close(&z[l + 1], &layer.apply(z[l].view()).unwrap(), &format!("{attention:?}"));
        }
    }
}

fn scalar(x: &Tensor<1>) -> f64 {
    x.clone().into_scalar::<f64>()
}

/// Reverse-mode derivatives against central differences: the error of h² f''' and of rounding
/// ε f / h are both near 1e-10 at h = 1e-5.
#[test]
fn derivatives_are_finite_differences() {
    for (name, mut model) in variants() {
        let mut derivatives = loss(&model).backward();
        let specs: Vec<_> = model.parameters().map(|p| p.spec.clone()).collect();
        let gradients: Vec<Option<Tensor<2>>> =
            model.parameters().map(|p| p.value.grad_remove(&mut derivatives)).collect();
        let mut checked = 0;
        for (spec, gradient) in specs.iter().zip(gradients) {
            let Some(gradient) = gradient else { continue };
            let gradient = gradient.try_to_vec_as::<f64>().unwrap();
            let values = model.values(&spec.name).unwrap();
            // Three entries of each parameter: first, last, and one between.
            let n = values.len();
            for i in [0, n / 2, n - 1] {
                let h = 1e-5;
                let mut loss_at = |x: f64| {
                    let mut changed = values.clone();
                    changed[i] = x;
                    model.set(&spec.name, changed).unwrap();
                    scalar(&loss(&model))
                };
                let difference = (loss_at(values[i] + h) - loss_at(values[i] - h)) / (2.0 * h);
                let (size, gradient, parameter) = (1e-2 + difference.abs(), gradient[i], &spec.name);
                assert!(
                    (gradient - difference).abs() < 1e-6 * size,
                    "{name} {parameter} [{i}]: {gradient} {difference}"
                );
                checked += 1;
            }
            model.set(&spec.name, values).unwrap();
        }
        assert!(checked > 20, "{name}: {checked}");
    }
}

/// A causal network's outputs do not depend on what comes later.
#[test]
fn causal_networks_do_not_see_ahead() {
    for (name, model) in variants().into_iter().filter(|(_, model)| model.config().causal) {
        let outputs = |values: Vec<f64>, n: usize| {
            let x = model.device().tensor(values, [1, n, 3]);
            model.forward(x, &mut Recording::default()).unwrap().try_to_vec_as::<f64>().unwrap()
        };
        let sequence = numbers("x", 15);
        let (long, short) = (outputs(sequence.clone(), 5), outputs(sequence[..9].to_vec(), 3));
        for (a, b) in long.iter().zip(&short) {
            assert!((a - b).abs() < 1e-12, "{name}: {a} {b}");
        }
    }
}

/// Rotary scores depend on the distance of places alone.
#[test]
fn rotations_are_relative() {
    let model = small(|c| {
        (c.positions, c.norm, c.causal) = (Positions::Rotary, Norm::None, false);
        c.attention = AttentionForm::Mhsa;
    });
    // The same token everywhere: the score of (query i, key j) is a function of i - j.
    let x = model.device().tensor(numbers("x", 3).repeat(5), [1, 5, 3]);
    let mut recording = Recording::keeping(["blocks.0.weights"]);
    model.forward(x, &mut recording).unwrap();
    let weights = recording.get("blocks.0.weights").unwrap();
    assert_eq!(weights.shape, [1, 2, 5, 5]);
    let w = |h: usize, i: usize, j: usize| weights.values[(h * 5 + i) * 5 + j];
    for h in 0..2 {
        // Ratios within a row are exp of differences of scores.
        let ratio = w(h, 1, 0) / w(h, 1, 1);
        assert!((w(h, 3, 2) / w(h, 3, 3) / ratio - 1.0).abs() < 1e-10);
        assert!((ratio - 1.0).abs() > 1e-3, "no rotation at all");
    }
}

fn language() -> Model {
    let config = ModelConfig {
        input: Input::Tokens { vocabulary: 11 },
        mlp: Mlp::Gelu { hidden: 16 },
        context: 6,
        ..preset("gpt2-base").unwrap().resized(1, 8, 2)
    };
    Model::new(config, &ComputeDevice::cpu_f64(), &streams()).unwrap()
}

/// Cross-entropy against its definition in f64, from the logits.
#[test]
fn cross_entropy_is_its_definition() {
    let model = language();
    let tokens = model.device().token_ids(vec![0, 5, 10, 3, 3, 1], [2, 3]);
    let next = [5_i64, 10, 2, 3, 1, 0];
    let hidden = model.hidden(tokens, &mut Recording::default()).unwrap();
    let loss = scalar(&cross_entropy(&model, hidden.clone(), model.device().token_ids(next.to_vec(), [2, 3])).unwrap());
    let logits = model.logits(hidden.reshape([6, 8])).try_to_vec_as::<f64>().unwrap();
    let nats = |(row, target): (&[f64], &i64)| {
        let sum: f64 = row.iter().map(|x| x.exp()).sum();
        sum.ln() - row[*target as usize]
    };
    let expected: f64 = logits.chunks(11).zip(&next).map(nats).sum::<f64>() / 6.0;
    assert!((loss - expected).abs() < 1e-12, "{loss} {expected}");
}

/// Section 3.5 of Vaswani et al. (2017): sin and cos of place · 10000^(-2j/d), here with the sines first.
#[test]
fn positions_from_sinusoids() {
    let mut config = preset("icl-aot-mhsa").unwrap();
    (config.layers, config.width, config.heads) = (1, 4, 2);
    config.first_positions = FirstPositions::Sinusoids { rms: 0.5 };
    let table = matrix(&Model::new(config.clone(), &ComputeDevice::cpu_f64(), &streams()).unwrap(), "positions");
    let size = 0.5 * 2.0_f64.sqrt();
    // 10000^(-2/4) = 1/100.
    for (value, wave) in table.row(3).iter().zip([3.0_f64.sin(), 0.03_f64.sin(), 3.0_f64.cos(), 0.03_f64.cos()]) {
        // A power, a sine of a number up to 3 and two products, of numbers up to 1.
        assert!((value - size * wave).abs() < 16.0 * f64::EPSILON, "{value} {wave}");
    }
    let square = table.iter().map(|x| x * x).sum::<f64>() / table.len() as f64;
    assert!((square - 0.25).abs() < 1e-12, "{square}");
    config.first_positions = FirstPositions::Sinusoids { rms: 0.0 };
    let error = config.validate().unwrap_err().to_string();
    assert!(error.contains("positions_rms = 0"), "{error}");
}

#[test]
fn what_cannot_be_built_is_named() {
    let wrong = |change: fn(&mut ModelConfig)| {
        let mut config = preset("icl-aot-mssa").unwrap();
        change(&mut config);
        Model::new(config, &ComputeDevice::cpu(), &streams()).err().unwrap().to_string()
    };
    assert!(wrong(|c| c.heads = 3).contains("heads = 3"));
    assert!(wrong(|c| c.layers = 0).contains("layers = 0"));
    assert!(wrong(|c| c.output = Output::TiedTokens).contains("output"));
    assert!(wrong(|c| c.mlp_blocks = 99).contains("mlp_blocks = 99"));
    assert!(preset("icl-aot-mss").unwrap_err().to_string().contains("did you mean icl-aot-mssa"));
    assert!(ComputeDevice::parse("tpu").unwrap_err().to_string().contains("backend"));
    let model = language();
    assert!(model.forward(model.device().tensor(vec![0.0; 6], [1, 2, 3]), &mut Recording::default()).is_err());
    let error = model.hidden(model.device().token_ids(vec![0; 7], [1, 7]), &mut Recording::default()).unwrap_err();
    assert!(error.to_string().contains("context = 6"), "{error}");
}
