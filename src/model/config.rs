//! What a network is made of.

use crate::error::{Error, Result, positive};
use serde::{Deserialize, Serialize};

/// The attention of a block. U is (d, d): the bases U_1 .. U_K side by side, p = d / K columns each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Attention {
    /// AoT Eq. (4): $Z + \eta\sum_k U_kU_k^TZ\,\varphi(Z^TU_k\,\mathcal P(U_k^TZ))$, d² parameters.
    MssaTied {
        /// η > 0, not learnt.
        eta: f64,
        /// Whether $\mathcal P$ scales queries to unit length; the causal networks do.
        normalise_queries: bool,
        /// Whether scores are divided by √p.
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

impl Attention {
    /// Matrices (d, d) in it.
    pub fn matrices(&self) -> usize {
        match self {
            Attention::MssaTied { .. } => 1,
            Attention::Mssa { .. } => 2,
            Attention::Mhsa => 4,
        }
    }
}

/// What follows attention in a block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mlp {
    /// Nothing: attention only.
    None,
    /// GPT-2's: d -> hidden, GELU (tanh form), hidden -> d.
    Gelu {
        /// Usually 4d.
        hidden: usize,
    },
    /// Llama's: (SiLU(xG) ∘ xV)W, without biases.
    SwiGlu {
        /// Usually 8d/3.
        hidden: usize,
    },
    /// CRATE's step of sparse coding, in the place of a residual:
    /// x ← ReLU(x + s (xD − xDᵀD) − sλ) on normalised x.
    Ista {
        /// s.
        step: f64,
        /// λ.
        lambda: f64,
    },
}

/// What precedes attention and MLP.
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

/// How a network knows the order of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// Not at all, but for a causal mask.
    None,
    /// A learnt vector per place is added to the embedding.
    Learned,
    /// Queries and keys are rotated (Su et al. 2021), with base 10 000.
    Rotary,
}

/// First values of the table of [`Positions::Learned`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FirstPositions {
    /// Independent normals, as in GPT-2: σ of the other matrices, 1 for vision.
    Normal,
    /// The waves of Vaswani et al. (2017), scaled. Places begin as what they are, neighbours alike, and
    /// "the token before this one" is one linear map from the start, which shortens the plateau at the
    /// beginning of regression in context.
    Sinusoids {
        /// Root mean square of the entries.
        rms: f64,
    },
}

/// What goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Input {
    /// Real vectors, through a linear read-in with bias.
    Vectors {
        /// Their length.
        dim: usize,
    },
    /// Token numbers, through a table.
    Tokens {
        /// How many there are.
        vocabulary: usize,
    },
    /// Flattened image patches: LayerNorm, linear, LayerNorm, and a class token before them.
    Patches {
        /// Numbers in a patch: 16 · 16 · 3 in the papers.
        dim: usize,
    },
}

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Output {
    /// Numbers at every token, by a linear map with bias.
    Linear {
        /// How many.
        dim: usize,
    },
    /// Scores of the next token, by the table of the input.
    TiedTokens,
    /// Scores of classes from the class token: LayerNorm and a linear map with bias.
    Classes {
        /// How many.
        count: usize,
    },
}

/// A network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// What goes in.
    pub input: Input,
    /// What comes out.
    pub output: Output,
    /// L, blocks.
    pub layers: usize,
    /// d.
    pub width: usize,
    /// K; d is a multiple of it.
    pub heads: usize,
    /// Attention of every block.
    pub attention: Attention,
    /// What follows it, in the first `mlp_blocks` blocks.
    pub mlp: Mlp,
    /// L for a full network, L/2 for the papers' Hybrid.
    pub mlp_blocks: usize,
    /// What precedes them, and once more follows the last block.
    pub norm: Norm,
    /// Order of tokens.
    pub positions: Positions,
    /// First values of learnt positions.
    pub first_positions: FirstPositions,
    /// Most tokens in a sequence.
    pub context: usize,
    /// Whether a token sees only itself and those before it.
    pub causal: bool,
    /// Whether linear maps of blocks and LayerNorm have biases (GPT-2 has them, nanoGPT's runs not).
    pub bias: bool,
    /// σ of the normal law of first values; projections back to the tokens have σ/√(2L). GPT-2's .02
    /// suits widths near 1000; a narrow network leaves its first plateau sooner with about 1/√d.
    pub sigma: f64,
}

impl ModelConfig {
    /// p = d / K.
    pub fn head_dim(&self) -> usize {
        self.width / self.heads
    }

    /// The same network at another depth and width. The share of blocks with an MLP stays, and its
    /// hidden layer keeps to the width: 4d for GELU, 8d/3 for SwiGLU.
    ///
    /// ```
    /// let hybrid = attnlab::model::preset("aot-hybrid-l")?.resized(4, 64, 8);
    /// assert_eq!((hybrid.layers, hybrid.mlp_blocks), (4, 2));
    /// # Ok::<(), attnlab::Error>(())
    /// ```
    pub fn resized(self, layers: usize, width: usize, heads: usize) -> Self {
        let share = self.mlp_blocks as f64 / self.layers as f64;
        let mlp = match self.mlp {
            Mlp::Gelu { .. } => Mlp::Gelu { hidden: 4 * width },
            // Up to a multiple of 32, as Llama rounds to multiples.
            Mlp::SwiGlu { .. } => Mlp::SwiGlu {
                hidden: (8 * width).div_ceil(3).next_multiple_of(32),
            },
            other => other,
        };
        ModelConfig {
            layers,
            width,
            heads,
            mlp,
            mlp_blocks: (share * layers as f64).round() as usize,
            ..self
        }
    }

    /// Whether block `l` has what follows attention.
    pub fn has_mlp(&self, l: usize) -> bool {
        self.mlp != Mlp::None && l < self.mlp_blocks
    }

    /// Tokens that the network adds to those it is given.
    pub fn extra_tokens(&self) -> usize {
        usize::from(matches!(self.input, Input::Patches { .. }))
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// Names the setting, its value and what is allowed.
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
            if value == 0 {
                return Err(Error::invalid(name, 0, "a whole number >= 1"));
            }
        }
        if !self.width.is_multiple_of(self.heads) {
            let allowed = format!("a divisor of width = {}", self.width);
            return Err(Error::invalid("heads", self.heads, allowed));
        }
        if self.positions == Positions::Rotary && !self.head_dim().is_multiple_of(2) {
            let allowed = "such that width / heads is even: rotations turn pairs";
            return Err(Error::invalid("heads", self.heads, allowed));
        }
        if self.mlp_blocks > self.layers {
            let allowed = format!("at most layers = {}", self.layers);
            return Err(Error::invalid("mlp_blocks", self.mlp_blocks, allowed));
        }
        if self.output == Output::TiedTokens && !matches!(self.input, Input::Tokens { .. }) {
            let allowed = "the output that reads the table of the input needs an input of tokens";
            return Err(Error::invalid("output", "tied-tokens", allowed));
        }
        positive("sigma", self.sigma)?;
        if let FirstPositions::Sinusoids { rms } = self.first_positions {
            positive("positions_rms", rms)?;
        }
        if let Attention::MssaTied { eta, .. } = self.attention {
            positive("eta", eta)?;
        }
        match self.mlp {
            Mlp::Gelu { hidden: 0 } | Mlp::SwiGlu { hidden: 0 } => {
                Err(Error::invalid("hidden", 0, "a whole number >= 1"))
            }
            Mlp::Ista { step, lambda } => {
                positive("step", step).and_then(|()| positive("lambda", lambda))
            }
            _ => Ok(()),
        }
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.specs().iter().map(|s| s.rows * s.columns).sum()
    }

    /// The same without the table of positions, as nanoGPT counts and the papers print for language.
    pub fn parameters_without_positions(&self) -> usize {
        let places = |s: &&super::ParameterSpec| s.name != "positions";
        let specs = self.specs();
        specs
            .iter()
            .filter(places)
            .map(|s| s.rows * s.columns)
            .sum()
    }
}
