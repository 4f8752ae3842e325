//! Denoising, Figure 2: one layer trained on the three tasks, linear and softmax attention.

use crate::PAPERS;
use crate::experiments::tasks::{Baseline, Bases, ClusterTask, Data, Sphere, Subspace, Task, Training};
use crate::quantities::cell::{AMBIENT, CONTEXT, EPOCHS, TASK, TASKS, VARIANT, VARIANTS};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::{Attention, Form, History, Prompts, Weights, loss, train};

mod pictures;

settings! {
    /// Figure 2 with all its settings.
    #[experiment("denoise.training", rows = "denoise_training",
        title = "One attention layer learns to denoise in context")]
    #[source(&PAPERS[0], "Figure 2")]
    pub struct DenoiseTraining {
        pub seeds: u64 = spread,
        pub ambient: usize,
        pub form: String,
        pub variants: Vec<String> = words("variant", &VARIANTS),
        pub tasks: Vec<String> = words("task", &TASKS),
        pub code: Variant,
        pub text: Variant,
        pub training: Training = table,
        pub subspace: Subspace = table,
        pub sphere: Sphere = table,
        pub clusters: ClusterTask = table,
    }
}

settings! {
    /// The settings in which the authors' code and the paper differ.
    pub struct Variant {
        pub context: usize,
        pub bases: Bases,
        pub shared_data: bool,
    }
}

impl DenoiseTraining {
    fn variant(&self, name: &str) -> &Variant {
        if name == "code" { &self.code } else { &self.text }
    }

    /// The task and its number of epochs.
    fn task(&self, name: &str, variant: &Variant) -> (Task, usize) {
        let (n, context) = (self.ambient, variant.context);
        match name {
            "subspace" => (self.subspace.task(n, context, variant.bases), self.subspace.epochs),
            "sphere" => (self.sphere.task(n, context), self.sphere.epochs),
            _ => (self.clusters.task(n, context), self.clusters.epochs),
        }
    }
}

impl Experiment for DenoiseTraining {
    fn validate(&self) -> Result<()> {
        self.training.validate()?;
        Form::parse(&self.form)?;
        iproduct!(&self.variants, &self.tasks)
            .try_for_each(|(variant, task)| self.task(task, self.variant(variant)).0.problem.validate())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(name, task): (&String, &String)| {
            let variant = self.variant(name);
            let (_, epochs) = self.task(task, variant);
            let words = [VARIANT.is(name.as_str()), TASK.is(task.as_str())];
            let sizes = [AMBIENT.is(self.ambient), CONTEXT.is(variant.context), EPOCHS.is(epochs)];
            Params::from_iter(words.into_iter().chain(sizes))
        };
        Ok(iproduct!(&self.variants, &self.tasks).map(cell).collect())
    }

    /// For linear and softmax attention A: the series "A.train" and "A.test" (loss per component at
    /// the start and after each epoch), "A.kq" and "A.pv" (the matrices at the end, row by row),
    /// "A.start_kq" and "A.start_pv", and the numbers "A.alpha", "A.beta" (means of the diagonals),
    /// "A.drift". For every baseline "baseline.NAME": its loss on the training and the test prompts.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let variant = self.variant(cell.get(VARIANT));
        let (task, epochs) = self.task(cell.get(TASK), variant);
        let source = if variant.shared_data { streams.of_trial(0) } else { streams.clone() };
        let set = |name, count| task.data(name, count, &Attention::ALL, &source);
        let sets = [set("train", self.training.train)?, set("test", self.training.test)?];
        let mut data = baselines(&task, &sets);
        let form = Form::parse(&self.form)?;
        let recipe = self.training.recipe(epochs);
        let prompts = [&sets[0].prompts, &sets[1].prompts];
        for attention in Attention::ALL {
            let child = streams.child(attention.name(), 0);
            let start = Weights::uniform(self.ambient, form, &child);
            let fit = train(attention, prompts, &start, form, &recipe, &child)?;
            record(attention, &start, &fit, &mut data);
        }
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        let prompts = self.training.train + self.training.test;
        Prompts::<f32>::bytes(self.ambient, cell.get(CONTEXT), prompts, &Attention::ALL)
    }

    fn size(&self) -> String {
        format!("*n* = {}, {} training prompts, {} seeds", self.ambient, self.training.train, self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

fn baselines(task: &Task, sets: &[Data; 2]) -> Map<String, Value> {
    let mut data = Map::new();
    for (i, baseline) in Baseline::all(&task.problem.family).into_iter().enumerate() {
        let losses = [sets[0].losses[i], sets[1].losses[i]];
        data.insert(format!("baseline.{}", baseline.name()), store::series(&losses));
    }
    let (attention, weights) = task.theorem();
    let theorem: Vec<f64> = sets.iter().filter_map(|set| loss(attention, &set.prompts, &weights).ok()).collect();
    data.insert("baseline.theorem".into(), store::series(&theorem));
    data
}

fn record(attention: Attention, start: &Weights<f32>, fit: &History<f32>, data: &mut Map<String, Value>) {
    let mut put = |what: &str, value: Value| {
        data.insert(format!("{}.{what}", attention.name()), value);
    };
    put("train", store::series(&fit.train));
    put("test", store::series(&fit.test));
    for (name, value) in [("alpha", fit.weights.alpha()), ("beta", fit.weights.beta()), ("drift", fit.drift())] {
        put(name, store::number(value));
    }
    for (name, matrix) in
        [("kq", &fit.weights.kq), ("pv", &fit.weights.pv), ("start_kq", &start.kq), ("start_pv", &start.pv)]
    {
        put(name, store::series(&matrix.iter().map(|x| f64::from(*x)).collect::<Vec<_>>()));
    }
}
