//! The claims of this room, one file per statement or family of statements.

pub mod columns;
mod eq35;
mod eq9;
mod horizon_law;
mod lemma1;
mod lemma2;
mod lemma2_joint;
mod lemma2_lengths;
mod lemma2_maximum;
mod lemma2_products;
mod lemma2_weights;
mod lemma3;
mod mssa_is_mhsa;
pub mod setting;
mod softmax_rate;
mod tau_interval;
mod theorem1;
mod theorem1_bounded;

pub(crate) use theorem1::Theorem1;

use attnlab_lab::claim::Claim;
use lemma2::Event;
use std::sync::Arc;

/// All claims, in the order in which the papers print them.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(theorem1::Theorem1::default()),
        Arc::new(theorem1_bounded::Theorem1Bounded::default()),
        Arc::new(horizon_law::HorizonLaw::default()),
        Arc::new(softmax_rate::SoftmaxRate::default()),
        Arc::new(lemma1::Lemma1::default()),
        Arc::new(Event(lemma2_joint::Joint::lengths())),
        Arc::new(Event(lemma2_lengths::Lengths::signal())),
        Arc::new(Event(lemma2_lengths::Lengths::noise())),
        Arc::new(Event(lemma2_joint::Joint::products())),
        Arc::new(Event(lemma2_products::Products::signal())),
        Arc::new(Event(lemma2_products::Products::mixed())),
        Arc::new(Event(lemma2_products::Products::noise())),
        Arc::new(Event(lemma2_products::Products::noise_corrected())),
        Arc::new(Event(lemma2_maximum::Maximum::printed())),
        Arc::new(Event(lemma2_maximum::Maximum::corrected())),
        Arc::new(Event(lemma2_joint::Joint::weights())),
        Arc::new(Event(lemma2_weights::Weights::signal())),
        Arc::new(Event(lemma2_weights::Weights::noise())),
        Arc::new(lemma3::Lemma3::printed()),
        Arc::new(lemma3::Lemma3::bounded()),
        Arc::new(tau_interval::TauInterval::default()),
        Arc::new(eq35::Eq35::default()),
        Arc::new(eq9::Eq9::default()),
        Arc::new(mssa_is_mhsa::MssaIsMhsa::default()),
    ]
}
