//! Denoising, Figure 5: linear attention trained at several context lengths, and tested on subspaces
//! of dimensions that it was not trained on.

use crate::PAPERS;
use crate::experiments::tasks::{Bases, Subspace, Training};
use crate::quantities::cell::{AMBIENT, CONTEXT, DIM, PANEL};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::{Attention, Form, Prompts, Recipe, Weights, loss, train};
use serde_json::json;

mod pictures;

settings! {
    /// Figure 5 with all its settings.
    #[experiment("denoise.generalisation", rows = "denoise_generalisation",
        title = "Trained linear attention at other context lengths and dimensions")]
    #[source(&PAPERS[0], "Figure 5")]
    pub struct DenoiseGeneralisation {
        pub seeds: u64 = spread,
        pub ambient: usize,
        pub bases: Bases,
        pub fresh: usize = whole(1..),
        pub contexts: Vec<usize> = whole(1..),
        pub trained_context: usize,
        pub tested_contexts: Vec<usize> = whole(1..),
        pub tested_dims: Vec<usize> = whole(1..),
        pub tested_with_milestones: bool,
        pub training: Training = table,
        pub subspace: Subspace = table,
    }
}

const LINEAR: [Attention; 1] = [Attention::Linear];

impl DenoiseGeneralisation {
    fn recipe(&self, group: &str) -> Recipe {
        let mut recipe = self.training.recipe(self.subspace.epochs);
        if group == "dimension" && !self.tested_with_milestones {
            recipe.milestones.clear();
        }
        recipe
    }

    /// Loss on fresh prompts of dimension `dim` with `context` tokens.
    fn fresh_loss(&self, dim: usize, context: usize, weights: &Weights<f32>, streams: &Streams) -> Result<f64> {
        let other = Subspace { dim, ..self.subspace.clone() };
        let task = other.task(self.ambient, context, self.bases);
        let draw = |i| task.draw(&streams.child("fresh", i));
        let (prompts, _) = Prompts::draw(self.fresh, &LINEAR, draw, |_| Ok(()))?;
        loss(Attention::Linear, &prompts, weights)
    }
}

impl Experiment for DenoiseGeneralisation {
    fn validate(&self) -> Result<()> {
        self.training.validate()?;
        let task = |dim: usize, context: usize| {
            let subspace = Subspace { dim, ..self.subspace.clone() };
            subspace.task(self.ambient, context, self.bases).problem
        };
        let contexts = self.contexts.iter().chain(&self.tested_contexts);
        for context in contexts.chain([&self.trained_context]) {
            task(self.subspace.dim, *context).validate()?;
        }
        self.tested_dims.iter().try_for_each(|d| task(*d, 1).validate())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let (n, d) = (AMBIENT.is(self.ambient), DIM.is(self.subspace.dim));
        let cell = |group: &str, context: usize| {
            Params::from_iter([PANEL.is(group), n.clone(), d.clone(), CONTEXT.is(context)])
        };
        let lengths = self.contexts.iter().map(|l| cell("length", *l));
        Ok(lengths.chain([cell("dimension", self.trained_context)]).collect())
    }

    /// "alpha", "beta", the losses "train", "test", "fresh" at the end; in group "dimension" also
    /// "tested": rows [L, d, loss on fresh prompts].
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (group, context) = (cell.get(PANEL), cell.get(CONTEXT));
        let task = self.subspace.task(self.ambient, context, self.bases);
        let set = |name, count| task.data(name, count, &LINEAR, streams);
        let sets = [set("train", self.training.train)?, set("test", self.training.test)?];
        let start = Weights::uniform(self.ambient, Form::Full, streams);
        let prompts = [&sets[0].prompts, &sets[1].prompts];
        let recipe = self.recipe(group);
        let trained = train(LINEAR[0], prompts, &start, Form::Full, &recipe, streams)?;
        let last = |curve: &[f64]| curve.last().copied().unwrap_or(f64::NAN);
        let mut data = Map::new();
        let fresh = self.fresh_loss(self.subspace.dim, context, &trained.weights, streams)?;
        for (name, value) in [
            ("alpha", trained.weights.alpha()),
            ("beta", trained.weights.beta()),
            ("train", last(&trained.train)),
            ("test", last(&trained.test)),
            ("fresh", fresh),
        ] {
            data.insert(name.into(), store::number(value));
        }
        if group == "dimension" {
            let tested = iproduct!(&self.tested_contexts, &self.tested_dims).map(|(context, dim)| {
                let child = streams.child("tested", (context * self.ambient + dim) as u64);
                let loss = self.fresh_loss(*dim, *context, &trained.weights, &child)?;
                Ok(json!([context, dim, store::number(loss)]))
            });
            data.insert("tested".into(), Value::Array(tested.collect::<Result<_>>()?));
        }
        Ok(data)
    }

    fn memory(&self, _cell: &Params) -> u64 {
        let prompts = self.training.train + self.training.test + self.fresh;
        Prompts::<f32>::bytes(self.ambient, 1, prompts, &LINEAR)
    }

    fn size(&self) -> String {
        format!(
            "*n* = {}, {} training prompts, {} fresh ones, {} seeds",
            self.ambient, self.training.train, self.fresh, self.seeds
        )
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
