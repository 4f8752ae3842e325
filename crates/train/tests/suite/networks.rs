//! Small networks of every kind, for tests on several devices.

use attnlab_core::rng::Streams;
use attnlab_train::model::{
    AttentionForm, ComputeDevice, Input, Mlp, Model, ModelConfig, Norm, Output, Positions, Recording, Tensor, preset,
};
use rand::RngExt;

pub fn streams() -> Streams {
    Streams::new(7, "models", 0, 0)
}

/// Numbers in ±1.
pub fn numbers(name: &str, count: usize) -> Vec<f64> {
    let mut rng = streams().part(name, 0);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// A small network of real vectors, all of whose parameters are of size one half, so that nothing is
/// hidden by small first values.
pub fn small_on(device: &ComputeDevice, change: impl FnOnce(&mut ModelConfig)) -> Model {
    let mut config = ModelConfig {
        input: Input::Vectors { dim: 3 },
        context: 5,
        ..preset("icl-aot-mssa").unwrap().resized(2, 8, 2)
    };
    change(&mut config);
    let mut model = Model::new(config, device, &streams()).unwrap();
    let specs: Vec<_> = model.parameters().map(|p| p.spec.clone()).collect();
    for spec in specs {
        let drawn = numbers(&spec.name, spec.rows * spec.columns);
        model.set(&spec.name, drawn.into_iter().map(|x| 0.5 * x).collect()).unwrap();
    }
    model
}

pub fn small(change: impl FnOnce(&mut ModelConfig)) -> Model {
    small_on(&ComputeDevice::cpu_f64(), change)
}

pub fn variants() -> Vec<(&'static str, Model)> {
    variants_on(&ComputeDevice::cpu_f64())
}

/// Every kind of part, in the combinations that the papers train, each with its name.
pub fn variants_on(device: &ComputeDevice) -> Vec<(&'static str, Model)> {
    fn mssa(normalise_queries: bool, scaled: bool) -> AttentionForm {
        AttentionForm::Mssa { normalise_queries, scaled }
    }
    let small = |change: fn(&mut ModelConfig)| small_on(device, change);
    vec![
        ("mssa", small(|_| {})),
        ("mssa, plain queries", small(|c| c.attention = mssa(false, true))),
        ("tied", small(|c| c.attention = AttentionForm::MssaTied { eta: 0.5, normalise_queries: true, scaled: false })),
        ("mhsa", small(|c| c.attention = AttentionForm::Mhsa)),
        ("no norm", small(|c| c.norm = Norm::None)),
        ("hybrid", small(|c| (c.mlp, c.mlp_blocks) = (Mlp::Gelu { hidden: 6 }, 1))),
        (
            "gpt-2",
            small(|c| {
                c.attention = AttentionForm::Mhsa;
                (c.mlp, c.mlp_blocks) = (Mlp::Gelu { hidden: 6 }, 2);
            }),
        ),
        (
            "llama",
            small(|c| {
                (c.norm, c.positions, c.bias) = (Norm::Rms, Positions::Rotary, false);
                c.attention = AttentionForm::Mhsa;
                (c.mlp, c.mlp_blocks) = (Mlp::SwiGlu { hidden: 6 }, 2);
            }),
        ),
        ("llama-aot", small(|c| (c.norm, c.positions, c.bias) = (Norm::Rms, Positions::Rotary, false))),
        (
            "crate",
            small(|c| {
                c.input = Input::Patches { dim: 3 };
                c.output = Output::Classes { count: 2 };
                c.attention = mssa(false, true);
                c.causal = false;
                (c.mlp, c.mlp_blocks) = (Mlp::Ista { step: 0.1, lambda: 0.1 }, 2);
            }),
        ),
    ]
}

/// Some function of all outputs.
pub fn loss(model: &Model) -> Tensor<1> {
    let out = model.forward(model.device().tensor(numbers("x", 24), [2, 4, 3]), &mut Recording::default()).unwrap();
    let [a, b, c] = out.dims();
    (out * model.device().tensor(numbers("mix", a * b * c), [a, b, c])).square().sum()
}
