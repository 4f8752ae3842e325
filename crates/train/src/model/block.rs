//! The forward pass.

use super::attention::Attention;
use super::config::{AttentionForm, Input, Mlp, Norm, Output, Positions};
use super::norm;
use super::parameters::Model;
use super::record::Recording;
use attnlab_core::error::{Error, Result, require, require_shape};
use burn::tensor::{Int, Tensor, activation, module};

impl Model {
    /// Computes the outputs (batch, tokens, outputs) for real vectors (batch, tokens, dim).
    ///
    /// # Errors
    /// Shapes that do not fit the configuration.
    pub fn forward(&self, x: Tensor<3>, recording: &mut Recording) -> Result<Tensor<3>> {
        let [_, n, dim] = x.dims();
        let embedded = match self.config.input {
            Input::Vectors { dim: expected } if expected == dim => self.linear(x, "read_in"),
            Input::Patches { dim: expected } if expected == dim => self.patches(x),
            other => {
                let expected = format!("(tokens, dim) as the input of the network, {other:?}");
                return Err(Error::shape("input", [n, dim], expected));
            }
        };
        let hidden = self.blocks(embedded, recording)?;
        Ok(match self.config.output {
            Output::Classes { .. } => {
                self.linear(self.norm(hidden.narrow(1, 0, 1), "final_norm", Norm::Layer), "read_out")
            }
            _ => self.linear(self.final_norm(hidden, recording)?, "read_out"),
        })
    }

    /// Computes the last hidden values (batch, tokens, width), normalised, for token ids (batch, tokens).
    /// [`cross_entropy`](super::cross_entropy) turns them into a loss, [`Model::logits`] into scores.
    ///
    /// # Errors
    /// A network that takes no tokens, or too many of them.
    pub fn hidden(&self, tokens: Tensor<2, Int>, recording: &mut Recording) -> Result<Tensor<3>> {
        let expected = format!("no tokens: the input of the network is {:?}", self.config.input);
        require_shape(matches!(self.config.input, Input::Tokens { .. }), "tokens", tokens.dims(), expected)?;
        self.final_norm(self.blocks(module::embedding(self.parameter("tokens"), tokens), recording)?, recording)
    }

    /// Computes the scores (rows, vocabulary) of the next token from hidden values (rows, width).
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        hidden.matmul(self.parameter("tokens").transpose())
    }

    fn patches(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, _, _] = x.dims();
        let x = self.norm(x, "patches.before", Norm::Layer);
        let x = self.norm(self.linear(x, "patches"), "patches.after", Norm::Layer);
        let class: Tensor<3> = self.parameter("class_token").unsqueeze_dim(0);
        Tensor::cat(vec![class.expand([batch, 1, self.config.width]), x], 1)
    }

    fn blocks(&self, mut x: Tensor<3>, recording: &mut Recording) -> Result<Tensor<3>> {
        let [_, n, _] = x.dims();
        let most = self.config.context + self.config.extra_tokens();
        require(n <= most, "tokens", n, format!("must be at most context = {most}"))?;
        if self.config.positions == Positions::Learned {
            x = x + self.parameter("positions").narrow(0, 0, n).unsqueeze_dim(0);
        }
        recording.keep("embedding", &x)?;
        let attention = Attention::new(&self.config, &self.device, n);
        for l in 0..self.config.layers {
            x = self.block(l, x, &attention, recording)?;
        }
        Ok(x)
    }

    fn block(&self, l: usize, x: Tensor<3>, attention: &Attention, recording: &mut Recording) -> Result<Tensor<3>> {
        let name = |part: &str| format!("blocks.{l}.{part}");
        let normed = self.norm(x.clone(), &name("attention_norm"), self.config.norm);
        recording.keep(&name("normed"), &normed)?;
        let added = self.attend(l, normed, attention, recording)?;
        recording.keep(&name("attention"), &added)?;
        let mut x = x + added;
        if self.config.has_mlp(l) {
            let (made, replaces) = self.mlp(l, self.norm(x.clone(), &name("mlp_norm"), self.config.norm));
            recording.keep(&name("mlp"), &made)?;
            x = if replaces { made } else { x + made };
        }
        recording.keep(&name("output"), &x)?;
        Ok(x)
    }

    /// Computes the update (batch, tokens, width) that attention adds to the tokens.
    fn attend(&self, l: usize, x: Tensor<3>, attention: &Attention, recording: &mut Recording) -> Result<Tensor<3>> {
        let name = |part: &str| format!("blocks.{l}.{part}");
        let projected = match self.config.attention {
            AttentionForm::Mhsa => self.linear(x, &name("attention.qkv")),
            _ => rows(x, self.parameter(&name("attention.u"))),
        };
        let weights = || attention.weights(projected.clone());
        recording.keep_computed(&name("weights"), weights)?;
        let heads = attention.heads(projected);
        recording.keep(&name("heads"), &heads)?;
        Ok(match self.config.attention {
            AttentionForm::MssaTied { eta, .. } => {
                rows(heads, self.parameter(&name("attention.u")).transpose()).mul_scalar(eta)
            }
            _ => self.linear(heads, &name("attention.out")),
        })
    }

    /// Computes the output of the MLP; the flag is true if it replaces the tokens instead of being added to them.
    fn mlp(&self, l: usize, x: Tensor<3>) -> (Tensor<3>, bool) {
        let name = |part: &str| format!("blocks.{l}.mlp.{part}");
        match self.config.mlp {
            Mlp::None => (x, true),
            Mlp::Gelu { .. } => {
                (self.linear(activation::gelu_approximate(self.linear(x, &name("in"))), &name("out")), false)
            }
            Mlp::SwiGlu { .. } => {
                let gate = activation::silu(rows(x.clone(), self.parameter(&name("gate"))));
                (rows(gate * rows(x, self.parameter(&name("in"))), self.parameter(&name("out"))), false)
            }
            Mlp::Ista { step, lambda } => {
                let d = self.parameter(&name("dictionary"));
                // With the tokens as rows F.linear(x, D) of the authors' code is x Dᵀ.
                let coded = rows(rows(x.clone(), d.clone().transpose()), d.clone());
                let slope = rows(x.clone(), d) - coded;
                (activation::relu(x + slope.mul_scalar(step).sub_scalar(step * lambda)), true)
            }
        }
    }

    fn final_norm(&self, x: Tensor<3>, recording: &mut Recording) -> Result<Tensor<3>> {
        let x = self.norm(x, "final_norm", self.config.norm);
        recording.keep("final", &x)?;
        Ok(x)
    }

    fn linear(&self, x: Tensor<3>, name: &str) -> Tensor<3> {
        let y = rows(x, self.parameter(name));
        match self.optional(&format!("{name}.bias")) {
            Some(bias) => y + bias.unsqueeze_dim(0),
            None => y,
        }
    }

    fn norm(&self, x: Tensor<3>, name: &str, norm: Norm) -> Tensor<3> {
        let centred = match norm {
            Norm::None => return x,
            Norm::Layer => true,
            Norm::Rms => false,
        };
        let (scale, shift) = (self.parameter(name), self.optional(&format!("{name}.bias")));
        match self.device.fuses {
            true => norm::fused(x, scale, shift, centred, &self.device),
            false => norm::graph(x, scale, shift, centred),
        }
    }
}

/// Multiplies every row of x by `w`, as one matrix product, which the engines split among threads.
fn rows(x: Tensor<3>, w: Tensor<2>) -> Tensor<3> {
    let ([batch, n, _], [d, out]) = (x.dims(), w.dims());
    x.reshape([batch * n, d]).matmul(w).reshape([batch, n, out])
}
