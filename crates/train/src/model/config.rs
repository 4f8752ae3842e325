//! The configuration of a network.

use attnlab_core::error::{Result, at_least, positive, require};
use serde::{Deserialize, Serialize};

/// The attention of a block. U is (d, d): the bases U_1 .. U_K side by side, p = d / K columns each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AttentionForm {
    /// AoT Eq. (4): $Z + \eta\sum_k U_kU_k^TZ\,\varphi(Z^TU_k\,\mathcal P(U_k^TZ))$, d² parameters.
    MssaTied {
        /// η > 0, step size, not learnt.
        eta: f64,
        /// Flag: $\mathcal P$ scales queries to unit length, as in the causal networks.
        normalise_queries: bool,
        /// Flag: scores are divided by √p.
        scaled: bool,
    },
    /// The form that the authors train: one projection shared by queries, keys and values, and an
    /// output projection of its own, 2d² parameters.
    Mssa {
        /// As in the tied form.
        normalise_queries: bool,
        /// As in the tied form.
        scaled: bool,
    },
    /// Separate queries, keys and values with scores over √p: 4d² parameters.
    Mhsa,
}

impl AttentionForm {
    /// Returns the number of its (d, d) matrices.
    pub fn matrices(&self) -> usize {
        match self {
            AttentionForm::MssaTied { .. } => 1,
            AttentionForm::Mssa { .. } => 2,
            AttentionForm::Mhsa => 4,
        }
    }
}

/// The part of a block after attention.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mlp {
    /// Nothing: attention only.
    None,
    /// GPT-2's: d -> hidden, GELU (tanh form), hidden -> d.
    Gelu {
        /// Width of the hidden layer, usually 4d.
        hidden: usize,
    },
    /// Llama's: (SiLU(xG) ∘ xV)W, without biases.
    SwiGlu {
        /// Width of the hidden layer, usually 8d/3.
        hidden: usize,
    },
    /// CRATE's step of sparse coding, in the place of a residual: x ← ReLU(x + s (xD − xDᵀD) − sλ) on normalised x.
    Ista {
        /// s, step size.
        step: f64,
        /// λ, weight of the ℓ¹ penalty.
        lambda: f64,
    },
}

/// Normalisation before attention and MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Nothing.
    None,
    /// LayerNorm (ε = 1e-5).
    Layer,
    /// RMSNorm (ε = 1e-5).
    Rms,
}

/// Encoding of the order of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// None but a causal mask.
    None,
    /// A learnt vector per position, added to the embedding.
    Learned,
    /// Rotations of queries and keys (Su et al. 2021) with base 10 000.
    Rotary,
}

/// Initial values of the table of [`Positions::Learned`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FirstPositions {
    /// Independent normals, as in GPT-2: σ of the other matrices, 1 for vision.
    Normal,
    /// The sinusoids of Vaswani et al. (2017), scaled. Neighbouring positions begin alike, and "the token before this
    /// one" is one linear map from the start, which shortens the plateau at the beginning of regression in context.
    Sinusoids {
        /// Root mean square of the entries.
        rms: f64,
    },
}

/// Input of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Input {
    /// Real vectors, through a linear read-in with bias.
    Vectors {
        /// Length of a vector.
        dim: usize,
    },
    /// Token ids, through a table.
    Tokens {
        /// Number of different tokens.
        vocabulary: usize,
    },
    /// Flattened image patches: LayerNorm, linear, LayerNorm, and a class token before them.
    Patches {
        /// Length of a flattened patch: 16 · 16 · 3 in the papers.
        dim: usize,
    },
}

/// Output of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Output {
    /// Numbers at every token, by a linear map with bias.
    Linear {
        /// Number of outputs per token.
        dim: usize,
    },
    /// Scores of the next token, by the table of the input.
    TiedTokens,
    /// Scores of classes from the class token: LayerNorm and a linear map with bias.
    Classes {
        /// Number of classes.
        count: usize,
    },
}

/// Sizes and parts of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Input.
    pub input: Input,
    /// Output.
    pub output: Output,
    /// L, number of blocks.
    pub layers: usize,
    /// d, length of a token between blocks.
    pub width: usize,
    /// K, number of heads; divides d.
    pub heads: usize,
    /// Attention of every block.
    pub attention: AttentionForm,
    /// The part after attention, in the first `mlp_blocks` blocks.
    pub mlp: Mlp,
    /// Number of blocks with an MLP: L for a full network, L/2 for the papers' Hybrid.
    pub mlp_blocks: usize,
    /// Normalisation before both, and once more after the last block.
    pub norm: Norm,
    /// Encoding of the order of tokens.
    pub positions: Positions,
    /// Initial values of learnt positions.
    pub first_positions: FirstPositions,
    /// Largest number of tokens in a sequence.
    pub context: usize,
    /// Flag: a token sees only itself and those before it.
    pub causal: bool,
    /// Flag: linear maps of blocks and LayerNorm have biases, as in GPT-2 and unlike nanoGPT's runs.
    pub bias: bool,
    /// σ of the normal law of initial values; projections back to the tokens have σ/√(2L). GPT-2's .02
    /// suits widths near 1000; a narrow network leaves its first plateau sooner with about 1/√d.
    pub sigma: f64,
}

impl ModelConfig {
    /// Returns p = d / K, the dimension of a head.
    pub fn head_dim(&self) -> usize {
        self.width / self.heads
    }

    /// Returns the same network at another depth and width. The share of blocks with an MLP stays, and its
    /// hidden layer keeps to the width: 4d for GELU, 8d/3 for SwiGLU.
    ///
    /// ```
    /// let hybrid = attnlab_train::model::preset("aot-hybrid-l")?.resized(4, 64, 8);
    /// assert_eq!((hybrid.layers, hybrid.mlp_blocks), (4, 2));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn resized(self, layers: usize, width: usize, heads: usize) -> Self {
        let share = self.mlp_blocks as f64 / self.layers as f64;
        let mlp = match self.mlp {
            Mlp::Gelu { .. } => Mlp::Gelu { hidden: 4 * width },
            // Up to a multiple of 32, as Llama rounds to multiples.
            Mlp::SwiGlu { .. } => Mlp::SwiGlu { hidden: (8 * width).div_ceil(3).next_multiple_of(32) },
            other => other,
        };
        ModelConfig { layers, width, heads, mlp, mlp_blocks: (share * layers as f64).round() as usize, ..self }
    }

    /// Returns `true` if block `l` has an MLP.
    pub fn has_mlp(&self, l: usize) -> bool {
        self.mlp != Mlp::None && l < self.mlp_blocks
    }

    /// Counts the tokens that the network adds to those it is given.
    pub fn extra_tokens(&self) -> usize {
        usize::from(matches!(self.input, Input::Patches { .. }))
    }

    /// Refuses a configuration that cannot be built.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the setting, its value and the requirement.
    pub fn validate(&self) -> Result<()> {
        let (dim, out) = (
            match self.input {
                Input::Vectors { dim } | Input::Patches { dim } => dim,
                Input::Tokens { vocabulary } => vocabulary,
            },
            match self.output {
                Output::Linear { dim } => dim,
                Output::Classes { count } => count,
                Output::TiedTokens => 1,
            },
        );
        for (name, value) in [
            ("layers", self.layers),
            ("width", self.width),
            ("heads", self.heads),
            ("context", self.context),
            ("input", dim),
            ("output", out),
        ] {
            at_least(name, value, 1)?;
        }
        let allowed = format!("must be a divisor of width = {}", self.width);
        require(self.width.is_multiple_of(self.heads), "heads", self.heads, allowed)?;
        let odd = self.positions == Positions::Rotary && !self.head_dim().is_multiple_of(2);
        require(!odd, "heads", self.heads, "must make width / heads even; rotations turn pairs")?;
        let allowed = format!("must be at most layers = {}", self.layers);
        require(self.mlp_blocks <= self.layers, "mlp_blocks", self.mlp_blocks, allowed)?;
        let has_table = self.output != Output::TiedTokens || matches!(self.input, Input::Tokens { .. });
        require(has_table, "output", "tied-tokens", "must have an input of tokens, whose table it reads")?;
        positive("sigma", self.sigma)?;
        if let FirstPositions::Sinusoids { rms } = self.first_positions {
            positive("positions_rms", rms)?;
        }
        if let AttentionForm::MssaTied { eta, .. } = self.attention {
            positive("eta", eta)?;
        }
        match self.mlp {
            Mlp::Gelu { hidden } | Mlp::SwiGlu { hidden } => at_least("hidden", hidden, 1),
            Mlp::Ista { step, lambda } => positive("step", step).and_then(|()| positive("lambda", lambda)),
            Mlp::None => Ok(()),
        }
    }

    /// Counts the parameters.
    pub fn parameters(&self) -> usize {
        self.specs().iter().map(|s| s.rows * s.columns).sum()
    }

    /// Counts the parameters without the table of positions, as nanoGPT does and the papers print for language.
    pub fn parameters_without_positions(&self) -> usize {
        let counted = |s: &&super::ParameterSpec| s.name != "positions";
        self.specs().iter().filter(counted).map(|s| s.rows * s.columns).sum()
    }
}
