//! The claims of this room, one file per statement or family of statements.

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

use attnlab_lab::claim::Claim;
use std::sync::Arc;

/// All claims, in the order in which the papers print them.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(theorem1::Theorem1::LINEAR),
        Arc::new(theorem1::Theorem1::EXP),
        Arc::new(theorem1::Theorem1::SOFTMAX),
        Arc::new(theorem1::Theorem1::SOFTMAX_CORRECTED),
        Arc::new(embeddings::NearOrthogonal::PRINTED),
        Arc::new(embeddings::EpsilonTerms::PRINTED),
        Arc::new(eq17::Eq17::PRINTED),
        Arc::new(eq17::Eq17::CORRECTED),
        Arc::new(fig2::Fig2::CORRELATES),
        Arc::new(fig2::Fig2::AMPLITUDE),
        Arc::new(fig2::Fig2::COMPONENTS),
        Arc::new(fig2::Fig2::COMPONENTS_CORRECTED),
        Arc::new(fig3::Fig3::PRINTED),
        Arc::new(theorem2::Theorem2::PRINTED),
        Arc::new(theorem2::Theorem2::CORRECTED),
        Arc::new(theorem2::Theorem2::WINNER),
        Arc::new(theorem2_softmax::Theorem2Softmax::PRINTED),
        Arc::new(footnote1::Footnote1::default()),
        Arc::new(lemma1::Lemma1::PRINTED),
        Arc::new(lemma1::Lemma1::CORRECTED),
        Arc::new(lemma1_monotone::Lemma1Monotone::PRINTED),
        Arc::new(lemma1_monotone::Lemma1Monotone::CORRECTED),
        Arc::new(lemma1::Marginal::default()),
        Arc::new(lemma2::Lemma2::PRINTED),
        Arc::new(lemma2::Lemma2::CORRECTED),
        Arc::new(lemma3::Integral::default()),
        Arc::new(lemma3::Monotone::PRINTED),
        Arc::new(lemma3::Monotone::CORRECTED),
        Arc::new(lemma3_limit::Lemma3Limit::default()),
        Arc::new(theorem3::stationary::Stationary::PRINTED),
        Arc::new(theorem3::stationary::Stationary::CORRECTED),
        Arc::new(theorem3::condition::Condition::PRINTED),
        Arc::new(theorem3::condition::Condition::CORRECTED),
        Arc::new(theorem3::slope::Slope::default()),
        Arc::new(theorem3::limits::Limits::PRINTED),
        Arc::new(theorem3::limits::Limits::CORRECTED),
        Arc::new(theorem3::existence::Existence::default()),
        Arc::new(theorem3::range::Range::PRINTED),
        Arc::new(theorem3::range::Range::CORRECTED),
        Arc::new(theorem3::convex::Convex::PRINTED),
        Arc::new(theorem3::convex::Convex::CORRECTED),
        Arc::new(theorem3::signs::Signs::PRINTED),
        Arc::new(theorem3::signs::Signs::CORRECTED),
        Arc::new(lemma3::Lemma5::PRINTED),
        Arc::new(lemma3::Lemma5::CORRECTED),
        Arc::new(theorem3::rates::Rates::PRINTED),
        Arc::new(theorem3::rates::Rates::CORRECTED),
        Arc::new(theorem3::linearised::Linearised::PRINTED),
        Arc::new(theorem3::lambda::Lambda::PRINTED),
        Arc::new(theorem3::stable::Stable::OWN),
        Arc::new(theorem3::definite::Definite::PRINTED),
        Arc::new(theorem3::definite::Definite::CORRECTED),
        Arc::new(theorem4::ratio::Ratio::PRINTED),
        Arc::new(theorem4::ratio::Ratio::SHARP),
        Arc::new(theorem4::threshold::Threshold::PRINTED),
        Arc::new(theorem4::threshold::Threshold::CORRECTED),
        Arc::new(theorem4::lemmas::Bounded::LEMMA6),
        Arc::new(theorem4::lemmas::Bounded::LEMMA7),
        Arc::new(theorem4::time::Time::default()),
        Arc::new(theorem4::derivative::Derivative::default()),
        Arc::new(theorem4::integral::Integral::PRINTED),
        Arc::new(theorem4::mean_value::MeanValue::PRINTED),
        Arc::new(theorem4::remainder::Remainder::PRINTED),
        Arc::new(theorem4::remainder::Remainder::SHARP),
        Arc::new(theorem4::remainder::Remainder::TEXT),
        Arc::new(theorem4::linear::Theorem4Linear::default()),
        Arc::new(entropy::EntropyRebound::PRINTED),
        Arc::new(entropy::EntropyRebound::MOSTLY),
        Arc::new(entropy::EntropyRebound::LINEAR),
        Arc::new(table1::Gain::LEVEL),
        Arc::new(table1::Gain::EXCESS),
        Arc::new(eq9::Eq9::default()),
        Arc::new(eq60::Eq60::default()),
        Arc::new(superposition::Superposition::PRINTED),
        Arc::new(superposition::Superposition::CORRECTED),
        Arc::new(tree::TreeLaw::LEMMA8),
        Arc::new(tree::TreeLaw::LEMMA9),
        Arc::new(theorem5::Cooccurrence::PRINTED),
        Arc::new(theorem5::Cooccurrence::CORRECTED),
        Arc::new(pair::Pair::default()),
        Arc::new(class_pair::ClassPair::default()),
        Arc::new(tree::TreeLaw::LIMIT),
        Arc::new(tree::TreeLaw::LIMIT_CORRECTED),
    ]
}
