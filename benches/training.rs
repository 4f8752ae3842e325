//! Training at the settings of the authors' code: three tasks, linear and softmax attention.
//!
//! ```text
//! cargo bench --bench training                   # 6 seeds per case, f32 and f64
//! cargo bench --bench training -- --quick        # small, seconds: does it still run?
//! cargo bench --bench training -- --seeds 2 --rounds 5
//! cargo bench --bench training -- --json --export DIR --seeds 1   # for benches/peers/training.sh
//! ```
//!
//! A case is timed from the prompts as they are drawn: packing them, the second moments of linear
//! attention, every step, and the losses on all training and test prompts after every epoch. With
//! `--export` the prompts, first weights and batch orders are written as NumPy files, so that
//! another program can do the same work and compare its losses. Nothing here is a test.

mod arguments;

use arguments::{Arguments, or_exit};
use attnlab::dynamics::{Attention, Form, Precision, Prompts, Recipe, Weights, order, train};
use attnlab::npy;
use attnlab::papers::denoising::prompts::{Denoising, Dimension, Family, Prompt};
use attnlab::rng::Streams;
use ndarray::{Array2, Array3, ArrayRef, s};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Instant;

const TRAIN: usize = 800;
const TEST: usize = 200;

struct Size {
    seeds: u64,
    rounds: usize,
    /// Shares of the authors' epochs.
    epochs: f64,
    export: Option<String>,
    json: bool,
}

impl Size {
    fn read(arguments: &Arguments) -> Result<Self, String> {
        let quick = arguments.has("--quick");
        Ok(Size {
            seeds: arguments.whole("--seeds", 6, 1)? as u64,
            rounds: arguments.whole("--rounds", 3, 1)?,
            epochs: if quick { 0.05 } else { 1.0 },
            export: arguments.after("--export").map(str::to_string),
            json: arguments.has("--json"),
        })
    }
}

/// One task with its data, drawn once.
struct Case {
    name: &'static str,
    recipe: Recipe,
    problem: Denoising,
    prompts: [Vec<Prompt>; 2],
}

impl Case {
    fn all(size: &Size) -> Vec<Case> {
        let dim = Dimension::Fixed(8);
        let clusters = Family::Clusters { weights: vec![0.125; 8], variances: vec![0.02; 8], radius: 1.0 };
        let sphere = Family::Sphere { dim, radius: 1.0 };
        let subspace = Family::Subspace { dim, sigma0_2: 2.0 };
        [("subspace", subspace, 1.0, 100.0), ("sphere", sphere, 0.1, 200.0), ("clusters", clusters, 0.1, 200.0)]
            .into_iter()
            .map(|(name, family, sigma_z2, epochs)| {
                let problem = Denoising { family, ambient: 16, context: 499, sigma_z2 };
                let streams = Streams::new(0, "bench.training", 0, 0);
                let draw = |set: &str, count: usize| -> Vec<Prompt> {
                    let prompt = |i| problem.draw(&streams.child(set, i)).expect("a valid task");
                    (0..count as u64).into_par_iter().map(prompt).collect()
                };
                Case {
                    name,
                    recipe: Recipe::authors((epochs * size.epochs).ceil() as usize),
                    prompts: [draw("train", TRAIN), draw("test", TEST)],
                    problem,
                }
            })
            .collect()
    }

    fn streams(&self, attention: Attention, seed: u64) -> Streams {
        Streams::new(seed, self.name, 0, 0).child(attention.name(), 0)
    }

    /// Seconds and final losses of every seed, one after the other.
    fn run<T: Precision>(&self, attention: Attention, seeds: u64) -> (f64, Vec<[f64; 2]>) {
        let start = Instant::now();
        let pack = |prompts: &Vec<Prompt>| -> Prompts<T> {
            let draw = |i: u64| Ok(prompts[i as usize].clone());
            Prompts::draw(prompts.len(), &[attention], draw, |_| Ok(())).expect("valid prompts").0
        };
        let sets = self.prompts.each_ref().map(pack);
        let last_losses = |seed: u64| -> [f64; 2] {
            let streams = self.streams(attention, seed);
            let begin = Weights::uniform(self.problem.ambient, Form::Full, &streams);
            let curves = train(attention, [&sets[0], &sets[1]], &begin, Form::Full, &self.recipe, &streams);
            let curves = curves.expect("training at the authors' settings");
            [curves.train, curves.test].map(|l| l[l.len() - 1])
        };
        let seeds: Vec<u64> = (0..seeds).collect();
        let losses = seeds.into_par_iter().with_max_len(1).map(last_losses).collect();
        (start.elapsed().as_secs_f64(), losses)
    }

    fn export(&self, folder: &Path, seeds: u64) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let n = self.problem.ambient;
        let path = |name: &str| folder.join(format!("{}_{name}.npy", self.name));
        for (set, prompts) in [("train", &self.prompts[0]), ("test", &self.prompts[1])] {
            let mut x = Array3::<f32>::zeros((prompts.len(), n, self.problem.context + 1));
            let mut y = Array2::<f32>::zeros((prompts.len(), n));
            for (i, p) in prompts.iter().enumerate() {
                x.slice_mut(s![i, .., ..-1]).assign(&p.context.mapv(|x| x as f32));
                x.slice_mut(s![i, .., -1]).assign(&p.query.mapv(|x| x as f32));
                y.row_mut(i).assign(&p.target.mapv(|x| x as f32));
            }
            write(&path(&format!("x_{set}")), &x)?;
            write(&path(&format!("y_{set}")), &y)?;
        }
        for attention in Attention::ALL {
            for seed in 0..seeds {
                let streams = self.streams(attention, seed);
                let begin = Weights::<f32>::uniform(n, Form::Full, &streams);
                let file = |what: &str| path(&format!("{}_{seed}_{what}", attention.name()));
                write(&file("kq"), &begin.kq.as_standard_layout())?;
                write(&file("pv"), &begin.pv.as_standard_layout())?;
                let mut orders = Array2::<i64>::zeros((self.recipe.epochs, TRAIN));
                for (epoch, mut row) in orders.rows_mut().into_iter().enumerate() {
                    row.iter_mut().zip(order(TRAIN, &streams, epoch as u64)).for_each(|(to, i)| *to = i as i64);
                }
                write(&file("order"), &orders)?;
            }
        }
        Ok(())
    }
}

fn write<T: npy::Element, D: ndarray::Dimension>(path: &Path, array: &ArrayRef<T, D>) -> std::io::Result<()> {
    npy::write(array, std::fs::File::create(path)?)
}

/// Smallest, median and largest.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2], values[values.len() - 1])
}

fn times<T: Precision>(cases: &[Case], size: &Size) -> Map<String, Value> {
    let mut results = Map::new();
    for case in cases {
        for attention in Attention::ALL {
            let mut seconds = vec![];
            let mut losses = vec![];
            for _ in 0..size.rounds {
                let (took, ends) = case.run::<T>(attention, size.seeds);
                seconds.push(took);
                losses = ends;
            }
            let name = format!("{} {}", case.name, attention.name());
            results.insert(name, json!({"seconds": seconds, "losses": losses}));
        }
    }
    results
}

fn print<T: Precision>(cases: &[Case], size: &Size) {
    println!("{}, {} seeds per case:", T::NAME, size.seeds);
    let mut total = vec![0.0; size.rounds];
    for (name, value) in times::<T>(cases, size) {
        let list = value["seconds"].as_array().cloned().unwrap_or_default();
        let seconds: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
        total.iter_mut().zip(&seconds).for_each(|(t, s)| *t += s);
        let (low, median, high) = spread(seconds);
        let loss = value["losses"][0][0].as_f64().unwrap_or(f64::NAN);
        println!("  {name:<24} {median:8.3} s  [{low:.3}, {high:.3}]   train loss of seed 0: {loss:.6}");
    }
    let (low, median, high) = spread(total);
    println!("  {:<24} {median:8.3} s  [{low:.3}, {high:.3}]", "all six cases");
}

fn main() {
    let size = or_exit(Size::read(&Arguments::of_process()));
    let cases = Case::all(&size);
    if let Some(folder) = &size.export {
        for case in &cases {
            if let Err(error) = case.export(Path::new(folder), size.seeds) {
                eprintln!("error: {folder}: {error}");
                std::process::exit(2);
            }
        }
    }
    if size.json {
        let cases = times::<f32>(&cases, &size);
        println!("{}", json!({"threads": rayon::current_num_threads(), "cases": cases}));
        return;
    }
    println!("{} threads", rayon::current_num_threads());
    print::<f32>(&cases, &size);
    print::<f64>(&cases, &size);
}
