//! The claims of this room, one file per statement or family of statements.

mod causal;
mod concentration;
mod equiangular;
mod long_context;
mod modes;
mod one_point;
pub(crate) mod pair;
mod rates;
mod renyi;

use attnlab_lab::claim::Claim;
use std::sync::Arc;

/// All claims, paper by paper.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(equiangular::Reduction::default()),
        Arc::new(concentration::Concentration::PRINTED),
        Arc::new(concentration::Concentration::START),
        Arc::new(concentration::Deviation::default()),
        Arc::new(one_point::OnePoint::default()),
        Arc::new(rates::Rate::PRE_LN),
        Arc::new(rates::Rate::POST_LN),
        Arc::new(pair::Clock::default()),
        Arc::new(pair::Masses::default()),
        Arc::new(pair::Contact::default()),
        Arc::new(pair::Path::default()),
        Arc::new(pair::Duration::default()),
        Arc::new(long_context::Layer::default()),
        Arc::new(long_context::Limit::default()),
        Arc::new(long_context::Law::default()),
        Arc::new(modes::Growth::default()),
        Arc::new(modes::Fastest::PRINTED),
        Arc::new(modes::Fastest::SHARP),
        Arc::new(causal::Causal::default()),
        Arc::new(renyi::Centres::LEMMA),
        Arc::new(renyi::Centres::CIRCLE),
        Arc::new(renyi::Centres::SPHERE),
        Arc::new(renyi::Centres::CORRECTED),
    ]
}
