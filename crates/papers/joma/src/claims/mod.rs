//! The claims of this room, one file per statement or family of statements. A private field such as `printed` or
//! `statement` says which sheet a claim bears: its own, or for a mutant that of the claim it belongs to.

mod class_pair;
mod embeddings;
mod entropy;
mod eq17;
mod eq60;
mod eq9;
mod fig2;
mod fig3;
mod footnote1;
mod lemma1;
mod lemma1_monotone;
mod lemma2;
mod lemma3;
mod lemma3_limit;
mod pair;
mod setting;
mod superposition;
mod table1;
mod theorem1;
mod theorem2;
mod theorem2_softmax;
mod theorem3;
mod theorem4;
mod theorem5;
mod tree;

use attnlab_lab::claim::{Claim, family};
use std::sync::Arc;

/// All claims, in the order in which the papers print them.
pub fn all() -> Vec<Arc<dyn Claim>> {
    [
        family([
            theorem1::Theorem1::LINEAR,
            theorem1::Theorem1::EXP,
            theorem1::Theorem1::SOFTMAX,
            theorem1::Theorem1::SOFTMAX_CORRECTED,
        ]),
        family([embeddings::NearOrthogonal::PRINTED]),
        family([embeddings::EpsilonTerms::PRINTED]),
        family([eq17::Eq17::PRINTED, eq17::Eq17::CORRECTED]),
        family([
            fig2::Fig2::CORRELATES,
            fig2::Fig2::AMPLITUDE,
            fig2::Fig2::COMPONENTS,
            fig2::Fig2::COMPONENTS_CORRECTED,
        ]),
        family([fig3::Fig3::PRINTED]),
        family([theorem2::Theorem2::PRINTED, theorem2::Theorem2::CORRECTED, theorem2::Theorem2::WINNER]),
        family([theorem2_softmax::Theorem2Softmax::PRINTED]),
        family([footnote1::Footnote1::default()]),
        family([lemma1::Lemma1::PRINTED, lemma1::Lemma1::CORRECTED]),
        family([lemma1_monotone::Lemma1Monotone::PRINTED, lemma1_monotone::Lemma1Monotone::CORRECTED]),
        family([lemma1::Marginal::default()]),
        family([lemma2::Lemma2::PRINTED, lemma2::Lemma2::CORRECTED]),
        family([lemma3::Integral::default()]),
        family([lemma3::Monotone::PRINTED, lemma3::Monotone::CORRECTED]),
        family([lemma3_limit::Lemma3Limit::default()]),
        family([theorem3::stationary::Stationary::PRINTED, theorem3::stationary::Stationary::CORRECTED]),
        family([theorem3::condition::Condition::PRINTED, theorem3::condition::Condition::CORRECTED]),
        family([theorem3::slope::Slope::default()]),
        family([theorem3::limits::Limits::PRINTED, theorem3::limits::Limits::CORRECTED]),
        family([theorem3::existence::Existence::default()]),
        family([theorem3::range::Range::PRINTED, theorem3::range::Range::CORRECTED]),
        family([theorem3::convex::Convex::PRINTED, theorem3::convex::Convex::CORRECTED]),
        family([theorem3::signs::Signs::PRINTED, theorem3::signs::Signs::CORRECTED]),
        family([lemma3::Lemma5::PRINTED, lemma3::Lemma5::CORRECTED]),
        family([theorem3::rates::Rates::PRINTED, theorem3::rates::Rates::CORRECTED]),
        family([theorem3::linearised::Linearised::PRINTED]),
        family([theorem3::lambda::Lambda::PRINTED]),
        family([theorem3::stable::Stable::OWN]),
        family([theorem3::definite::Definite::PRINTED, theorem3::definite::Definite::CORRECTED]),
        family([theorem4::ratio::Ratio::PRINTED, theorem4::ratio::Ratio::SHARP]),
        family([theorem4::threshold::Threshold::PRINTED, theorem4::threshold::Threshold::CORRECTED]),
        family([theorem4::lemmas::Bounded::LEMMA6, theorem4::lemmas::Bounded::LEMMA7]),
        family([theorem4::time::Time::default()]),
        family([theorem4::derivative::Derivative::default()]),
        family([theorem4::integral::Integral::PRINTED]),
        family([theorem4::mean_value::MeanValue::PRINTED]),
        family([
            theorem4::remainder::Remainder::PRINTED,
            theorem4::remainder::Remainder::SHARP,
            theorem4::remainder::Remainder::TEXT,
        ]),
        family([theorem4::linear::Theorem4Linear::default()]),
        family([entropy::EntropyRebound::PRINTED, entropy::EntropyRebound::MOSTLY, entropy::EntropyRebound::LINEAR]),
        family([table1::Gain::LEVEL, table1::Gain::EXCESS]),
        family([eq9::Eq9::default()]),
        family([eq60::Eq60::default()]),
        family([superposition::Superposition::PRINTED, superposition::Superposition::CORRECTED]),
        family([tree::TreeLaw::LEMMA8, tree::TreeLaw::LEMMA9]),
        family([theorem5::Cooccurrence::PRINTED, theorem5::Cooccurrence::CORRECTED]),
        family([pair::Pair::default()]),
        family([class_pair::ClassPair::default()]),
        family([tree::TreeLaw::LIMIT, tree::TreeLaw::LIMIT_CORRECTED]),
    ]
    .concat()
}
