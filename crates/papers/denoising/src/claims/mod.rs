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

use attnlab_lab::claim::{Claim, family};
use std::sync::Arc;

/// All claims, in the order in which the papers print them.
pub fn all() -> Vec<Arc<dyn Claim>> {
    [
        family([prop1::Prop1::default()]),
        family([prop2::Prop2Mean::default()]),
        family([prop2::Prop2Loss::PRINTED, prop2::Prop2Loss::CORRECTED]),
        family([prop3::Prop3::INTEGRAL, prop3::Prop3::PRINTED, prop3::Prop3::CORRECTED]),
        family([prop4::Prop4::default()]),
        family([prop4::Prop4Limit::default()]),
        family([clusters::UnequalClusters::PRINTED, clusters::UnequalClusters::CORRECTED]),
        family([theorem3_1::Theorem31::default()]),
        family([theorem3_1::Theorem31Finite::default()]),
        family([theorem3_2::Theorem32::default()]),
        family([theorem3_2::Theorem32Rate::default()]),
        family([small_argument::LemmaF1::default()]),
        family([small_argument::PropF2::default()]),
        family([small_argument::PropF2Coefficient::default()]),
        family([any_beta::AnyBeta::default()]),
        family([energy::OneStep::default()]),
        family([energy::OneStepWins::default()]),
        family([fig3::Valleys::PRINTED, fig3::Valleys::CONVEX]),
        family([fig6::Minimum::PRINTED, fig6::Minimum::LIMIT]),
        family([hopfield::LinearStep::default()]),
        family([hopfield::PositiveDefinite::PRINTED, hopfield::PositiveDefinite::CORRECTED]),
        family([jacobian::Jacobian::default()]),
        family([jacobian::Condition::PRINTED, jacobian::Condition::CORRECTED]),
    ]
    .concat()
}
