//! The three denoising tasks as settings, and data sets of them with the loss of each baseline.

use crate::prompts::{Denoising, Dimension, Family, Prompt, draw_tokens};
use crate::theory::mixture::{distance2, equal_variances};
use crate::theory::{Predictor, Prior};
use attnlab_core::linalg::qr_q;
use attnlab_core::special::bessel_ratio;
use attnlab_lab::experiment::ranges::within;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::{Attention, Prompts, Recipe, Weights};
use ndarray::Array2;
use rand::RngExt;

/// Law of the subspace of case 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bases {
    /// Uniformly, as the paper says.
    Haar,
    /// The QR factor of a matrix of entries uniform on [-1, 1], as the authors' code does. That is
    /// not the Haar law: E P_11² is .2702 at n = 16, d = 8, not .2778.
    QrUniform,
}

attnlab_lab::settings! {
    /// Case 1: Gaussian tokens on a subspace.
    pub struct Subspace {
        pub dim: usize,
        pub sigma0_2: f64 = positive,
        pub sigma_z2: f64 = positive,
        pub epochs: usize = whole(1..),
    }
}

attnlab_lab::settings! {
    /// Case 2: tokens uniform on a sphere in a subspace of dimension d + 1.
    pub struct Sphere {
        pub dim: usize,
        pub radius: f64 = positive,
        pub sigma_z2: f64 = positive,
        pub epochs: usize = whole(1..),
    }
}

attnlab_lab::settings! {
    /// Case 3: Gaussian clusters, balanced and of equal variance.
    pub struct ClusterTask {
        pub clusters: usize,
        pub radius: f64,
        pub sigma0_2: f64 = positive,
        pub sigma_z2: f64 = positive,
        pub epochs: usize = whole(1..),
    }
}

attnlab_lab::settings! {
    /// Settings that all training experiments have.
    pub struct Training {
        pub train: usize = whole(1..),
        pub test: usize = whole(1..),
        pub batch: usize = whole(1..),
        pub rate: f64 = positive,
        pub milestones: Vec<f64> = shares,
        pub decay: f64 = positive,
    }
}

/// Accepts shares of the epochs, or none.
fn shares(name: &str, shares: &Vec<f64>) -> Result<()> {
    if shares.is_empty() { Ok(()) } else { within("[0, 1]")(name, shares) }
}

impl Training {
    /// The recipe for so many epochs.
    pub fn recipe(&self, epochs: usize) -> Recipe {
        Recipe {
            batch: Some(self.batch),
            rate: self.rate,
            milestones: self.milestones.clone(),
            decay: self.decay,
            ..Recipe::authors(epochs)
        }
    }

    /// Refuses settings of the table `training` that do not fit each other. Each is within its range.
    ///
    /// # Errors
    /// Names the setting.
    pub fn validate(&self) -> Result<()> {
        let allowed = format!("must be at most training.train = {}", self.train);
        require(self.batch <= self.train, "training.batch", self.batch, allowed)
    }
}

/// One task as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Law of its prompts.
    pub problem: Denoising,
    /// Law of its subspace.
    pub bases: Bases,
}

impl Subspace {
    /// The task in dimension `ambient` with `context` clean tokens.
    pub fn task(&self, ambient: usize, context: usize, bases: Bases) -> Task {
        let family = Family::Subspace { dim: Dimension::Fixed(self.dim), sigma0_2: self.sigma0_2 };
        Task { problem: Denoising { family, ambient, context, sigma_z2: self.sigma_z2 }, bases }
    }
}

impl Sphere {
    /// The task in dimension `ambient` with `context` clean tokens.
    pub fn task(&self, ambient: usize, context: usize) -> Task {
        let family = Family::Sphere { dim: Dimension::Fixed(self.dim), radius: self.radius };
        Task { problem: Denoising { family, ambient, context, sigma_z2: self.sigma_z2 }, bases: Bases::Haar }
    }
}

impl ClusterTask {
    /// The task in dimension `ambient` with `context` clean tokens.
    pub fn task(&self, ambient: usize, context: usize) -> Task {
        let family = Family::balanced(self.clusters, self.sigma0_2, self.radius);
        Task { problem: Denoising { family, ambient, context, sigma_z2: self.sigma_z2 }, bases: Bases::Haar }
    }
}

impl Task {
    /// One prompt.
    ///
    /// # Errors
    /// As [`Denoising::draw`].
    pub fn draw(&self, streams: &Streams) -> Result<Prompt> {
        let Denoising { family, context, .. } = &self.problem;
        let (Bases::QrUniform, Family::Subspace { dim: Dimension::Fixed(d), sigma0_2 }) = (self.bases, family) else {
            return self.problem.draw(streams);
        };
        self.problem.validate()?;
        let d = *d;
        let mut rng = streams.part("task", 0);
        let entries = Array2::from_shape_simple_fn((self.problem.ambient, d), || 2.0 * rng.random::<f64>() - 1.0);
        let prior = Prior::Gaussian { basis: qr_q(entries.view())?, variances: vec![*sigma0_2; d] };
        let context = draw_tokens(&prior, *context, &mut streams.part("context", 0))?;
        let (targets, queries) = self.problem.draw_queries(&prior, 1, streams)?;
        Ok(Prompt { prior, context, target: targets.column(0).to_owned(), query: queries.column(0).to_owned() })
    }

    /// A data set, and the mean loss per component of each of [`Baseline::all`].
    ///
    /// # Errors
    /// As [`Task::draw`].
    pub fn data(&self, name: &str, count: usize, attention: &[Attention], streams: &Streams) -> Result<Data> {
        let baselines = Baseline::all(&self.problem.family);
        let draw = |i| self.draw(&streams.child(name, i));
        let losses = |prompt: &Prompt| -> Result<Vec<f64>> {
            baselines.iter().map(|b| b.square(prompt, self.problem.sigma_z2)).collect()
        };
        let (prompts, each) = Prompts::draw(count, attention, draw, losses)?;
        let parts = (count * self.problem.ambient) as f64;
        let mean = |b: usize| each.iter().map(|losses| losses[b]).sum::<f64>() / parts;
        Ok(Data { prompts, losses: (0..baselines.len()).map(mean).collect() })
    }

    /// The weights that the theorems name: αβ = 1/(σ0² + σZ²) for linear attention on subspaces
    /// (Theorem 3.1), α = 1 and β = 1/σZ² for softmax on spheres and clusters (Theorem 3.2).
    pub fn theorem(&self) -> (Attention, Weights<f32>) {
        let Denoising { family, ambient, sigma_z2, .. } = &self.problem;
        let (attention, beta) = match family {
            Family::Subspace { sigma0_2, .. } => (Attention::Linear, 1.0 / (sigma0_2 + sigma_z2)),
            _ => (Attention::Softmax, 1.0 / sigma_z2),
        };
        (attention, Weights::scaled_identity(*ambient, 1.0, beta))
    }
}

/// Prompts, and the loss of each baseline on them.
pub struct Data {
    /// The prompts. Single precision, as the authors train.
    pub prompts: Prompts<f32>,
    /// Losses per component, in the order of [`Baseline::all`].
    pub losses: Vec<f64>,
}

/// Predictions that the trained layer is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Zero, the projections, the posterior mean.
    Predictor(Predictor),
    /// The authors' code for the sphere: Bessel functions of orders d - 1/2 and d - 3/2 where the
    /// posterior mean has (d+1)/2 and (d-1)/2.
    Code,
    /// (A.6): clusters as if of variance 0.
    Limit,
}

impl Baseline {
    /// Those of a task, from the least to the most that they know.
    pub fn all(family: &Family) -> Vec<Baseline> {
        let [zero, projection, shrunk, bayes] =
            [Predictor::Zero, Predictor::Projection, Predictor::ShrunkProjection, Predictor::Bayes]
                .map(Baseline::Predictor);
        match family {
            // The shrunk projection is the posterior mean there.
            Family::Subspace { .. } => vec![zero, projection, bayes],
            Family::Sphere { .. } => vec![zero, projection, shrunk, Baseline::Code, bayes],
            _ => vec![zero, Baseline::Limit, bayes],
        }
    }

    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Baseline::Predictor(p) => p.name(),
            Baseline::Code => "code",
            Baseline::Limit => "limit",
        }
    }

    /// $\|\hat x - x\|^2$ on a prompt.
    fn square(self, prompt: &Prompt, sigma_z2: f64) -> Result<f64> {
        let (query, prior) = (prompt.query.view(), &prompt.prior);
        let answer = match (self, prior) {
            (Baseline::Predictor(p), _) => p.predict(prior, prompt.context.view(), query, sigma_z2)?,
            (Baseline::Code, Prior::Sphere { basis, radius }) => {
                let c = basis.t().dot(&query);
                let norm = c.dot(&c).sqrt();
                let d = basis.ncols() as f64 - 1.0;
                let length = radius * bessel_ratio(d - 1.5, radius * norm / sigma_z2);
                basis.dot(&c) * (length / norm)
            }
            (Baseline::Limit, Prior::Clusters(c)) => equal_variances(c.means.view(), &c.weights, 0.0, sigma_z2, query),
            // `all` pairs them with their tasks.
            _ => prompt.query.clone(),
        };
        Ok(distance2(answer.view(), prompt.target.view()))
    }
}
