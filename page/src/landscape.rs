//! The energy of a context in the plane: one step of attention from a query against descent to a minimum.

use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_denoising::prompts::{Denoising, Dimension, Family, Prompt};
use attnlab_theory::attention::memory::DenseMemory;
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

/// Largest side of a grid.
const MOST_SIDE: usize = 400;

/// Largest number of steps of a descent.
const MOST_STEPS: usize = 1000;

/// Side of the grid from whose points descent finds the minima.
const STARTS: usize = 12;

/// A context of tokens on a circle of radius 1, and the scales of attention.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// L.
    context: usize,
    /// σ_Z², variance of the noise of a query per component.
    sigma_z2: f64,
    alpha: f64,
    /// β; 1/σ_Z², the optimum for tokens on a sphere, if absent.
    beta: Option<f64>,
    #[serde(default)]
    seed: u64,
    /// Points of the grid of energies along each axis.
    side: usize,
    /// The grid covers [-reach, reach]².
    reach: f64,
}

/// Energies over the plane.
#[derive(Serialize)]
pub struct Landscape {
    beta: f64,
    /// Tokens.
    context: Vec<[f64; 2]>,
    /// The drawn query and the clean token behind it.
    query: [f64; 2],
    target: [f64; 2],
    /// Energies row by row, the lowest row first.
    energy: Vec<f64>,
    minima: Vec<Minimum>,
}

/// A minimum of the energy.
#[derive(Serialize)]
pub struct Minimum {
    state: [f64; 2],
    energy: f64,
    /// Index of the token that it retrieves; None for a mixture of several.
    token: Option<usize>,
    /// Effective number of tokens that share the weight.
    shared_by: f64,
}

impl Setting {
    fn beta(&self) -> f64 {
        self.beta.unwrap_or(1.0 / self.sigma_z2)
    }

    fn prompt(&self) -> Result<Prompt> {
        let family = Family::Sphere { dim: Dimension::Fixed(1), radius: 1.0 };
        let problem = Denoising { family, ambient: 2, context: self.context, sigma_z2: self.sigma_z2 };
        problem.draw(&Streams::new(self.seed, "page.landscape", 0, 0))
    }

    fn memory(&self, prompt: &Prompt) -> Result<DenseMemory> {
        DenseMemory::new(prompt.context.view(), self.alpha, self.beta())
    }

    /// Draws the context and computes the energies and minima.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn landscape(&self) -> Result<Landscape> {
        if !(2..=MOST_SIDE).contains(&self.side) {
            return Err(Error::invalid("side", self.side, format!("must be a whole number from 2 to {MOST_SIDE}")));
        }
        let prompt = self.prompt()?;
        let memory = self.memory(&prompt)?;
        let place = |i: usize| self.reach * (2.0 * i as f64 / (self.side - 1) as f64 - 1.0);
        let rows = (0..self.side).flat_map(|row| (0..self.side).map(move |column| (column, row)));
        let energy = rows.map(|(x, y)| memory.energy(Array1::from(vec![place(x), place(y)]).view()));
        let minima = memory.minima_on_grid(STARTS)?.minima.into_iter().map(|m| Minimum {
            state: pair(m.state.view()),
            energy: m.energy,
            token: m.token,
            shared_by: m.shared_by,
        });
        Ok(Landscape {
            beta: self.beta(),
            context: prompt.context.columns().into_iter().map(pair).collect(),
            query: pair(prompt.query.view()),
            target: pair(prompt.target.view()),
            energy: energy.collect(),
            minima: minima.collect(),
        })
    }
}

/// A query in a landscape.
#[derive(Deserialize)]
pub struct Query {
    #[serde(flatten)]
    setting: Setting,
    query: [f64; 2],
    steps: usize,
}

/// Descent from a query.
#[derive(Serialize)]
pub struct Descent {
    /// The query, the state after one step, which is the attention layer, and those after more.
    path: Vec<[f64; 2]>,
    /// Energies of these states.
    energy: Vec<f64>,
    /// Softmax weight of every token at the query.
    weights: Vec<f64>,
    /// Posterior mean of the clean token under the law of tokens, which the experimenter knows.
    bayes: [f64; 2],
    /// The minimum in which descent ends.
    end: [f64; 2],
    /// Distances of one step and of that minimum from the posterior mean.
    from_bayes: [f64; 2],
}

impl Query {
    /// Follows the descent from the query.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn descent(&self) -> Result<Descent> {
        if self.steps > MOST_STEPS {
            return Err(Error::invalid("steps", self.steps, format!("must be a whole number from 0 to {MOST_STEPS}")));
        }
        let prompt = self.setting.prompt()?;
        let memory = self.setting.memory(&prompt)?;
        let query = Array1::from(self.query.to_vec());
        // γ = α: a step is the layer.
        let path = memory.descend(query.view(), self.setting.alpha, self.steps)?;
        let start: Array2<f64> = query.clone().insert_axis(Axis(1));
        let end = memory.minima_from(start.view())?.minima.swap_remove(0);
        let bayes = prompt.prior.posterior_mean(query.view(), self.setting.sigma_z2)?;
        let from_bayes = |state: ArrayView1<f64>| (&state - &bayes).mapv(|x| x * x).sum().sqrt();
        let one_step = memory.step(query.view(), self.setting.alpha);
        Ok(Descent {
            from_bayes: [from_bayes(one_step.view()), from_bayes(end.state.view())],
            energy: path.columns().into_iter().map(|s| memory.energy(s)).collect(),
            path: path.columns().into_iter().map(pair).collect(),
            weights: memory.weights(query.view()).to_vec(),
            bayes: pair(bayes.view()),
            end: pair(end.state.view()),
        })
    }
}

fn pair(state: ArrayView1<f64>) -> [f64; 2] {
    [state[0], state[1]]
}
