//! In-context learning: Figures 6 and 7 of the AoT papers, what becomes of the networks off the law
//! they were trained on, and whether a trained network denoises. Settings: `attnlab run icl --show`.
//!
//! A cell is a class of functions with a network, or with the baselines; a trial is a training seed. A
//! trial keeps checkpoints beside the rows, so that a killed run goes on inside it.

use super::ICL as LISTED;
use super::networks::{history, record_depth, training_memory};
use crate::quantities::*;
use attnlab_lab::prelude::*;
use attnlab_theory::sample::{Functions, InContext, Shift};
use attnlab_train::baseline::RegressionBaseline;
use attnlab_train::model::{ComputeDevice, FirstPositions, Input, Model, ModelConfig, Recording, preset};
use attnlab_train::training::in_context::{InContextTask, errors, predictions};
use attnlab_train::training::{Curriculum, TrainingPlan, train};
use serde_json::json;

mod bands;
mod pictures;
mod plateau;

settings! {
    /// Figures 6 and 7 with all their settings.
    #[experiment(LISTED.id, rows = LISTED.name, title = LISTED.title)]
    #[source(LISTED.source.paper, LISTED.source.place)]
    #[trains = true]
    pub struct Icl {
        pub seeds: u64 = spread,
        pub functions: Vec<String> = names,
        pub models: Vec<String> = names,
        pub dim: usize,
        pub nonzero: usize,
        pub points: usize,
        pub width: usize,
        pub heads: usize,
        pub sigma: f64,
        pub positions: String,
        pub positions_rms: f64,
        pub places: usize,
        pub backend: String,
        pub layers: IclLayers,
        pub plan: TrainingPlan = table,
        pub curriculum: Curriculum,
        pub evaluation: IclEvaluation = table,
    }
}

settings! {
    /// Depth of each network.
    #[serde(rename_all = "kebab-case")]
    pub struct IclLayers {
        pub transformer: usize,
        pub aot_mssa: usize,
        pub aot_mhsa: usize,
        pub aot_tied: usize,
        pub hybrid: usize,
        pub full_mlp: usize,
        pub llama: usize,
        pub llama_aot: usize,
    }
}

settings! {
    /// Measurements at the end of training.
    pub struct IclEvaluation {
        pub prompts: usize = whole(2..),
        pub batch: usize = whole(1..),
        pub resamples: usize = whole(100..),
        pub scales: Vec<f64> = positive,
        pub noise: f64,
        pub longer: usize,
        pub lasso: Vec<f64> = positive,
        pub neighbours: usize,
        pub activations: usize = whole(1..),
        pub precision: f64 = positive,
    }
}

/// Name of the cell of the baselines.
const BASELINES: &str = "baselines";

impl IclLayers {
    fn depth(&self, name: &str) -> Result<usize> {
        // The fields are the networks by their names.
        let depth = json!(self).get(name).and_then(Value::as_u64);
        depth.map(|layers| layers as usize).ok_or_else(|| Error::unknown("model", name, MODELS))
    }
}

/// Names of the networks, in the order of the figures.
const MODELS: [&str; 8] =
    ["transformer", "aot-mssa", "aot-mhsa", "aot-tied", "hybrid", "full-mlp", "llama", "llama-aot"];

impl Icl {
    fn functions(&self, name: &str) -> Result<Functions> {
        match name {
            "linear" => Ok(Functions::Linear),
            "sparse-linear" => Ok(Functions::SparseLinear { nonzero: self.nonzero }),
            _ => Err(Error::unknown("functions", name, ["linear", "sparse-linear"])),
        }
    }

    /// A network of the papers at these sizes.
    fn model(&self, name: &str) -> Result<ModelConfig> {
        let layers = self.layers.depth(name)?;
        let paper = preset(&format!("icl-{name}"))?;
        let (input, first_positions) = (Input::Vectors { dim: self.dim }, self.first_positions()?);
        let sized = paper.resized(layers, self.width, self.heads);
        Ok(ModelConfig { input, context: 2 * self.places, sigma: self.sigma, first_positions, ..sized })
    }

    fn first_positions(&self) -> Result<FirstPositions> {
        match self.positions.as_str() {
            "normal" => Ok(FirstPositions::Normal),
            "sinusoids" => Ok(FirstPositions::Sinusoids { rms: self.positions_rms }),
            other => Err(Error::unknown("positions", other, ["normal", "sinusoids"])),
        }
    }

    fn law(&self, functions: Functions, points: usize, shift: Shift) -> InContext {
        InContext { functions, dim: self.dim, points, active: self.dim, shift }
    }

    /// The laws of evaluation by name: that of training first.
    fn laws(&self, functions: Functions) -> Vec<(String, InContext)> {
        let law = |points, shift| self.law(functions, points, shift);
        let e = &self.evaluation;
        let standard = ("standard".to_string(), law(self.points, Shift::None));
        let scaled = e.scales.iter().map(|s| (format!("scale-{s}"), law(self.points, Shift::Scale(*s))));
        let others = [
            ("skewed".into(), law(self.points, Shift::Skewed)),
            ("noise".into(), law(self.points, Shift::Noise(e.noise))),
            ("longer".into(), law(e.longer, Shift::None)),
        ];
        [standard].into_iter().chain(scaled).chain(others).collect()
    }

    fn baselines(&self) -> Vec<RegressionBaseline> {
        let baselines = [
            RegressionBaseline::LeastSquares,
            RegressionBaseline::Averaging,
            RegressionBaseline::Neighbours { count: self.evaluation.neighbours },
        ];
        let lasso = self.evaluation.lasso.iter().map(|alpha| RegressionBaseline::Lasso { alpha: *alpha });
        baselines.into_iter().chain(lasso).collect()
    }

    /// One network from its initial values to its errors.
    fn trained(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let (name, class) = (cell.get(MODEL), cell.get(FUNCTIONS));
        let functions = self.functions(class)?;
        let device = ComputeDevice::parse(&self.backend)?;
        let model = Model::new(self.model(name)?, &device, &streams.child("weights", 0))?;
        let mut data = Map::new();
        data.insert("parameters".into(), model.config().parameters().into());
        let prompts = streams.child("evaluation", 0);
        self.depth("untrained", &model, functions, &prompts, &mut data)?;
        let task = InContextTask { functions, dim: self.dim, curriculum: self.curriculum };
        let label = format!("icl {class} {name} {}", streams.name());
        let trained = train(&task, model, &self.plan, streams, &label, context)?;
        history(&trained.history, &mut data);
        self.depth("trained", &trained.model, functions, &prompts, &mut data)?;
        // E f(x)² under the law of training, under every law.
        let scale = functions.variance(self.dim);
        for (name, law) in self.laws(functions) {
            let (count, at_once) = (self.evaluation.prompts, self.evaluation.batch);
            let squares = errors(&trained.model, &law, count, at_once, &prompts)?;
            bands::record(&name, &squares, scale, self.evaluation.resamples, &prompts, &mut data);
        }
        Ok(data)
    }

    /// The measures of [`record_depth`] over some prompts of the law of training: does a trained network denoise?
    fn depth(
        &self,
        when: &str,
        model: &Model,
        functions: Functions,
        streams: &Streams,
        data: &mut Map<String, Value>,
    ) -> Result<()> {
        let (law, e) = (self.law(functions, self.points, Shift::None), &self.evaluation);
        let streams = streams.child("activations", 0);
        let prompts: Vec<_> = (0..e.activations as u64).map(|i| law.draw(&streams.child("prompt", i))).collect();
        let forward = |recording: &mut Recording| predictions(&model.frozen(), &prompts, recording).map(|_| ());
        record_depth(when, model, e.activations, e.precision, &forward, data)
    }

    fn baseline_errors(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let functions = self.functions(cell.get(FUNCTIONS))?;
        let prompts = streams.child("evaluation", 0);
        let mut data = Map::new();
        for (name, law) in self.laws(functions) {
            let drawn: Vec<_> =
                (0..self.evaluation.prompts as u64).map(|i| law.draw(&prompts.child("prompt", i))).collect();
            let mut baselines = self.baselines();
            if let Shift::Noise(deviation) = law.shift {
                baselines.push(RegressionBaseline::Ridge { noise_var: deviation * deviation });
            }
            for baseline in baselines {
                let squares = drawn.iter().map(|p| Ok(baseline.errors(p)?.to_vec())).collect::<Result<Vec<_>>>()?;
                let name = format!("{name}.{}", baseline.name());
                let scale = functions.variance(self.dim);
                bands::record(&name, &squares, scale, self.evaluation.resamples, &prompts, &mut data);
            }
        }
        Ok(data)
    }
}

impl Experiment for Icl {
    fn validate(&self) -> Result<()> {
        ComputeDevice::parse(&self.backend)?;
        self.baselines().iter().try_for_each(RegressionBaseline::validate)?;
        for (name, ramp, last) in [
            ("curriculum.dims", self.curriculum.dims, self.dim),
            ("curriculum.points", self.curriculum.points, self.points),
        ] {
            ramp.validate(name)?;
            require(ramp.to == last, format!("{name}.to"), ramp.to, format!("must be {last}, which evaluation has"))?;
        }
        for (name, points) in [("points", self.points), ("evaluation.longer", self.evaluation.longer)] {
            require(points <= self.places, name, points, format!("must be at most places = {}", self.places))?;
        }
        for class in &self.functions {
            self.laws(self.functions(class)?).iter().try_for_each(|(_, law)| law.validate())?;
        }
        self.models.iter().try_for_each(|m| self.model(m)?.validate())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let models = self.models.iter().map(String::as_str).chain([BASELINES]);
        let cell = |(class, model): (&String, &str)| {
            let shared =
                [FUNCTIONS.is(class.as_str()), MODEL.is(model), INPUT_DIM.is(self.dim), POINTS.is(self.points)];
            let sizes = match model {
                BASELINES => vec![],
                model => vec![LAYERS.is(self.layers.depth(model)?), WIDTH.is(self.width)],
            };
            Ok(shared.into_iter().chain(sizes).collect())
        };
        iproduct!(&self.functions, models).map(cell).collect()
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// For a network: "parameters"; the series "steps", "loss", "norm"; for every law of evaluation (standard, scale-2,
    /// skewed, noise, longer) "LAW.mean", "LAW.low" and "LAW.high" by number of examples; for "untrained" and "trained"
    /// the series "WHEN.stable_rank" and "WHEN.coding_rate" by depth, and for MSSA "WHEN.snr_before" and
    /// "WHEN.snr_after" by layer. For the baselines "LAW.BASELINE.mean" and so on.
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        match cell.get(MODEL) {
            BASELINES => self.baseline_errors(cell, streams),
            _ => self.trained(cell, streams, context),
        }
    }

    fn memory(&self, cell: &Params) -> u64 {
        let Ok(config) = self.model(cell.get(MODEL)) else {
            // The prompts of one law and their errors.
            return (self.evaluation.prompts * self.places * (self.dim + 2) * 8) as u64;
        };
        training_memory(&config, self.plan.batch.div_ceil(self.plan.accumulate), 2 * self.points)
    }

    fn size(&self) -> String {
        format!("*d* = {}, width {}, {} steps, {} seeds", self.dim, self.width, self.plan.steps, self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
