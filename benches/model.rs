//! Training throughput of the networks (feature train): forward passes and whole steps, one after the other in rounds.
//!
//! ```text
//! cargo bench --features train --bench model                          # regression, 64 prompts, CPU
//! cargo bench --features train-vulkan --bench model -- --backend gpu  # a real card
//! cargo bench --features train --bench model -- --network aot-mssa-l-base --batch 1
//! cargo bench --features train --bench model -- --quick               # seconds: does it still run?
//! cargo bench --features train --bench model -- --reference           # beside attention as a graph
//! cargo bench --features train --bench model -- --json                # for benches/peers/model.sh
//! ```
//!
//! A step is loss, derivatives, clipping, and Adam, and ends with the loss and the gradient's length on
//! the host. Batches are drawn inside, on the host. The most memory that the process ever held is
//! printed where the system tells it. Nothing here is a test.

mod arguments;
mod race;

use arguments::{Arguments, or_exit};
use attnlab::Result;
use attnlab::rng::Streams;
use attnlab::sample::Functions;
use attnlab::train::model::{ComputeDevice, Input, Model, ModelConfig, preset};
use attnlab::train::training::in_context::InContextTask;
use attnlab::train::training::language::Text;
use attnlab::train::training::{Batch, Curriculum, Ramp, Trainer, TrainingPlan, TrainingTask};
use race::{Race, spread};
use std::hint::black_box;

struct Size {
    network: String,
    backend: String,
    batch: usize,
    steps: usize,
    rounds: usize,
    /// Layers, where fewer than the network's are asked for.
    layers: Option<usize>,
    /// Flag: the same with attention as a graph of primitive operations takes turns.
    reference: bool,
    json: bool,
}

impl Size {
    fn read(arguments: &Arguments) -> std::result::Result<Self, String> {
        let layers = match arguments.has("--quick") || arguments.after("--layers").is_some() {
            true => Some(arguments.whole("--layers", 2, 2)?),
            false => None,
        };
        let word = |name: &str, normal: &str| arguments.after(name).unwrap_or(normal).to_string();
        Ok(Size {
            network: word("--network", "icl-aot-mssa"),
            backend: word("--backend", "cpu"),
            batch: arguments.whole("--batch", 64, 4)?,
            steps: arguments.whole("--steps", 3, 1)?,
            rounds: arguments.whole("--rounds", 5, 1)?,
            layers,
            reference: arguments.has("--reference"),
            json: arguments.has("--json"),
        })
    }
}

/// Task of the network: regression at the papers' size, or the next of random tokens, which cost what real ones do.
fn task(config: &ModelConfig) -> Result<Box<dyn TrainingTask>> {
    Ok(match config.input {
        Input::Tokens { vocabulary } => {
            let most = u64::try_from(vocabulary.min(1 << 16)).unwrap_or(1 << 16);
            let length = 64 * (config.context as u64 + 1);
            let tokens = (0..length).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % most);
            Box::new(Text::from_tokens(tokens.map(|t| u16::try_from(t).unwrap_or(0)).collect(), config.context, 0.5)?)
        }
        Input::Vectors { dim } | Input::Patches { dim } => Box::new(InContextTask {
            functions: Functions::Linear,
            dim,
            curriculum: Curriculum { dims: Ramp::fixed(dim), points: Ramp::fixed(41) },
        }),
    })
}

fn run(size: &Size) -> Result<()> {
    let paper = preset(&size.network)?;
    let config = ModelConfig { layers: size.layers.unwrap_or(paper.layers), ..paper };
    let device = ComputeDevice::parse(&size.backend)?;
    let streams = Streams::new(1, "bench.model", 0, 0);
    let task = task(&config)?;
    let plan = TrainingPlan::constant(1, size.batch, 1e-4);
    let batch = Batch { streams: streams.clone(), first: 0, count: size.batch, stage: None };
    let (task, plan, batch) = (task.as_ref(), &plan, &batch);
    let mut race = Race::new();
    let mut enter = |device: &ComputeDevice, forward, step| -> Result<()> {
        let model = Model::new(config.clone(), device, &streams)?;
        let frozen = model.frozen();
        let mut trainer = Trainer::new(task, model, plan, &streams)?;
        race.add(forward, move || {
            for _ in 0..size.steps {
                let loss = task.loss(&frozen, batch).expect("a fitting network");
                black_box(loss.try_to_vec_as::<f32>().expect("a working device"));
            }
        });
        race.add(step, move || {
            for _ in 0..size.steps {
                black_box(trainer.step().expect("a working device"));
            }
        });
        Ok(())
    };
    enter(&device, "forward", "step")?;
    if size.reference {
        enter(&device.unfused(), "forward, graph", "step, graph")?;
    }
    race.run(size.rounds);
    report(size, &config, &race);
    Ok(())
}

fn report(size: &Size, config: &ModelConfig, race: &Race) {
    let each = |name: &str| -> Vec<f64> { race.seconds(name).iter().map(|s| s / size.steps as f64).collect() };
    let (forward, step) = (each("forward"), each("step"));
    if size.json {
        let line = serde_json::json!({
            "network": size.network, "backend": size.backend, "batch": size.batch,
            "layers": config.layers, "forward": forward, "step": step,
        });
        println!("{line}");
        return;
    }
    println!(
        "{} ({} layers, {} parameters), {} sequences, {}",
        size.network,
        config.layers,
        config.parameters(),
        size.batch,
        size.backend
    );
    println!("seconds per {} of each, median [least, most]:", size.steps);
    race.print_times();
    race.print_ratio("forward pass's share of a step", "forward", "step", "");
    if size.reference {
        race.print_ratio("forward pass, graph / fused", "forward, graph", "forward", "");
        race.print_ratio("step, graph / fused", "step, graph", "step", "");
    }
    let (_, median, _) = spread(step);
    println!("  steps: {:.2} sequences/s", size.batch as f64 / median);
    if let Some(peak) = peak_memory() {
        println!("  most memory held: {peak:.2} GiB");
    }
}

/// Gibibytes, where /proc tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0 / 1024.0)
}

fn main() {
    let size = or_exit(Size::read(&Arguments::of_process()));
    or_exit(run(&size).map_err(|e| e.to_string()));
}
