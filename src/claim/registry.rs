//! Every claim, one line each: the only place to add a new one.

use super::{
    Claim, aot_horizon_law, aot_mssa_is_mhsa, aot_softmax_rate, aot_tau_interval, aot_theorem1,
    aot_theorem1_bounded,
};
use crate::error::{Error, Result};

/// All claims, in the order in which the papers print them.
pub fn claims() -> Vec<Box<dyn Claim>> {
    vec![
        Box::new(aot_mssa_is_mhsa::MssaIsMhsa::default()),
        Box::new(aot_tau_interval::TauInterval::default()),
        Box::new(aot_theorem1::Theorem1::default()),
        Box::new(aot_theorem1_bounded::Theorem1Bounded::default()),
        Box::new(aot_horizon_law::HorizonLaw::default()),
        Box::new(aot_softmax_rate::SoftmaxRate::default()),
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
