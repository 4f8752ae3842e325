//! The fused operation against the graph, finite differences, and itself on other numbers of threads.

use super::{Attention, HeadSettings, Rotation, fused, graph};
use crate::model::{AttentionForm, ComputeDevice, ModelConfig, Positions, preset};
use attnlab_core::rng::Streams;
use attnlab_lab::prelude::iproduct;
use burn::tensor::Tensor;
use proptest::prelude::*;
use rand::RngExt;
use std::sync::Arc;

/// Every form of attention that a configuration can have, with heads of dimension `p`.
fn forms(heads: usize, p: usize) -> Vec<ModelConfig> {
    let mssa = |i: usize| AttentionForm::Mssa { normalise_queries: i / 2 == 1, scaled: i % 2 == 1 };
    // Rotations turn pairs.
    let positions = [Positions::None, Positions::Rotary].into_iter().take(if p % 2 == 1 { 1 } else { 2 });
    let sizes = ModelConfig { heads, width: heads * p, ..preset("icl-aot-mssa").unwrap() };
    iproduct!((0..4).map(mssa).chain([AttentionForm::Mhsa]), [false, true], positions)
        .map(|(attention, causal, positions)| ModelConfig { attention, causal, positions, ..sizes.clone() })
        .collect()
}

fn label(config: &ModelConfig) -> String {
    let ModelConfig { attention, causal, positions, .. } = config;
    format!("{attention:?}, causal {causal}, positions {positions:?}")
}

/// Numbers in ±1.5: with p up to 16 the scores spread over several units, so that weights are uneven.
fn numbers(name: &str, count: usize) -> Vec<f64> {
    let mut rng = Streams::new(15, "tests.attention", 0, 0).part(name, 0);
    (0..count).map(|_| rng.random_range(-1.5..1.5)).collect()
}

/// Projected tokens for `settings`, tracked for derivatives.
fn projected(device: &ComputeDevice, settings: &HeadSettings, [batch, n, p]: [usize; 3]) -> Tensor<3> {
    let shape = [batch, n, settings.parts() * settings.heads * p];
    device.tensor(numbers("y", shape.iter().product()), shape).autodiff().require_grad()
}

fn values<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.try_to_vec_as::<f64>().unwrap()
}

/// Computes Σ mix · heads, some function of all outputs.
fn mixed(heads: Tensor<3>, device: &ComputeDevice) -> Tensor<1> {
    let shape = heads.dims();
    (heads * device.tensor(numbers("mix", shape.iter().product()), shape)).sum()
}

/// Returns outputs, weights, and derivatives of [`mixed`].
fn results(config: &ModelConfig, device: &ComputeDevice, sizes: [usize; 3]) -> [Vec<f64>; 3] {
    let attention = Attention::new(config, device, sizes[1]);
    let y = projected(device, &attention.settings, sizes);
    let heads = attention.heads(y.clone());
    let weights = attention.weights(y.clone());
    let gradient = gradient(mixed(heads.clone(), device), y);
    [values(heads), values(weights), gradient]
}

/// Returns the largest difference over one plus the largest number.
fn apart(values: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(values.len(), expected.len());
    let largest = |x: f64, y: f64| if y.abs() <= x { x } else { y.abs() };
    let size = expected.iter().copied().fold(0.0, largest);
    values.iter().zip(expected).map(|(a, b)| a - b).fold(0.0, largest) / (1.0 + size)
}

/// Decides whether each list is [`apart`] from the expected one by less than `rounding`.
fn close(lists: &[Vec<f64>], expected: &[Vec<f64>], rounding: f64) -> bool {
    lists.iter().zip(expected).all(|(values, expected)| apart(values, expected) < rounding)
}

/// Returns the derivatives of a number with respect to `y`.
fn gradient(number: Tensor<1>, y: Tensor<3>) -> Vec<f64> {
    values(y.grad_remove(&mut number.backward()).unwrap())
}

/// Rounding of f64 in sums of at most 100 terms of size one, backwards too.
const ROUNDING: f64 = 1e-12;
/// The same for f32, whose unit is 5e8 times larger.
const ROUNDING_F32: f64 = 1e-4;

/// Tokens and head dimensions: one token, odd heads, a block, one token more, several ragged blocks.
const SIZES: &[[usize; 3]] =
    &[[2, 1, 1], [1, 1, 4], [2, 5, 3], [1, 31, 2], [1, 32, 6], [2, 33, 4], [1, 70, 17], [1, 97, 8]];

#[test]
fn fused_attention_is_the_graph() {
    let device = ComputeDevice::cpu_f64();
    let graph = device.clone().unfused();
    for sizes in SIZES {
        for config in forms(3, sizes[2]) {
            let what = format!("{}, {sizes:?}", label(&config));
            let expected = results(&config, &graph, *sizes);
            assert!(close(&results(&config, &device, *sizes), &expected, ROUNDING), "{what}");
            assert!(close(&results(&config, &ComputeDevice::cpu(), *sizes), &expected, ROUNDING_F32), "{what}, f32");
        }
    }
}

/// Settings under which the first queries see no key, beside those of the networks.
fn with_masked_rows(config: &ModelConfig, tokens: usize) -> HeadSettings {
    HeadSettings { visible: |i, _| i.saturating_sub(2), ..HeadSettings::new(config, tokens) }
}

/// Derivatives in a direction and in single entries against central differences: at h = 1e-5 the errors of
/// h² f''' and of rounding ε f / h are below 1e-8 for these sums.
#[test]
fn derivatives_are_finite_differences() {
    let device = ComputeDevice::cpu_f64();
    let h = 1e-5;
    for [batch, n, p] in SIZES.iter().copied() {
        for config in forms(2, p) {
            for masked in [false, true] {
                let form = if masked { with_masked_rows } else { HeadSettings::new };
                let settings = Arc::new(form(&config, n));
                let y = projected(&device, &settings, [batch, n, p]);
                let gradient = gradient(mixed(fused::heads(y.clone(), &settings), &device), y.clone());
                let moved_by = |direction: &[f64], h: f64| {
                    let moved = values(y.clone()).into_iter().zip(direction).map(|(y, d)| y + h * d).collect();
                    mixed(fused::heads(device.tensor(moved, y.dims()), &settings), &device).into_scalar::<f64>()
                };
                let count = gradient.len();
                let entry = |i: usize| (0..count).map(|j| f64::from(u8::from(i == j))).collect();
                let directions: [Vec<f64>; 4] = [numbers("d", count), entry(0), entry(count / 2), entry(count - 1)];
                for direction in directions {
                    let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
                    let difference = (moved_by(&direction, h) - moved_by(&direction, -h)) / (2.0 * h);
                    assert!(
                        (slope - difference).abs() < 1e-7 * (1.0 + difference.abs()),
                        "{}, {batch} {n} {p}, masked {masked}: {slope} {difference}",
                        label(&config)
                    );
                }
            }
        }
    }
}

/// A query that sees no key has weights, output and derivatives exactly 0, and the others are as if the
/// masked ones were not there.
#[test]
fn fully_masked_rows_are_zero() {
    for device in [ComputeDevice::cpu(), ComputeDevice::cpu_f64()] {
        for config in forms(1, 4) {
            // The mask (i - 2 keys) leaves a whole block without keys in the second case.
            type Case = (usize, fn(usize, usize) -> usize);
            let cases: [Case; 2] = [(5, |i, _| i.saturating_sub(2)), (40, |i, _| i.saturating_sub(34))];
            for (n, visible) in cases {
                let settings = Arc::new(HeadSettings { visible, ..HeadSettings::new(&config, n) });
                let y = projected(&device, &settings, [2, n, 4]);
                let out = fused::heads(y.clone(), &settings);
                let gradient = gradient(mixed(out.clone(), &device), y.clone());
                let (out, weights) = (values(out), values(fused::weights(y, &settings)));
                assert!(gradient.iter().all(|g| g.is_finite()));
                for b in 0..2 {
                    for i in 0..n {
                        let row = &weights[(b * n + i) * n..][..n];
                        let (attended, hidden) = row.split_at(visible(i, n));
                        assert!(hidden.iter().all(|w| *w == 0.0));
                        let sum: f64 = attended.iter().sum();
                        let output = &out[(b * n + i) * 4..][..4];
                        if attended.is_empty() {
                            assert!(output.iter().all(|x| *x == 0.0), "{n} {i}");
                        } else {
                            assert!((sum - 1.0).abs() < 1e-6 && output.iter().any(|x| *x != 0.0));
                        }
                    }
                }
                if !settings.shared {
                    // The derivatives of the queries that see nothing.
                    let unseen = (0..n).filter(|i| visible(*i, n) == 0);
                    let mut queries = unseen.flat_map(|i| &gradient[i * 12..i * 12 + 4]);
                    assert!(queries.all(|g| *g == 0.0));
                }
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let pools = [1, 2, 5].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for config in forms(3, 6) {
        for device in [ComputeDevice::cpu(), ComputeDevice::cpu_f64()] {
            let run = |pool: &rayon::ThreadPool| {
                let results = pool.install(|| results(&config, &device, [3, 45, 6]));
                results.map(|x| x.into_iter().map(f64::to_bits).collect::<Vec<_>>())
            };
            let [one, two, five] = [0, 1, 2].map(|i| run(&pools[i]));
            assert!(one == two && one == five, "{}", label(&config));
        }
    }
}

/// Tensors that are views: projected tokens cut out of a larger tensor, and derivatives of a plain sum, which
/// burn holds as one number.
#[test]
fn views_are_read_by_their_strides() {
    let device = ComputeDevice::cpu_f64();
    for config in forms(2, 4) {
        let settings = Arc::new(HeadSettings::new(&config, 6));
        let tables = graph::Tables::new(&settings, &device, 6, &config);
        let wide = settings.parts() * 8;
        let run = |fused: bool| {
            let whole = device.tensor(numbers("wide", 3 * 8 * (wide + 2)), [8, 3, wide + 2]).autodiff().require_grad();
            let cut = whole.clone().swap_dims(0, 1).narrow(1, 1, 6).narrow(2, 1, wide);
            let out = if fused { fused::heads(cut, &settings) } else { graph::heads(cut, &settings, &tables) };
            let mut gradients = out.clone().sum().backward();
            [values(out), values(whole.grad_remove(&mut gradients).unwrap())]
        };
        assert!(close(&run(true), &run(false), ROUNDING), "{}", label(&config));
    }
}

/// The largest score is subtracted before exp: scores of several thousands give weights of 0 and 1.
#[test]
fn large_scores_do_not_overflow() {
    for device in [ComputeDevice::cpu(), ComputeDevice::cpu_f64()] {
        for config in forms(1, 2) {
            let attention = Attention::new(&config, &device, 3);
            let parts = attention.settings.parts();
            let y = (0..6 * parts).map(|i| 90.0 * (i as f64 - 4.0)).collect();
            let y = device.tensor(y, [1, 3, 2 * parts]).autodiff().require_grad();
            let heads = attention.heads(y.clone());
            let gradient = gradient(mixed(heads.clone(), &device), y);
            let mut values = values(heads).into_iter().chain(gradient);
            assert!(values.all(f64::is_finite), "{}", label(&config));
        }
    }
}

/// A rotation and its inverse are the identity.
#[test]
fn rotations_turn_back() {
    let rotation = Rotation::new(5, 6);
    let row = numbers("row", 6);
    for position in 0..5 {
        let mut turned = row.clone();
        rotation.turn(position, &mut turned, false);
        assert_eq!(position == 0, turned == row);
        rotation.turn(position, &mut turned, true);
        assert!(apart(&turned, &row) < ROUNDING);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_shape_is_the_graph(
        batch in 1_usize..4,
        n in 1_usize..101,
        heads in 1_usize..5,
        p in 1_usize..20,
        form in 0_usize..20,
    ) {
        let forms: Vec<ModelConfig> = forms(heads, p);
        let config = &forms[form % forms.len()];
        let device = ComputeDevice::cpu_f64();
        let fused = results(config, &device, [batch, n, p]);
        let expected = results(config, &device.unfused(), [batch, n, p]);
        prop_assert!(close(&fused, &expected, ROUNDING), "{}", label(config));
    }
}
