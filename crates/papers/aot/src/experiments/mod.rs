//! The experiments of this room: a folder each, with code, pictures and `settings.toml`.

mod law;
#[cfg(feature = "train")]
mod networks;
pub(crate) mod parts;

use crate::PAPERS;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::Entry;

attnlab_lab::experiments! {
    snr_per_layer::SnrPerLayer,
    theorem1_horizon::Theorem1Horizon,
    theorem1_map::Theorem1Map,
    horizon_map::HorizonMap,
    phi_map::PhiMap,
    coherence_map::CoherenceMap,
    inspect::Inspect,
    inspect_network::InspectNetwork,
    inspect_networks::InspectNetworks,
    evaluate::Evaluate,
    icl::Icl needs "train" else ICL,
    language::Language needs "train" else LANGUAGE,
    vision::Vision needs "train" else VISION,
}

/// In-context learning as every build lists it.
const ICL: Entry = Entry::without(
    ["aot.icl", "icl", "Attention-only transformers learn regression in context", "train"],
    Source { paper: &PAPERS[0], place: "Figures 6 and 7; ICML version, Figure 6" },
    include_str!("icl/settings.toml"),
);

/// Training on language as every build lists it.
const LANGUAGE: Entry = Entry::without(
    ["aot.language", "language", "Attention-only transformers learn language", "train"],
    Source { paper: &PAPERS[1], place: "Section 4.2, Table 4" },
    include_str!("language/settings.toml"),
);

/// Training on images as every build lists it.
const VISION: Entry = Entry::without(
    ["aot.vision", "vision", "Attention-only transformers see images", "train"],
    Source { paper: &PAPERS[1], place: "Section 4.1, Tables 1 and 2, Figure 7" },
    include_str!("vision/settings.toml"),
);
