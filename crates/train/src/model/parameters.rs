//! The named matrices of a network: their shapes, initial values, and the network that holds them.

use super::attention::ROTARY;
use super::config::{AttentionForm, FirstPositions, Input, Mlp, ModelConfig, Norm, Output, Positions};
use super::device::ComputeDevice;
use attnlab_core::error::{Error, Result, require_shape};
use attnlab_core::rng::Streams;
use burn::tensor::Tensor;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use std::collections::HashMap;

/// Law of initial values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initialiser {
    /// All values equal to this.
    Constant(f64),
    /// N(0, σ²) with this σ, the standard deviation.
    Normal(f64),
    /// Uniform on [-a, a] with this a.
    Uniform(f64),
    /// Sinusoids: sin and cos of row · 10000^(-2j/columns), j < columns/2, with this root mean square.
    Sinusoids(f64),
}

/// Name, shape and initial values of a parameter. Vectors are matrices of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Name, such as `blocks.3.attention.u`.
    pub name: String,
    /// Number of inputs: rows of the matrix.
    pub rows: usize,
    /// Number of outputs: columns of the matrix.
    pub columns: usize,
    /// Law of the initial values.
    pub first: Initialiser,
    /// Flag: weight decay applies, as in nanoGPT to matrices and not to norms and biases.
    pub decays: bool,
}

/// A parameter with its value.
pub struct Parameter<'a> {
    /// Name and shape.
    pub spec: &'a ParameterSpec,
    /// Value (rows, columns).
    pub value: &'a Tensor<2>,
}

impl ModelConfig {
    /// Lists every parameter, in the order of the forward pass.
    pub fn specs(&self) -> Vec<ParameterSpec> {
        let mut list = List { specs: vec![] };
        let (d, sigma) = (self.width, self.sigma);
        match self.input {
            Input::Vectors { dim } => list.torch_linear("read_in", dim, d),
            Input::Tokens { vocabulary } => list.matrix("tokens", vocabulary, d, sigma),
            Input::Patches { dim } => {
                list.norm("patches.before", Norm::Layer, dim, true);
                list.torch_linear("patches", dim, d);
                list.norm("patches.after", Norm::Layer, d, true);
                // The authors' vision code draws the class token and positions from N(0, 1).
                list.vector("class_token", d, Initialiser::Normal(1.0));
            }
        }
        if self.positions == Positions::Learned {
            let first = match (self.first_positions, self.input) {
                (FirstPositions::Sinusoids { rms }, _) => Initialiser::Sinusoids(rms),
                (FirstPositions::Normal, Input::Patches { .. }) => Initialiser::Normal(1.0),
                (FirstPositions::Normal, _) => Initialiser::Normal(sigma),
            };
            list.push("positions", (self.context + self.extra_tokens(), d), first, true);
        }
        for l in 0..self.layers {
            self.block(l, &mut list);
        }
        match self.output {
            Output::Linear { dim } => {
                list.norm("final_norm", self.norm, d, self.bias);
                list.torch_linear("read_out", d, dim);
            }
            Output::TiedTokens => list.norm("final_norm", self.norm, d, self.bias),
            Output::Classes { count } => {
                list.norm("final_norm", Norm::Layer, d, true);
                list.torch_linear("read_out", d, count);
            }
        }
        list.specs
    }

    fn block(&self, l: usize, list: &mut List) {
        let (d, sigma) = (self.width, self.sigma);
        let out = sigma / (2.0 * self.layers as f64).sqrt();
        let name = |part: &str| format!("blocks.{l}.{part}");
        list.norm(&name("attention_norm"), self.norm, d, self.bias);
        match self.attention {
            // Eq. (4) has no small output projection: at columns of unit length a layer would begin
            // with η times a change of the size of the tokens themselves.
            AttentionForm::MssaTied { .. } => list.matrix(&name("attention.u"), d, d, sigma),
            AttentionForm::Mssa { .. } => {
                list.matrix(&name("attention.u"), d, d, sigma);
                list.linear(&name("attention.out"), (d, d), out, self.bias);
            }
            AttentionForm::Mhsa => {
                list.linear(&name("attention.qkv"), (d, 3 * d), sigma, self.bias);
                list.linear(&name("attention.out"), (d, d), out, self.bias);
            }
        }
        if !self.has_mlp(l) {
            return;
        }
        list.norm(&name("mlp_norm"), self.norm, d, self.bias);
        match self.mlp {
            Mlp::None => {}
            Mlp::Gelu { hidden } => {
                list.linear(&name("mlp.in"), (d, hidden), sigma, self.bias);
                list.linear(&name("mlp.out"), (hidden, d), out, self.bias);
            }
            Mlp::SwiGlu { hidden } => {
                list.matrix(&name("mlp.gate"), d, hidden, sigma);
                list.matrix(&name("mlp.in"), d, hidden, sigma);
                list.matrix(&name("mlp.out"), hidden, d, out);
            }
            Mlp::Ista { .. } => {
                // PyTorch's Kaiming-uniform, as the authors have it: uniform on ±√(6/d).
                list.push(&name("mlp.dictionary"), (d, d), Initialiser::Uniform((6.0 / d as f64).sqrt()), true);
            }
        }
    }
}

struct List {
    specs: Vec<ParameterSpec>,
}

impl List {
    fn push(&mut self, name: &str, (rows, columns): (usize, usize), first: Initialiser, decays: bool) {
        self.specs.push(ParameterSpec { name: name.to_string(), rows, columns, first, decays });
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize, sigma: f64) {
        self.push(name, (rows, columns), Initialiser::Normal(sigma), true);
    }

    fn vector(&mut self, name: &str, length: usize, first: Initialiser) {
        self.push(name, (1, length), first, false);
    }

    fn linear(&mut self, name: &str, shape: (usize, usize), sigma: f64, bias: bool) {
        self.matrix(name, shape.0, shape.1, sigma);
        if bias {
            self.vector(&format!("{name}.bias"), shape.1, Initialiser::Constant(0.0));
        }
    }

    /// A linear map with PyTorch's own initial values, which the authors' read-in and read-out keep:
    /// uniform on ±1/√inputs.
    fn torch_linear(&mut self, name: &str, rows: usize, columns: usize) {
        let first = Initialiser::Uniform(1.0 / (rows as f64).sqrt());
        self.push(name, (rows, columns), first, true);
        self.vector(&format!("{name}.bias"), columns, first);
    }

    fn norm(&mut self, name: &str, norm: Norm, d: usize, bias: bool) {
        if norm == Norm::None {
            return;
        }
        self.vector(name, d, Initialiser::Constant(1.0));
        if bias && norm == Norm::Layer {
            self.vector(&format!("{name}.bias"), d, Initialiser::Constant(0.0));
        }
    }
}

/// A network with its parameters.
pub struct Model {
    pub(super) config: ModelConfig,
    pub(super) device: ComputeDevice,
    specs: Vec<ParameterSpec>,
    values: Vec<Tensor<2>>,
    index: HashMap<String, usize>,
}

impl Model {
    /// Builds a network with initial values drawn from `streams`: each parameter from a stream of its own
    /// name, so that networks with common parts start alike.
    ///
    /// # Errors
    /// As [`ModelConfig::validate`].
    pub fn new(config: ModelConfig, device: &ComputeDevice, streams: &Streams) -> Result<Self> {
        config.validate()?;
        let specs = config.specs();
        let value = |spec: &ParameterSpec| device.tensor(draw(spec, streams), [spec.rows, spec.columns]);
        let values = specs.iter().map(value).collect();
        Ok(Self::assemble(config, device, specs, values))
    }

    pub(super) fn assemble(
        config: ModelConfig,
        device: &ComputeDevice,
        specs: Vec<ParameterSpec>,
        values: Vec<Tensor<2>>,
    ) -> Self {
        let index = specs.iter().map(|s| s.name.clone()).enumerate().map(|(i, name)| (name, i)).collect();
        let mut model = Model { config, device: device.clone(), specs, values: vec![], index };
        model.set_values(values);
        model
    }

    /// Returns the configuration.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Returns the device.
    pub fn device(&self) -> &ComputeDevice {
        &self.device
    }

    /// Iterates over the parameters, in the order of [`ModelConfig::specs`].
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        self.specs.iter().zip(&self.values).map(|(spec, value)| Parameter { spec, value })
    }

    /// Replaces all values, tracked for derivatives, in the order of [`ModelConfig::specs`].
    pub(crate) fn set_values(&mut self, values: Vec<Tensor<2>>) {
        self.values = values.into_iter().map(|v: Tensor<2>| v.inner().autodiff().require_grad()).collect();
    }

    /// Returns the same network without derivatives, which evaluates in less time and memory.
    pub fn frozen(&self) -> Model {
        Model {
            config: self.config.clone(),
            device: self.device.clone(),
            specs: self.specs.clone(),
            values: self.values.iter().map(|v| v.clone().inner()).collect(),
            index: self.index.clone(),
        }
    }

    /// Returns the values of a parameter, row by row.
    ///
    /// # Errors
    /// An unknown name; a device that fails.
    pub fn values(&self, name: &str) -> Result<Vec<f64>> {
        read(&self.values[self.index_of(name)?])
    }

    /// Replaces a parameter by `values`, row by row.
    ///
    /// # Errors
    /// An unknown name, a wrong length.
    pub fn set(&mut self, name: &str, values: Vec<f64>) -> Result<()> {
        let i = self.index_of(name)?;
        let spec = &self.specs[i];
        let expected = format!("({}, {})", spec.rows, spec.columns);
        require_shape(values.len() == spec.rows * spec.columns, name, values.len(), expected)?;
        self.values[i] = self.device.tensor(values, [spec.rows, spec.columns]).autodiff().require_grad();
        Ok(())
    }

    fn index_of(&self, name: &str) -> Result<usize> {
        let known = || self.specs.iter().map(|s| s.name.as_str());
        self.index.get(name).copied().ok_or_else(|| Error::unknown("parameter", name, known()))
    }

    /// Returns a parameter for the forward pass; None if the configuration lacks it.
    pub(super) fn optional(&self, name: &str) -> Option<Tensor<2>> {
        self.index.get(name).map(|i| self.values[*i].clone())
    }

    /// Returns a parameter that the configuration has.
    pub(super) fn parameter(&self, name: &str) -> Tensor<2> {
        match self.optional(name) {
            Some(value) => value,
            // `specs` and the forward pass branch on the same configuration; the tests run every branch.
            None => unreachable!("the network has no parameter {name}"),
        }
    }
}

/// Copies a tensor to the host, in f64.
pub(crate) fn read<const D: usize>(tensor: &Tensor<D>) -> Result<Vec<f64>> {
    tensor.try_to_vec_as::<f64>().map_err(|e| Error::Gpu(format!("the device gave no result: {e}")))
}

fn draw(spec: &ParameterSpec, streams: &Streams) -> Vec<f64> {
    let mut rng = streams.part(&spec.name, 0);
    let entry = |i: usize| match spec.first {
        Initialiser::Constant(x) => x,
        Initialiser::Normal(sigma) => {
            let z: f64 = StandardNormal.sample(&mut rng);
            sigma * z
        }
        Initialiser::Uniform(bound) => bound * (2.0 * rng.random::<f64>() - 1.0),
        Initialiser::Sinusoids(rms) => rms * wave(i / spec.columns, i % spec.columns, spec.columns),
    };
    (0..spec.rows * spec.columns).map(entry).collect()
}

/// Computes entry j of d of the sinusoids at a position. For even d the mean square of the entries is 1.
fn wave(position: usize, j: usize, d: usize) -> f64 {
    let half = d.div_ceil(2);
    let angle = position as f64 * ROTARY.powf(-((j % half) as f64) / half as f64);
    let wave = if j < half { angle.sin() } else { angle.cos() };
    std::f64::consts::SQRT_2 * wave
}
