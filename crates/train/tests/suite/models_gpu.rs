//! The trainable networks on a GPU against the CPU: values, derivatives, steps of training. Where there
//! is no adapter these tests say so and pass, unless ATTNLAB_REQUIRE_GPU=1.

use crate::networks::{loss, small_on, streams, variants, variants_on};
use attnlab_lab::run::TrialContext;
use attnlab_theory::sample::Functions;
use attnlab_train::model::{ComputeDevice, Input, Model, Output, Recording, Tensor, cross_entropy};
use attnlab_train::training::in_context::InContextTask;
use attnlab_train::training::{Curriculum, Ramp, TrainingPlan, train};
use std::io::Write;

/// The GPU, or None and a word why the test does nothing.
fn gpu() -> Option<ComputeDevice> {
    match ComputeDevice::gpu() {
        Ok(device) => Some(device),
        Err(error) if std::env::var("ATTNLAB_REQUIRE_GPU").is_ok_and(|v| v == "1") => {
            panic!("ATTNLAB_REQUIRE_GPU=1, but {error}")
        }
        Err(error) => {
            let test = std::thread::current().name().unwrap_or("a test").to_string();
            let _ = writeln!(std::io::stderr(), "skipped: {test}: {error}");
            None
        }
    }
}

/// Largest difference over the largest number of the second.
fn apart(values: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(values.len(), expected.len());
    let largest = |x: f64, y: f64| x.max(y.abs());
    let size = expected.iter().copied().fold(1e-12, largest);
    values.iter().zip(expected).map(|(a, b)| a - b).fold(0.0, largest) / size
}

fn values<const D: usize>(x: &Tensor<D>) -> Vec<f64> {
    x.try_to_vec_as::<f64>().unwrap()
}

/// Derivatives of `of` with respect to every parameter, one after the other.
fn derivatives(model: &Model, of: &Tensor<1>) -> Vec<(String, Vec<f64>)> {
    let mut gradients = of.backward();
    let each =
        model.parameters().filter_map(|p| Some((p.spec.name.clone(), values(&p.value.grad_remove(&mut gradients)?))));
    each.collect()
}

/// f32 has 6e-8; two layers with sums of 24 terms, softmax and norms of numbers of size one lose two to
/// three digits of it. A wrong kernel is off by the size of the numbers.
const CLOSE: f64 = 1e-4;

#[test]
fn values_and_derivatives_are_the_cpu_s() {
    let Some(device) = gpu() else { return };
    for ((name, cpu), (_, gpu)) in variants().iter().zip(variants_on(&device)) {
        let (expected, computed) = (loss(cpu), loss(&gpu));
        let off = apart(&values(&computed), &values(&expected));
        assert!(off < CLOSE, "{name}: {off}");
        let expected = derivatives(cpu, &expected);
        let computed = derivatives(&gpu, &computed);
        assert_eq!(computed.len(), expected.len(), "{name}");
        for ((parameter, computed), (_, expected)) in computed.iter().zip(&expected) {
            let off = apart(computed, expected);
            assert!(off < CLOSE, "{name} {parameter}: {off}");
        }
    }
}

#[test]
fn cross_entropy_is_the_cpu_s() {
    let Some(device) = gpu() else { return };
    let [expected, computed] = [ComputeDevice::cpu_f64(), device].map(|device| {
        let model = small_on(&device, |c| {
            c.input = Input::Tokens { vocabulary: 11 };
            c.output = Output::TiedTokens;
        });
        let tokens = |shift: i64| device.token_ids((0..10).map(|i| (7 * i + shift) % 11).collect(), [2, 5]);
        let hidden = model.hidden(tokens(0), &mut Recording::default()).unwrap();
        let value = cross_entropy(&model, hidden, tokens(3)).unwrap();
        (values(&value), derivatives(&model, &value))
    });
    assert!(apart(&computed.0, &expected.0) < CLOSE);
    for ((name, computed), (_, expected)) in computed.1.iter().zip(&expected.1) {
        let off = apart(computed, expected);
        assert!(off < CLOSE, "{name}: {off}");
    }
}

/// A few steps of Adam: draws, the loss, derivatives, clipping and the optimiser together.
#[test]
fn training_starts_as_on_the_cpu() {
    let Some(device) = gpu() else { return };
    let [expected, computed] = [ComputeDevice::cpu(), device].map(|device| {
        let model = small_on(&device, |c| c.context = 8);
        let task = InContextTask {
            functions: Functions::Linear,
            dim: 3,
            curriculum: Curriculum { dims: Ramp::fixed(3), points: Ramp::fixed(4) },
        };
        let plan = TrainingPlan { report_every: 1, clip: 1.0, ..TrainingPlan::constant(4, 8, 1e-2) };
        train(&task, model, &plan, &streams(), "", &TrialContext::none()).unwrap().history.losses
    });
    // Adam divides by the root of a square: where a derivative is small its rounding shows whole in
    // the step, .01 at most.
    assert!(apart(&computed, &expected) < 1e-2, "{computed:?} {expected:?}");
    assert!(apart(&computed[..1], &expected[..1]) < CLOSE);
}
