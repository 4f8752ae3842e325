//! Training: optimisers against PyTorch, schedules, accumulation, checkpoints, kills.

use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_lab::experiment::ranges::Ranges;
use attnlab_lab::run::{Lines, Silent, TrainingCurve, TrialContext};
use attnlab_theory::sample::Functions;
use attnlab_train::model::{ComputeDevice, Input, Model, ModelConfig, preset};
use attnlab_train::training::in_context::InContextTask;
use attnlab_train::training::language::Text;
use attnlab_train::training::{
    Curriculum, LearningRate, OptimiserKind, OptimiserSettings, OptimiserState, Ramp, Trained, TrainingPlan, clip,
    train,
};
use std::path::Path;

fn streams() -> Streams {
    Streams::new(3, "train", 0, 0)
}

fn small(device: &ComputeDevice) -> Model {
    let config = ModelConfig {
        input: Input::Vectors { dim: 3 },
        context: 12,
        ..preset("icl-aot-mssa").unwrap().resized(2, 8, 2)
    };
    Model::new(config, device, &streams()).unwrap()
}

fn task() -> InContextTask {
    InContextTask {
        functions: Functions::Linear,
        dim: 3,
        curriculum: Curriculum {
            dims: Ramp { from: 1, to: 3, by: 1, every: 5 },
            points: Ramp { from: 2, to: 6, by: 1, every: 3 },
        },
    }
}

fn plan(steps: u64) -> TrainingPlan {
    TrainingPlan {
        steps,
        batch: 8,
        accumulate: 1,
        optimiser: OptimiserSettings::adam(),
        rate: LearningRate { peak: 1e-3, last: 1e-4, warmup: 3 },
        clip: 1.0,
        report_every: 1,
        checkpoint_every: 4,
    }
}

fn keeping<'a>(folder: &Path) -> TrialContext<'a> {
    TrialContext { folder: Some(folder.to_path_buf()), progress: &Silent }
}

fn values(model: &Model) -> Vec<Vec<f64>> {
    let names: Vec<String> = model.parameters().map(|p| p.spec.name.clone()).collect();
    names.iter().map(|n| model.values(n).unwrap()).collect()
}

fn run_on(device: &ComputeDevice, plan: &TrainingPlan, context: &TrialContext) -> Result<Trained> {
    train(&task(), small(device), plan, &streams(), "test", context)
}

fn run(plan: &TrainingPlan, context: &TrialContext) -> Result<Trained> {
    run_on(&ComputeDevice::cpu(), plan, context)
}

/// torch 2.9.1 in double precision: `x = [[1, -.5], [.25, 2]]`, three steps at rate .1 with gradients
/// `g(t) = [[.5, -1], [2, .25]] * (1 + .5 t) * [[1, (-1)^t], [1, 1]]`; `torch.optim.Adam`, `AdamW` with
/// weight_decay=.1, and Lion by Algorithm 2 of Chen et al. 2023 with β = (.9, .99), λ = .1.
#[test]
fn optimisers_are_torch_s() {
    let adam = OptimiserSettings::adam();
    for (optimiser, expected) in [
        (adam, [0.7021945878581469, -0.3901216133755835, -0.04780541576001934, 1.7021945926823683]),
        (
            OptimiserSettings { kind: OptimiserKind::AdamW, weight_decay: 0.1, ..adam },
            [0.6754743950673399, -0.37701341154149226, -0.0522498585093186, 1.6457733998362178],
        ),
        (
            OptimiserSettings { kind: OptimiserKind::Lion, beta_2: 0.99, weight_decay: 0.1, ..adam },
            [0.673289, -0.3861395, -0.05443525, 1.643588],
        ),
    ] {
        optimiser.validate().unwrap();
        // A matrix of a small network takes the place of x; the rest gets gradient 0.
        let mut model = small(&ComputeDevice::cpu_f64());
        let name = "blocks.0.attention.u";
        model.set(name, [1.0, -0.5, 0.25, 2.0].repeat(16)).unwrap();
        let mut memory = OptimiserState::default();
        for t in 0..3 {
            let sign = if t % 2 == 0 { 1.0 } else { -1.0 };
            let g = [0.5, -sign, 2.0, 0.25].map(|g: f64| g * (1.0 + 0.5 * f64::from(t)));
            let gradients = model.parameters().map(|p| {
                let shape = [p.spec.rows, p.spec.columns];
                let count = p.spec.rows * p.spec.columns;
                let g = if p.spec.name == name { g.repeat(16) } else { vec![0.0; count] };
                model.device().tensor(g, shape)
            });
            let gradients = gradients.collect();
            memory.step(&optimiser, 0.1, &mut model, gradients);
        }
        let trained = model.values(name).unwrap();
        for (trained, expected) in trained.iter().zip(expected) {
            // burn holds the constants in f32: 1 - β₂ is then off by 1e-5 of itself, and the length of
            // a step by half of that; three steps of .1 were taken.
            assert!((trained - expected).abs() < 3e-6, "{optimiser:?}: {trained} {expected}");
        }
        // Decay acts on matrices alone: norms began at 1 and got no gradient.
        assert!(model.values("final_norm").unwrap().iter().all(|x| *x == 1.0));
    }
}

#[test]
fn the_gradient_is_clipped_as_a_whole() {
    let device = ComputeDevice::cpu_f64();
    let make = || vec![device.tensor(vec![3.0, 0.0], [1, 2]), device.tensor(vec![0.0, 4.0], [2, 1])];
    let mut gradients = make();
    assert!((clip(&mut gradients, Some(1.0)).unwrap() - 5.0).abs() < 1e-12);
    let clipped: Vec<f64> = gradients.iter().flat_map(|g| g.try_to_vec_as::<f64>().unwrap()).collect();
    // One factor, 1 / (5 + 1e-6), for both: the direction stays.
    for (after, before) in clipped.iter().zip([3.0, 0.0, 0.0, 4.0]) {
        assert!((after - before / 5.000001).abs() < 1e-12);
    }
    let mut short = make();
    clip(&mut short, Some(5.5)).unwrap();
    assert_eq!(short[0].try_to_vec_as::<f64>().unwrap(), [3.0, 0.0]);
}

#[test]
fn the_rate_warms_up_and_falls() {
    let rate = LearningRate { peak: 6e-4, last: 6e-5, warmup: 2000 };
    let steps = 600_000;
    assert!((rate.at_step(0, steps) - 3e-7).abs() < 1e-12);
    assert_eq!(rate.at_step(1999, steps), 6e-4);
    assert_eq!(rate.at_step(2000, steps), 6e-4);
    // cos π is -1 to the last digit, so that what is left of the span is rounded as the peak is: by ε of it.
    assert!((rate.at_step(steps - 1, steps) - 6e-5).abs() < 4.0 * f64::EPSILON * rate.peak);
    let middle = rate.at_step(2000 + (steps - 1 - 2000) / 2, steps);
    assert!((middle - 3.3e-4).abs() < 1e-8, "{middle}");
}

/// A batch in four parts gives the step of the whole batch, up to rounding: f64, one step.
#[test]
fn accumulated_gradients_are_those_of_the_batch() {
    let history = |steps, accumulate| {
        let plan = TrainingPlan { accumulate, ..plan(steps) };
        run_on(&ComputeDevice::cpu_f64(), &plan, &TrialContext::none()).unwrap().history
    };
    let [whole, parts] = [1, 4].map(|accumulate| history(1, accumulate));
    assert!((whole.losses[0] - parts.losses[0]).abs() < 1e-12);
    assert!((whole.norms[0] - parts.norms[0]).abs() < 1e-10);
    // Adam's first step is rate · sign, so a gradient of rounding size may flip: compare gradients'
    // effect through the loss of the second step instead of through each entry.
    let [whole, parts] = [1, 4].map(|accumulate| history(3, accumulate).losses[2]);
    assert!((whole - parts).abs() < 1e-6);
}

/// Stopped at any checkpoint and given again, a run ends in the same bits as one that was never
/// stopped; so does one whose newest checkpoint is damaged.
#[test]
fn a_resumed_run_is_the_same_to_the_bit() {
    let whole = run(&plan(11), &TrialContext::none()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let context = keeping(folder.path());
    // Ends after 11 steps, with checkpoints at 4, 8 and 11; of these two are kept.
    run(&plan(11), &context).unwrap();
    let names = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut files: Vec<_> = files.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    };
    assert_eq!(
        names(),
        [
            "curve.json",
            "step-000000008.json",
            "step-000000008.safetensors",
            "step-000000011.json",
            "step-000000011.safetensors"
        ]
    );
    let curve = TrainingCurve::new(11, &whole.history.steps, &whole.history.losses, &whole.history.held_out);
    assert_eq!(TrainingCurve::read(folder.path()).unwrap(), Some(curve));
    // Killed while the tensors of step 11 were being written: half a file, no JSON.
    std::fs::remove_file(folder.path().join("step-000000011.json")).unwrap();
    let torn = folder.path().join("step-000000011.safetensors");
    let bytes = std::fs::read(&torn).unwrap();
    std::fs::write(&torn, &bytes[..bytes.len() / 2]).unwrap();
    let resumed = run(&plan(11), &context).unwrap();
    assert_eq!(resumed.resumed, 8);
    assert_eq!(resumed.history, whole.history);
    assert_eq!(values(&resumed.model), values(&whole.model));
    // A checkpoint whose tensors were damaged later is passed over for the one before.
    let mut bytes = std::fs::read(&torn).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&torn, bytes).unwrap();
    let told = Lines::default();
    let again = run(&plan(11), &TrialContext { progress: &told, ..keeping(folder.path()) }).unwrap();
    let told = told.lines();
    let damaged = "step-000000011.safetensors is damaged: going on from the checkpoint before it";
    assert!(told.iter().any(|line| line.contains(damaged)), "{told:?}");
    assert_eq!((again.resumed, &again.history), (8, &whole.history));
    assert_eq!(values(&again.model), values(&whole.model));
    // The curve of a step is there before its checkpoint, so that no kill leaves an older one beside it.
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(elsewhere.path().join("step-000000011.safetensors")).unwrap();
    assert!(run(&plan(11), &keeping(elsewhere.path())).is_err());
    assert_eq!(TrainingCurve::read(elsewhere.path()).unwrap().unwrap().step(), 11);
    // Other settings are refused, and nothing is touched.
    let other = TrainingPlan { clip: 2.0, ..plan(11) };
    let error = run(&other, &context).err().unwrap().to_string();
    assert!(error.contains("other settings") && error.contains("--out"), "{error}");
    assert_eq!(names().len(), 5);
}

#[test]
fn a_loss_that_is_not_finite_names_the_step_and_the_last_good_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let wild = TrainingPlan {
        rate: LearningRate { peak: 1e30, last: 1e30, warmup: 6 },
        checkpoint_every: 1,
        clip: 0.0,
        ..plan(50)
    };
    let error = run(&wild, &keeping(folder.path())).err().unwrap();
    assert!(matches!(error, Error::Diverged(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("at step") && text.contains("the last good checkpoint is that of step"), "{text}");
    assert!(text.contains("rate.peak"), "{text}");
}

/// A network learns a text that repeats, and is judged on a part that it has not seen.
#[test]
fn a_language_model_learns_a_repeating_text() {
    let tokens: Vec<u16> = (0..600).map(|i| (i * i % 7) as u16).collect();
    let text = Text::from_tokens(tokens, 14, 0.2).unwrap();
    let config = ModelConfig {
        input: Input::Tokens { vocabulary: 7 },
        context: 14,
        ..preset("aot-mssa-l-base").unwrap().resized(2, 16, 2)
    };
    let model = Model::new(config, &ComputeDevice::cpu(), &streams()).unwrap();
    let mean = |model: &Model| text.losses(model, 4).unwrap().iter().sum::<f64>() / 4.0;
    let fresh = mean(&model);
    // Nothing is known at first: the cross-entropy of a uniform guess, ln 7 = 1.946.
    assert!((fresh - 7.0_f64.ln()).abs() < 0.1, "{fresh}");
    let plan = TrainingPlan { rate: LearningRate { peak: 1e-2, last: 1e-3, warmup: 10 }, ..plan(150) };
    let after = mean(&train(&text, model, &plan, &streams(), "text", &TrialContext::none()).unwrap().model);
    // Only the first tokens of a sequence can be uncertain.
    assert!(after < 0.4, "{after}");
}

#[test]
fn texts_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, "hello world, hello").unwrap();
    assert!(Text::read(&path, 3, 0.3).is_ok());
    let short = Text::read(&path, 30, 0.3).unwrap_err().to_string();
    assert!(short.contains("a.txt") && short.contains("31"), "{short}");
    let words = folder.path().join("a.bin");
    std::fs::write(&words, [1_u8, 0, 0, 1].repeat(20)).unwrap();
    let tokens: Vec<u16> = [1_u16, 256].repeat(20);
    assert_eq!(Text::read(&words, 3, 0.3).unwrap(), Text::from_tokens(tokens, 3, 0.3).unwrap());
}

/// As the table `plan` of an experiment's settings names them, and without a table.
#[test]
fn settings_of_a_plan_are_named_as_they_are_written() {
    let wrong = |change: fn(&mut TrainingPlan)| {
        let mut p = plan(5);
        change(&mut p);
        assert!(p.validate().is_err());
        p.ranges("plan.").unwrap_err().to_string()
    };
    let accumulated = TrainingPlan { accumulate: 3, ..plan(5) }.validate().unwrap_err().to_string();
    assert!(accumulated.contains("a divisor of batch = 8"), "{accumulated}");
    assert!(wrong(|p| p.steps = 0).starts_with("plan.steps = 0"));
    assert!(wrong(|p| p.clip = -1.0).starts_with("plan.clip = -1"));
    assert!(wrong(|p| p.batch = 0).starts_with("plan.batch = 0"));
    assert_eq!(wrong(|p| p.accumulate = 3), "plan.accumulate = 3: must be a divisor of plan.batch = 8");
    assert!(wrong(|p| p.clip = f64::NAN).starts_with("plan.clip = NaN"));
    assert!(wrong(|p| p.rate.peak = -1.0).starts_with("plan.rate.peak = -1"));
    assert!(wrong(|p| p.rate.last = 1.0).starts_with("plan.rate.last = 1: must be at most plan.rate.peak"));
    assert!(wrong(|p| p.optimiser.beta_1 = 1.0).starts_with("plan.optimiser.beta_1 = 1"));
    assert!(wrong(|p| p.optimiser.epsilon = 0.0).starts_with("plan.optimiser.epsilon = 0"));
    assert!(wrong(|p| p.optimiser.weight_decay = 0.1).starts_with("plan.optimiser.weight_decay = 0.1"));
}
