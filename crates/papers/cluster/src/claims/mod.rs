//! The claims of this room, one file per statement or family of statements.

mod causal;
mod collapse;
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

/// Returns all claims, paper by paper.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(equiangular::Reduction::PRINTED),
        Arc::new(concentration::Concentration::PRINTED),
        Arc::new(concentration::Concentration::START),
        Arc::new(concentration::Deviation::DERIVED),
        Arc::new(one_point::OnePoint::PRINTED),
        Arc::new(rates::Rate::PRE_LN),
        Arc::new(rates::Rate::POST_LN),
        Arc::new(pair::Clock::PRINTED),
        Arc::new(pair::Masses::PRINTED),
        Arc::new(pair::Contact::PRINTED),
        Arc::new(pair::PairPath::DERIVED),
        Arc::new(pair::Duration::DERIVED),
        Arc::new(long_context::LayerCosine::default()),
        Arc::new(long_context::Limit::PRINTED),
        Arc::new(long_context::Law::DERIVED),
        Arc::new(modes::Growth::DERIVED),
        Arc::new(modes::Fastest::NEAR),
        Arc::new(modes::Fastest::SHARP),
        Arc::new(causal::Causal::PRINTED),
        Arc::new(renyi::Centres::LEMMA),
        Arc::new(renyi::Centres::CIRCLE),
        Arc::new(renyi::Centres::SPHERE),
        Arc::new(renyi::Centres::CORRECTED),
        Arc::new(collapse::RankCollapse::PRINTED),
    ]
}
