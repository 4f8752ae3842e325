//! A trained network at another number of patches or of classes, for fine-tuning and for evaluation at another
//! resolution.

use super::config::{Input, ModelConfig, Output, Positions};
use super::parameters::{Model, read};
use attnlab_core::error::{Result, at_least, require, require_shape};
use attnlab_core::rng::Streams;
use burn::tensor::Tensor;
use burn::tensor::module::interpolate;
use burn::tensor::ops::{InterpolateMode, InterpolateOptions};

const POSITIONS: &str = "positions";

impl Model {
    /// Returns the same network for images of `across` × `across` patches. Learnt positions are a grid, which is interpolated as
    /// in Dosovitskiy et al. (2021), Section 3.2: here by bicubic convolution (Keys 1981, a = −3/4, half-pixel centres, border
    /// values repeated). The class token keeps its position.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// use attnlab_train::model::{ComputeDevice, Input, Model, ModelConfig, Output, preset};
    /// let small = ModelConfig {
    ///     input: Input::Patches { dim: 12 },
    ///     output: Output::Classes { count: 3 },
    ///     context: 16,
    ///     ..preset("aot-v-16m")?.resized(2, 16, 2)
    /// };
    /// let model = Model::new(small, &ComputeDevice::cpu(), &Streams::new(1, "doc", 0, 0))?;
    /// assert_eq!(model.at_resolution(6)?.config().context, 36);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// A network whose tokens are no square grid of patches; `across` = 0; a device that fails.
    pub fn at_resolution(&self, across: usize) -> Result<Model> {
        let config = self.config();
        let before = config.context.isqrt();
        let square = matches!(config.input, Input::Patches { .. }) && before * before == config.context;
        let input = format!("{} tokens, {:?}", config.context, config.input);
        require(square, "input", input, "must be patches of square images")?;
        at_least("across", across, 1)?;
        let adapted = ModelConfig { context: across * across, ..config.clone() };
        if config.positions != Positions::Learned || across == before {
            return self.rebuilt(adapted, |_| Ok(None));
        }
        let width = config.width;
        let table = self.values(POSITIONS)?;
        let (class, grid) = table.split_at(config.extra_tokens() * width);
        let grid: Tensor<4> = self.device().tensor(grid.to_vec(), [1, before, before, width]);
        let options = InterpolateOptions::new(InterpolateMode::Bicubic)
            .with_align_corners(false)
            .with_output_size([across, across]);
        // Images have their channels, here the width, before rows and columns.
        let grid = interpolate(grid.permute([0, 3, 1, 2]), options).permute([0, 2, 3, 1]);
        let positions = [class, &read(&grid)?].concat();
        self.rebuilt(adapted, |name: &str| Ok((name == POSITIONS).then(|| positions.clone())))
    }

    /// Returns the same network with `count` classes. Unless they are as many as before, the linear map that gives their
    /// scores begins anew, drawn from `streams` as by [`Model::new`].
    ///
    /// # Errors
    /// A network without classes; `count` = 0; a device that fails.
    pub fn with_classes(&self, count: usize, streams: &Streams) -> Result<Model> {
        let config = self.config();
        let output = Output::Classes { count };
        let has_classes = matches!(config.output, Output::Classes { .. });
        require(has_classes, "output", format!("{:?}", config.output), "must be classes")?;
        let adapted = ModelConfig { output, ..config.clone() };
        if config.output == output {
            return self.rebuilt(adapted, |_| Ok(None));
        }
        let fresh = Model::new(adapted.clone(), self.device(), streams)?;
        let begins_anew = |name: &str| name.starts_with("read_out");
        self.rebuilt(adapted, |name| if begins_anew(name) { fresh.values(name).map(Some) } else { Ok(None) })
    }

    /// The network of `config` with these parameters, but those that `replaced` gives values for.
    fn rebuilt(&self, config: ModelConfig, replaced: impl Fn(&str) -> Result<Option<Vec<f64>>>) -> Result<Model> {
        config.validate()?;
        let specs = config.specs();
        let mut values = Vec::with_capacity(specs.len());
        for spec in &specs {
            let entries = match replaced(&spec.name)? {
                Some(values) => values,
                None => self.values(&spec.name)?,
            };
            let shape = [spec.rows, spec.columns];
            require_shape(entries.len() == spec.rows * spec.columns, &spec.name, entries.len(), format!("{shape:?}"))?;
            values.push(self.device().tensor(entries, shape));
        }
        Ok(Model::assemble(config, self.device(), specs, values))
    }
}
