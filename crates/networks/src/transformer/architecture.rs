//! Description of a network of attention and MLP blocks.

use attnlab_core::error::{Result, non_negative, positive, require};
use attnlab_lab::run::memory;

/// Kind of normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// LayerNorm: mean 0 and variance 1, then gain and bias.
    Layer,
    /// RMSNorm: root mean square 1, then gain.
    Rms,
}

/// Place of the normalisations of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlace {
    /// On the inputs of attention and MLP; the residual stream is never normalised inside (GPT-2).
    Before,
    /// On the residual stream, after each addition (BERT).
    After,
}

/// Pairs of coordinates that a rotary encoding turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotaryPairs {
    /// (i, i + r/2) of r turned coordinates, as Hugging Face stores the weights.
    Halves,
    /// (2i, 2i + 1), as in the paper and in llama.cpp's files.
    Neighbours,
}

/// Change of the angles of a rotary encoding for contexts longer than those of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RotaryScaling {
    /// None.
    None,
    /// Every frequency is divided by a factor > 0.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// Llama 3.1: low frequencies are divided, high ones kept, those between interpolated.
    Llama3 {
        /// Divisor of low frequencies.
        factor: f64,
        /// Turns within the original context below which a frequency is low.
        low: f64,
        /// Turns within the original context above which a frequency is high.
        high: f64,
        /// Context of training before the change, in tokens.
        original_context: f64,
    },
}

/// Encoding of the order of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PositionEncoding {
    /// A learned vector for every position, added to the embedding.
    Learned {
        /// Row of the table that belongs to the first token: 0, and 2 in OPT.
        offset: usize,
    },
    /// Rotation of queries and keys (Su et al. 2021).
    Rotary {
        /// r, number of coordinates of a head that are turned; even, and at most the head's dimension.
        turned: usize,
        /// Base of the frequencies: base^(-2i/r).
        base: f64,
        /// Pairs that are turned.
        pairs: RotaryPairs,
        /// Change for long contexts, as the settings describe it. A GGUF file may have divisors of the frequencies beside
        /// it, as the tensor `rope_freqs.weight`.
        scaling: RotaryScaling,
    },
    /// None but a causal mask.
    Absent,
}

/// Maps from tokens to queries, keys and values, and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeadMaps {
    /// One each.
    Separate,
    /// One to all three and one back: the MSSA that is trained in the papers on attention-only transformers.
    Shared,
    /// One map Uᵀ to all three, and ηU back: Eq. (4) of these papers.
    Tied {
        /// η, step size.
        eta: f64,
    },
}

/// Nonlinearity of an MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MlpKind {
    /// x Φ(x).
    Gelu,
    /// x Φ(x) with Φ by tanh, as in GPT-2.
    GeluTanh,
    /// max(x, 0).
    Relu,
    /// SiLU(gate) ∘ up: two maps into the hidden layer.
    SwiGlu,
}

/// Map from the last residual to scores of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputHead {
    /// The table of the embedding.
    Tied,
    /// A matrix of its own.
    Own,
    /// None: an encoder whose result is its hidden states, or a network that is stored without its head.
    Absent,
}

/// Form of the heads of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadForm {
    /// Maps to queries, keys and values, and back.
    pub maps: HeadMaps,
    /// Flag: queries are scaled to length 1.
    pub unit_queries: bool,
    /// Flag: scores are divided by √p.
    pub scaled: bool,
}

impl HeadForm {
    /// Multi-head self-attention (Vaswani et al. 2017).
    pub const MHSA: HeadForm = HeadForm { maps: HeadMaps::Separate, unit_queries: false, scaled: true };
}

/// Sizes and parts of a network. Every supported family is such a description with names for its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformerArchitecture {
    /// Name of the family, as `model_type` or `general.architecture` has it.
    pub family: &'static str,
    /// Number of different tokens.
    pub vocabulary: usize,
    /// Largest number of tokens in a sequence.
    pub context: usize,
    /// L, number of blocks.
    pub layers: usize,
    /// d, length of a token in the residual stream.
    pub width: usize,
    /// Number of heads, each with queries of its own.
    pub heads: usize,
    /// Number of heads of keys and values; divides `heads`, and is less in grouped-query attention.
    pub kv_heads: usize,
    /// p, dimension of a head.
    pub head_dim: usize,
    /// Width of the hidden layer of the MLP.
    pub hidden: usize,
    /// Kind of normalisation.
    pub norm: NormKind,
    /// ε under the root of the normalisation.
    pub epsilon: f64,
    /// Place of the normalisations of a block.
    pub place: NormPlace,
    /// Flag: the sum of the embeddings is normalised (BERT).
    pub embedding_norm: bool,
    /// Flag: the residual is normalised after the last block.
    pub last_norm: bool,
    /// Encoding of the order of tokens.
    pub positions: PositionEncoding,
    /// Number of kinds of segments, whose vectors are added to the embedding (BERT); 0 without them.
    pub segments: usize,
    /// Flag: attention and MLP read the same residual and are added together (GPT-J, GPT-NeoX).
    pub parallel: bool,
    /// Nonlinearity of the MLP.
    pub mlp: MlpKind,
    /// First block without an MLP, counted from 0; None where every block has one.
    pub attention_only_from: Option<usize>,
    /// Form of the heads.
    pub form: HeadForm,
    /// Flag: LayerNorm has a bias.
    pub norm_bias: bool,
    /// Standard deviation of the entries of matrices before training.
    pub sigma: f64,
    /// Flag: the maps to queries, keys and values have biases.
    pub qkv_bias: bool,
    /// Flag: the map back from the heads has a bias.
    pub out_bias: bool,
    /// Flag: the maps of the MLP have biases.
    pub mlp_bias: bool,
    /// Map to scores of tokens.
    pub output: OutputHead,
    /// Flag: a token sees only itself and those before it.
    pub causal: bool,
}

impl TransformerArchitecture {
    /// Returns `true` if a block, counted from 0, has an MLP.
    pub fn has_mlp(&self, block: usize) -> bool {
        self.attention_only_from.is_none_or(|first| block < first)
    }

    /// Counts the parameters.
    pub fn parameters(&self) -> u64 {
        let p = |sizes: &[usize]| memory::product(&sizes.iter().map(|n| *n as u64).collect::<Vec<u64>>());
        let (d, h) = (self.width, self.hidden);
        let norm = d * (1 + usize::from(self.norm_bias));
        let inner = self.heads * self.head_dim;
        let heads = match self.form.maps {
            HeadMaps::Separate => inner + 2 * self.kv_heads * self.head_dim,
            HeadMaps::Shared | HeadMaps::Tied { .. } => inner,
        };
        let back = usize::from(!matches!(self.form.maps, HeadMaps::Tied { .. }));
        let biases = usize::from(self.qkv_bias) * heads + usize::from(self.out_bias) * d;
        let attention = p(&[heads, d]).saturating_add(p(&[back, inner, d])).saturating_add((biases + norm) as u64);
        let maps = 2 + usize::from(self.mlp == MlpKind::SwiGlu);
        let biases = usize::from(self.mlp_bias) * ((maps - 1) * h + d);
        let mlp = p(&[maps, d, h]).saturating_add((biases + norm) as u64);
        let mut parameters = p(&[self.layers]).saturating_mul(attention);
        let with_mlp = self.attention_only_from.unwrap_or(self.layers);
        parameters = parameters.saturating_add(p(&[with_mlp]).saturating_mul(mlp));
        let rows = match self.positions {
            PositionEncoding::Learned { offset } => self.context + offset,
            PositionEncoding::Rotary { .. } | PositionEncoding::Absent => 0,
        };
        let tables = 1 + usize::from(self.output == OutputHead::Own);
        for rows in [tables * self.vocabulary, rows, self.segments] {
            parameters = parameters.saturating_add(p(&[rows, d]));
        }
        let norms = usize::from(self.embedding_norm) + usize::from(self.last_norm);
        parameters.saturating_add((norms * norm) as u64)
    }

    /// Refuses sizes that contradict each other; the names are those of the fields.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the size, its value and the requirement.
    pub fn validate(&self) -> Result<()> {
        let divides = self.kv_heads > 0 && self.heads.is_multiple_of(self.kv_heads);
        require(divides, "kv_heads", self.kv_heads, format!("must be a divisor of heads = {}", self.heads))?;
        if let PositionEncoding::Rotary { turned, base, .. } = self.positions {
            let allowed = format!("must be even, and from 2 to head_dim = {}; rotations turn pairs", self.head_dim);
            require(turned.is_multiple_of(2) && (2..=self.head_dim).contains(&turned), "turned", turned, allowed)?;
            positive("base", base)?;
        }
        if let Some(first) = self.attention_only_from {
            require(first <= self.layers, "mlp_blocks", first, format!("must be at most layers = {}", self.layers))?;
        }
        non_negative("epsilon", self.epsilon)
    }
}
