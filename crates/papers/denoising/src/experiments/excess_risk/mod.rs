//! Excess risk over Bayes of one trained attention layer: against L, n, d and the noise.

use crate::PAPERS;
use crate::experiments::tasks::{Bases, Sphere, Subspace, Task, Training};
use crate::quantities::NOISE_VARIANCE;
use crate::quantities::cell::{AMBIENT, CONTEXT, DIM, MAP, TASK};
use crate::theory::mixture::distance2;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::{Attention, Form, Prompts, Weights, outputs, train};
use ndarray::Array1;

mod pictures;

settings! {
    /// The map with all its settings.
    #[experiment("denoise.excess_risk", rows = "denoise_excess_risk",
        title = "Excess risk over Bayes of one trained attention layer")]
    #[source(&PAPERS[0], "Theorems 3.1 and 3.2; not in the paper")]
    pub struct DenoiseExcessRisk {
        pub seeds: u64 = spread,
        pub fresh: usize = whole(1..),
        pub tasks: Vec<String> = words("task", &TASKS),
        pub ambient: usize,
        pub contexts: Vec<usize> = whole(1..),
        pub noises: Vec<f64> = positive,
        pub ambients: Vec<usize> = whole(1..),
        pub shares: Vec<f64> = positive,
        pub context: usize,
        pub training: Training = table,
        pub subspace: Subspace = table,
        pub sphere: Sphere = table,
    }
}

const TASKS: [&str; 2] = ["subspace", "sphere"];

impl DenoiseExcessRisk {
    fn cell(&self, group: &str, task: &str, [ambient, dim, context]: [usize; 3], noise: f64) -> Params {
        let sizes = [AMBIENT.is(ambient), DIM.is(dim), CONTEXT.is(context)];
        Params::from_iter([MAP.is(group), TASK.is(task)].into_iter().chain(sizes).chain([NOISE_VARIANCE.is(noise)]))
    }

    /// d and the noise of a task where it is not on an axis.
    fn usual(&self, task: &str) -> (usize, f64) {
        match task {
            "subspace" => (self.subspace.dim, self.subspace.sigma_z2),
            _ => (self.sphere.dim, self.sphere.sigma_z2),
        }
    }

    fn of_cell(&self, cell: &Params) -> (Task, Attention, usize) {
        let [n, dim, context] = [AMBIENT, DIM, CONTEXT].map(|quantity| cell.get(quantity));
        let sigma_z2 = cell.get(NOISE_VARIANCE);
        if cell.get(TASK) == "subspace" {
            let subspace = Subspace { dim, sigma_z2, ..self.subspace.clone() };
            (subspace.task(n, context, Bases::Haar), Attention::Linear, subspace.epochs)
        } else {
            let sphere = Sphere { dim, sigma_z2, ..self.sphere.clone() };
            (sphere.task(n, context), Attention::Softmax, sphere.epochs)
        }
    }
}

impl Experiment for DenoiseExcessRisk {
    fn validate(&self) -> Result<()> {
        self.training.validate()?;
        self.cells()?.iter().try_for_each(|cell| self.of_cell(cell).0.problem.validate())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![];
        for task in &self.tasks {
            let (dim, noise) = self.usual(task);
            cells.extend(
                iproduct!(&self.contexts, &self.noises)
                    .map(|(context, noise)| self.cell("context-noise", task, [self.ambient, dim, *context], *noise)),
            );
            cells.extend(iproduct!(&self.ambients, &self.shares).map(|(n, share)| {
                let dim = (share * *n as f64).round() as usize;
                self.cell("dimensions", task, [*n, dim, self.context], noise)
            }));
        }
        Ok(cells)
    }

    /// "trained" and "theorem": mean of ‖x̂ - f_opt‖² over the fresh prompts, that is the excess
    /// risk, of the trained layer and of the theorems' weights; "alpha", "beta", "drift" of the former.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (task, attention, epochs) = self.of_cell(cell);
        let n = task.problem.ambient;
        let set = |name: &str, count| {
            let draw = |i| task.draw(&streams.child(name, i));
            Prompts::<f32>::draw(count, &[attention], draw, |_| Ok(()))
        };
        let (train_set, _) = set("train", self.training.train)?;
        let (test_set, _) = set("test", self.training.test)?;
        let start = Weights::uniform(n, Form::Full, streams);
        let recipe = self.training.recipe(epochs);
        let trained = train(attention, [&train_set, &test_set], &start, Form::Full, &recipe, streams)?;
        // Given the task and the query, the context and the clean token are independent, so the
        // risk is the Bayes risk plus the distance to the posterior mean: no noise of the token.
        let draw = |i| task.draw(&streams.child("fresh", i));
        let sigma_z2 = task.problem.sigma_z2;
        let optimum = |p: &crate::prompts::Prompt| p.prior.posterior_mean(p.query.view(), sigma_z2);
        let (fresh, best) = Prompts::<f32>::draw(self.fresh, &[attention], draw, optimum)?;
        let excess = |weights: &Weights<f32>| -> Result<f64> {
            let answers = outputs(attention, &fresh, weights)?;
            let gap = |(x, f): (ndarray::ArrayView1<f32>, &Array1<f64>)| distance2(x.mapv(f64::from).view(), f.view());
            Ok(answers.columns().into_iter().zip(&best).map(gap).sum::<f64>() / self.fresh as f64)
        };
        let numbers = [
            ("trained", excess(&trained.weights)?),
            ("theorem", excess(&task.theorem().1)?),
            ("alpha", trained.weights.alpha()),
            ("beta", trained.weights.beta()),
            ("drift", trained.drift()),
        ];
        Ok(numbers.into_iter().map(|(name, value)| (name.to_string(), store::number(value))).collect())
    }

    fn memory(&self, cell: &Params) -> u64 {
        let prompts = self.training.train + self.training.test + self.fresh;
        let (_, attention, _) = self.of_cell(cell);
        Prompts::<f32>::bytes(cell.get(AMBIENT), cell.get(CONTEXT), prompts, &[attention])
    }

    fn size(&self) -> String {
        format!("{} training prompts, {} fresh ones, {} seeds", self.training.train, self.fresh, self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
