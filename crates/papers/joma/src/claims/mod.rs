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
        Arc::new(theorem3::Stationary::PRINTED),
        Arc::new(theorem3::Stationary::CORRECTED),
        Arc::new(theorem3::Condition::PRINTED),
        Arc::new(theorem3::Condition::CORRECTED),
        Arc::new(theorem3::Slope::default()),
        Arc::new(theorem3::Limits::PRINTED),
        Arc::new(theorem3::Limits::CORRECTED),
        Arc::new(theorem3::Existence::default()),
        Arc::new(theorem3::Range::PRINTED),
        Arc::new(theorem3::Range::CORRECTED),
        Arc::new(theorem3::Convex::PRINTED),
        Arc::new(theorem3::Convex::CORRECTED),
        Arc::new(theorem3::Signs::PRINTED),
        Arc::new(theorem3::Signs::CORRECTED),
        Arc::new(lemma3::Lemma5::PRINTED),
        Arc::new(lemma3::Lemma5::CORRECTED),
        Arc::new(theorem3::Rates::PRINTED),
        Arc::new(theorem3::Rates::CORRECTED),
        Arc::new(theorem3::Linearised::PRINTED),
        Arc::new(theorem3::Lambda::PRINTED),
        Arc::new(theorem3::Stable::OWN),
        Arc::new(theorem3::Definite::PRINTED),
        Arc::new(theorem3::Definite::CORRECTED),
        Arc::new(theorem4::Ratio::PRINTED),
        Arc::new(theorem4::Ratio::SHARP),
        Arc::new(theorem4::Threshold::PRINTED),
        Arc::new(theorem4::Threshold::CORRECTED),
        Arc::new(theorem4::Bounded::LEMMA6),
        Arc::new(theorem4::Bounded::LEMMA7),
        Arc::new(theorem4::Time::default()),
        Arc::new(theorem4::Derivative::default()),
        Arc::new(theorem4::Integral::PRINTED),
        Arc::new(theorem4::MeanValue::PRINTED),
        Arc::new(theorem4::Remainder::PRINTED),
        Arc::new(theorem4::Remainder::SHARP),
        Arc::new(theorem4::Remainder::TEXT),
        Arc::new(theorem4::Theorem4Linear::default()),
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
