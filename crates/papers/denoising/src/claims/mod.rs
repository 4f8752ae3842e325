//! The claims of this room, one file per statement or family of statements.

mod any_beta;
mod clusters;
mod energy;
mod fig3;
mod fig6;
mod hopfield;
mod jacobian;
mod prop1;
mod prop2;
mod prop3;
mod prop4;
mod rate;
pub mod setting;
mod small_argument;
mod theorem3_1;
mod theorem3_2;

use attnlab_lab::claim::Claim;
use std::sync::Arc;

/// All claims, in the order in which the papers print them.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(prop1::Prop1::default()),
        Arc::new(prop2::Prop2Mean::default()),
        Arc::new(prop2::Prop2Loss::PRINTED),
        Arc::new(prop2::Prop2Loss::CORRECTED),
        Arc::new(prop3::Prop3::INTEGRAL),
        Arc::new(prop3::Prop3::PRINTED),
        Arc::new(prop3::Prop3::CORRECTED),
        Arc::new(prop4::Prop4::default()),
        Arc::new(prop4::Prop4Limit::default()),
        Arc::new(clusters::UnequalClusters::PRINTED),
        Arc::new(clusters::UnequalClusters::CORRECTED),
        Arc::new(theorem3_1::Theorem31::default()),
        Arc::new(theorem3_1::Theorem31Finite::default()),
        Arc::new(theorem3_2::Theorem32::default()),
        Arc::new(theorem3_2::Theorem32Rate::default()),
        Arc::new(small_argument::LemmaF1::default()),
        Arc::new(small_argument::PropF2::default()),
        Arc::new(small_argument::PropF2Coefficient::default()),
        Arc::new(any_beta::AnyBeta::default()),
        Arc::new(energy::OneStep::default()),
        Arc::new(energy::OneStepWins::default()),
        Arc::new(fig3::Valleys::PRINTED),
        Arc::new(fig3::Valleys::CONVEX),
        Arc::new(fig6::Minimum::PRINTED),
        Arc::new(fig6::Minimum::LIMIT),
        Arc::new(hopfield::LinearStep::default()),
        Arc::new(hopfield::PositiveDefinite::PRINTED),
        Arc::new(hopfield::PositiveDefinite::CORRECTED),
        Arc::new(jacobian::Jacobian::default()),
        Arc::new(jacobian::Condition::PRINTED),
        Arc::new(jacobian::Condition::CORRECTED),
    ]
}
