//! Every claim, one line each: the only place to add a new one.

use super::Claim;
use super::aot_eq35::Eq35;
use super::aot_horizon_law::HorizonLaw;
use super::aot_lemma1::Lemma1;
use super::aot_lemma2_lengths::Lengths;
use super::aot_lemma2_maximum::Maximum;
use super::aot_lemma2_products::Products;
use super::aot_lemma2_weights::Weights;
use super::aot_lemma3::Lemma3;
use super::aot_mssa_is_mhsa::MssaIsMhsa;
use super::aot_softmax_rate::SoftmaxRate;
use super::aot_tau_interval::TauInterval;
use super::aot_theorem1::Theorem1;
use super::aot_theorem1_bounded::Theorem1Bounded;
use super::joma_theorem5::Cooccurrence;
use crate::error::{Error, Result};

/// All claims, in the order in which the papers print them.
pub fn claims() -> Vec<Box<dyn Claim>> {
    vec![
        Box::new(Theorem1::default()),
        Box::new(Theorem1Bounded::default()),
        Box::new(HorizonLaw::default()),
        Box::new(SoftmaxRate::default()),
        Box::new(Lemma1::default()),
        Box::new(Lengths::signal()),
        Box::new(Lengths::noise()),
        Box::new(Products::signal()),
        Box::new(Products::mixed()),
        Box::new(Products::noise()),
        Box::new(Products::noise_corrected()),
        Box::new(Maximum::printed()),
        Box::new(Maximum::corrected()),
        Box::new(Weights::signal()),
        Box::new(Weights::noise()),
        Box::new(Lemma3::printed()),
        Box::new(Lemma3::bounded()),
        Box::new(TauInterval::default()),
        Box::new(Eq35::default()),
        Box::new(MssaIsMhsa::default()),
        Box::new(Cooccurrence::printed()),
        Box::new(Cooccurrence::corrected()),
    ]
}

/// The claim with this id.
///
/// # Errors
/// An unknown id, with the nearest known ones.
pub fn find(id: &str) -> Result<Box<dyn Claim>> {
    let all = claims();
    let ids: Vec<_> = all.iter().map(|c| c.card().id).collect();
    let unknown = Error::unknown("claim", id, ids);
    all.into_iter().find(|c| c.card().id == id).ok_or(unknown)
}
