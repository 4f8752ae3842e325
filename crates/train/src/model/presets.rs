//! The papers' networks by name.

use super::config::{AttentionForm, FirstPositions, Input, Mlp, ModelConfig, Norm, Output, Positions};
use attnlab_core::error::{Error, Result};

/// Network of a paper.
pub struct Preset {
    /// Name in settings.
    pub name: &'static str,
    /// Title and place in the paper.
    pub title: &'static str,
    build: fn() -> ModelConfig,
}

/// Tokens of GPT-2's vocabulary, rounded up to a multiple of 64 as nanoGPT does.
const VOCABULARY: usize = 50_304;
/// GPT-2's and nanoGPT's σ of initial values.
const SIGMA: f64 = 0.02;
/// Positions of the table that Garg et al. build for regression: two per example, 101 examples.
const POSITIONS: usize = 2 * 101;

/// The networks of the papers, by paper.
pub static PRESETS: [Preset; 23] = [
    named("aot-mssa-l-base", "AoT-MSSA-L Base (102M), ICML Table 4", || mssa_l(24, 1024, 16)),
    named("aot-mssa-l-medium", "AoT-MSSA-L Medium (182M), ICML Table 4", || mssa_l(36, 1280, 20)),
    named("aot-mssa-l-large", "AoT-MSSA-L Large (326M), sizes inferred from the count", || mssa_l(48, 1600, 25)),
    named("aot-mhsa-l-base", "AoT-MHSA-L Base (122M), ICML Table 4", || mssa_l(24, 896, 14).mhsa()),
    named("aot-hybrid-l", "Hybrid (81M), MLP in the first half of the blocks, sizes inferred", || {
        mssa_l(12, 768, 12).gelu(3072, 6)
    }),
    named("aot-full-mlp-l", "Full MLP (109M), sizes inferred from the count", || mssa_l(12, 768, 12).gelu(3072, 12)),
    named("gpt2-base", "GPT-2 Base (124M)", || mssa_l(12, 768, 12).mhsa().gelu(3072, 12)),
    named("icl-aot-mssa", "AoT-MSSA-L for regression, ICML Table 5", || regression(32)),
    named("icl-aot-mhsa", "AoT-MHSA-L for regression, ICML Table 5", || regression(32).mhsa()),
    named("icl-transformer", "GPT-2 for regression, ICML Table 5", || regression(16).mhsa().gelu(512, 16)),
    named("icl-hybrid", "Hybrid for regression, 2024 Section 4.1.2: 24 layers", || regression(24).gelu(512, 12)),
    named("icl-full-mlp", "Full MLP for regression, 2024 Section 4.1.2: 16 layers", || regression(16).gelu(512, 16)),
    named("icl-aot-tied", "AoT with Eq. (4) as printed, one matrix per layer", || ModelConfig {
        attention: AttentionForm::MssaTied { eta: 1.0, normalise_queries: true, scaled: false },
        ..regression(32)
    }),
    named("icl-llama", "Llama for regression, 2024 Figure 7", || ModelConfig {
        mlp: Mlp::SwiGlu { hidden: 352 },
        mlp_blocks: 16,
        ..llama(16).mhsa()
    }),
    named("icl-llama-aot", "Llama-AoT for regression, 2024 Figure 7", || llama(32)),
    named("aot-v-16m", "AoT-MSSA-V (16M), 2024", || vision(12, 768, 12)),
    named("aot-v-52m", "AoT-MSSA-V (52M), 2024", || vision(24, 1024, 16)),
    named("aot-v-86m", "AoT-MSSA-V (86M), 2024; width inferred from the count", || vision(32, 1152, 16)),
    named("crate-t", "CRATE-T (6.09M)", || crate_(12, 384, 6)),
    named("crate-s", "CRATE-S (13.12M)", || crate_(12, 576, 12)),
    named("crate-b", "CRATE-B (22.80M)", || crate_(12, 768, 12)),
    named("crate-l", "CRATE-L (77.64M)", || crate_(24, 1024, 16)),
    named("vit-s", "ViT-S (22M), ICML Table 2", || ModelConfig {
        norm: Norm::Layer,
        ..vision(12, 384, 6).mhsa().gelu(1536, 12)
    }),
];

const fn named(name: &'static str, title: &'static str, build: fn() -> ModelConfig) -> Preset {
    Preset { name, title, build }
}

/// Finds the configuration of a network by name.
///
/// # Errors
/// [`Error::Unknown`] with the nearest names.
pub fn preset(name: &str) -> Result<ModelConfig> {
    let preset = PRESETS.iter().find(|p| p.name == name);
    let unknown = || Error::unknown("network", name, PRESETS.iter().map(|p| p.name));
    preset.map(|p| (p.build)()).ok_or_else(unknown)
}

impl ModelConfig {
    /// Returns the network with separate queries, keys and values.
    fn mhsa(self) -> Self {
        ModelConfig { attention: AttentionForm::Mhsa, ..self }
    }

    /// Returns the network with an MLP of GELU in its first `blocks` blocks.
    fn gelu(self, hidden: usize, blocks: usize) -> Self {
        ModelConfig { mlp: Mlp::Gelu { hidden }, mlp_blocks: blocks, ..self }
    }
}

/// nanoGPT's conventions: no biases, LayerNorm before each part and at the end.
fn mssa_l(layers: usize, width: usize, heads: usize) -> ModelConfig {
    ModelConfig {
        input: Input::Tokens { vocabulary: VOCABULARY },
        output: Output::TiedTokens,
        layers,
        width,
        heads,
        attention: AttentionForm::Mssa { normalise_queries: true, scaled: false },
        mlp: Mlp::None,
        mlp_blocks: 0,
        norm: Norm::Layer,
        positions: Positions::Learned,
        first_positions: FirstPositions::Normal,
        context: 1024,
        causal: true,
        bias: false,
        sigma: SIGMA,
    }
}

/// GPT-2 with biases, 128 wide, 8 heads, d = 20, as Garg et al. set it up.
fn regression(layers: usize) -> ModelConfig {
    ModelConfig {
        input: Input::Vectors { dim: 20 },
        output: Output::Linear { dim: 1 },
        bias: true,
        context: POSITIONS,
        ..mssa_l(layers, 128, 8)
    }
}

fn llama(layers: usize) -> ModelConfig {
    ModelConfig { norm: Norm::Rms, positions: Positions::Rotary, bias: false, ..regression(layers) }
}

/// Images of 224² in patches of 16²: 196 tokens and the class token, 1000 classes. No norm inside.
fn vision(layers: usize, width: usize, heads: usize) -> ModelConfig {
    ModelConfig {
        input: Input::Patches { dim: 768 },
        output: Output::Classes { count: 1000 },
        attention: AttentionForm::Mssa { normalise_queries: false, scaled: true },
        norm: Norm::None,
        context: 196,
        causal: false,
        bias: true,
        ..mssa_l(layers, width, heads)
    }
}

fn crate_(layers: usize, width: usize, heads: usize) -> ModelConfig {
    ModelConfig {
        norm: Norm::Layer,
        mlp: Mlp::Ista { step: 0.1, lambda: 0.1 },
        mlp_blocks: layers,
        ..vision(layers, width, heads)
    }
}
