//! Tokens as particles on a sphere: clustering, metastability and long contexts in self-attention.
//!
//! A room of attnlab: statements in `sheets/`, [`claims`], closed forms ([`theory`], [`formulas`]), [`experiments`]
//! with their settings, and the [`quantities`] they share. The law of motion is that of [`attnlab_theory::particles`].

pub mod claims;
#[cfg(not(target_family = "wasm"))]
pub mod experiments;
pub mod formulas;
pub mod quantities;
pub mod setting;
pub mod theory;

use attnlab_lab::catalogue::Room;
use attnlab_lab::claim::Paper;

/// The papers of this room.
pub static PAPERS: &[Paper] = &[
    Paper {
        key: "perspective",
        title: "A mathematical perspective on transformers",
        authors: "Borjan Geshkovski, Cyril Letrouit, Yury Polyanskiy, Philippe Rigollet",
        venue: "arXiv 2312.10794v5",
        year: 2025,
        link: "https://arxiv.org/abs/2312.10794",
    },
    Paper {
        key: "survey",
        title: "The mean-field dynamics of transformers",
        authors: "Philippe Rigollet",
        venue: "arXiv 2512.01868",
        year: 2025,
        link: "https://arxiv.org/abs/2512.01868",
    },
    Paper {
        key: "normalization",
        title: "Normalization in attention dynamics",
        authors: "Nikita Karagodin, Shu Ge, Yury Polyanskiy, Philippe Rigollet",
        venue: "arXiv 2510.22026",
        year: 2025,
        link: "https://arxiv.org/abs/2510.22026",
    },
    Paper {
        key: "long-context",
        title: "Critical attention scaling in long-context transformers",
        authors: "Shi Chen, Zhengjiang Lin, Yury Polyanskiy, Philippe Rigollet",
        venue: "ICLR 2026, arXiv 2510.05554",
        year: 2026,
        link: "https://arxiv.org/abs/2510.05554",
    },
    Paper {
        key: "emergence",
        title: "Emergence of meta-stable clustering in mean-field transformer models",
        authors: "Giuseppe Bruno, Federico Pasqualotto, Andrea Agazzi",
        venue: "ICLR 2025, arXiv 2410.23228",
        year: 2025,
        link: "https://arxiv.org/abs/2410.23228",
    },
    Paper {
        key: "causal",
        title: "Clustering in causal attention masking",
        authors: "Nikita Karagodin, Yury Polyanskiy, Philippe Rigollet",
        venue: "NeurIPS 2024, arXiv 2411.04990v2",
        year: 2024,
        link: "https://arxiv.org/abs/2411.04990",
    },
    Paper {
        key: "rank-collapse",
        title: "Attention is not all you need: pure attention loses rank doubly exponentially with depth",
        authors: "Yihe Dong, Jean-Baptiste Cordonnier, Andreas Loukas",
        venue: "ICML 2021, arXiv 2103.03404v1",
        year: 2021,
        link: "https://arxiv.org/abs/2103.03404",
    },
];

const TERMS: &[(&str, &str)] = &[
    (
        "SA, USA",
        "models of tokens as particles: self-attention with the softmax, and unnormalised self-attention, where the sum \
         over n tokens is divided by n",
    ),
    (
        "strong Rényi centre",
        "a token farther than δ from all earlier tokens; a Rényi centre is farther than δ from earlier centres alone",
    ),
    (
        "plateau",
        "a long time in which clusters stay apart: two clusters at inner product ρ move at the speed exp(-β(1 - ρ))",
    ),
];

/// Everything in this room.
pub fn room() -> Room {
    let room = Room::new("cluster", PAPERS)
        .subjects(&["clustering", "particles", "long contexts"])
        .claims(claims::all())
        .formulas(formulas::formulas())
        .terms(TERMS);
    // Some work on files, which a browser has not.
    #[cfg(not(target_family = "wasm"))]
    let room = room.experiments(experiments::entries());
    room
}
