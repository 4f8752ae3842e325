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
use super::denoise_any_beta::AnyBeta;
use super::denoise_clusters::UnequalClusters;
use super::denoise_energy::{OneStep, OneStepWins};
use super::denoise_fig3::Valleys;
use super::denoise_fig6::Minimum;
use super::denoise_hopfield::{LinearStep, PositiveDefinite};
use super::denoise_jacobian::{Condition, Jacobian};
use super::denoise_prop1::Prop1;
use super::denoise_prop2::{Prop2Loss, Prop2Mean};
use super::denoise_prop3::Prop3;
use super::denoise_prop4::{Prop4, Prop4Limit};
use super::denoise_small_argument::{LemmaF1, PropF2, PropF2Coefficient};
use super::denoise_theorem3_1::{Theorem31, Theorem31Finite};
use super::denoise_theorem3_2::{Theorem32, Theorem32Rate};
use super::joma_embeddings::{EpsilonTerms, NearOrthogonal};
use super::joma_entropy::EntropyRebound;
use super::joma_eq17::Eq17;
use super::joma_fig2::Fig2;
use super::joma_lemma1::{Lemma1 as JomaLemma1, Marginal};
use super::joma_lemma2::Lemma2 as JomaLemma2;
use super::joma_lemma3::{Lemma3 as JomaLemma3, Lemma5 as JomaLemma5};
use super::joma_superposition::{Eq9, Eq60, Superposition};
use super::joma_theorem1::Theorem1 as JomaTheorem1;
use super::joma_theorem2::Theorem2 as JomaTheorem2;
use super::joma_theorem3::Theorem3 as JomaTheorem3;
use super::joma_theorem4::Theorem4 as JomaTheorem4;
use super::joma_theorem4_linear::Theorem4Linear;
use super::joma_theorem5::Cooccurrence;
use super::joma_tree::TreeLaw;
use super::lsa_empirical::EmpiricalLimit;
use super::lsa_invariant::Invariant;
use super::lsa_limit::Limit;
use super::lsa_local_minimum::LocalMinimum;
use super::lsa_pl::{Pl, PlPrinted};
use super::lsa_population_loss::PopulationLoss;
use super::lsa_query_shift::QueryShift;
use super::lsa_risk::{Rate, RiskFormula, Shift};
use super::lsa_starts::{AnyStart, Plateau};
use super::notes_attention::{AttentionColumns, AttentionCost};
use super::notes_recipe::Residual;
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
        Box::new(Prop1::default()),
        Box::new(Prop2Mean::default()),
        Box::new(Prop2Loss::PRINTED),
        Box::new(Prop2Loss::CORRECTED),
        Box::new(Prop3::INTEGRAL),
        Box::new(Prop3::PRINTED),
        Box::new(Prop3::CORRECTED),
        Box::new(Prop4::default()),
        Box::new(Prop4Limit::default()),
        Box::new(UnequalClusters::PRINTED),
        Box::new(UnequalClusters::CORRECTED),
        Box::new(Theorem31::default()),
        Box::new(Theorem31Finite::default()),
        Box::new(Theorem32::default()),
        Box::new(Theorem32Rate::default()),
        Box::new(LemmaF1::default()),
        Box::new(PropF2::default()),
        Box::new(PropF2Coefficient::default()),
        Box::new(AnyBeta::default()),
        Box::new(OneStep::default()),
        Box::new(OneStepWins::default()),
        Box::new(Valleys::PRINTED),
        Box::new(Valleys::CONVEX),
        Box::new(Minimum::PRINTED),
        Box::new(Minimum::LIMIT),
        Box::new(LinearStep::default()),
        Box::new(PositiveDefinite::PRINTED),
        Box::new(PositiveDefinite::CORRECTED),
        Box::new(Jacobian::default()),
        Box::new(Condition::PRINTED),
        Box::new(Condition::CORRECTED),
        Box::new(JomaTheorem1::LINEAR),
        Box::new(JomaTheorem1::EXP),
        Box::new(JomaTheorem1::SOFTMAX),
        Box::new(JomaTheorem1::SOFTMAX_CORRECTED),
        Box::new(NearOrthogonal::default()),
        Box::new(EpsilonTerms::default()),
        Box::new(Eq17::PRINTED),
        Box::new(Eq17::CORRECTED),
        Box::new(Fig2::CORRELATES),
        Box::new(Fig2::AMPLITUDE),
        Box::new(Fig2::COMPONENTS),
        Box::new(Fig2::COMPONENTS_CORRECTED),
        Box::new(JomaTheorem2::PRINTED),
        Box::new(JomaTheorem2::CORRECTED),
        Box::new(JomaTheorem2::WINNER),
        Box::new(JomaLemma1::PRINTED),
        Box::new(JomaLemma1::CORRECTED),
        Box::new(Marginal::default()),
        Box::new(JomaLemma2::PRINTED),
        Box::new(JomaLemma2::CORRECTED),
        Box::new(JomaLemma3::INTEGRAL),
        Box::new(JomaLemma3::MONOTONE),
        Box::new(JomaLemma3::MONOTONE_CORRECTED),
        Box::new(JomaTheorem3::ZERO),
        Box::new(JomaTheorem3::ZERO_CORRECTED),
        Box::new(JomaTheorem3::EXISTENCE),
        Box::new(JomaTheorem3::RANGE),
        Box::new(JomaTheorem3::RANGE_CORRECTED),
        Box::new(JomaLemma5::PRINTED),
        Box::new(JomaLemma5::CORRECTED),
        Box::new(JomaTheorem3::PRINTED),
        Box::new(JomaTheorem3::CORRECTED),
        Box::new(JomaTheorem3::DEFINITE),
        Box::new(JomaTheorem3::DEFINITE_CORRECTED),
        Box::new(JomaTheorem4::RATIO),
        Box::new(JomaTheorem4::SHARP),
        Box::new(JomaTheorem4::THRESHOLD),
        Box::new(JomaTheorem4::THRESHOLD_CORRECTED),
        Box::new(JomaTheorem4::LEMMA6),
        Box::new(JomaTheorem4::LEMMA7),
        Box::new(JomaTheorem4::TIME),
        Box::new(JomaTheorem4::DERIVATIVE),
        Box::new(JomaTheorem4::REMAINDER),
        Box::new(JomaTheorem4::REMAINDER_SHARP),
        Box::new(JomaTheorem4::REMAINDER_TEXT),
        Box::new(Theorem4Linear::default()),
        Box::new(EntropyRebound::ALWAYS),
        Box::new(EntropyRebound::MOSTLY),
        Box::new(EntropyRebound::LINEAR),
        Box::new(Eq9::default()),
        Box::new(Eq60::default()),
        Box::new(Superposition::PRINTED),
        Box::new(Superposition::CORRECTED),
        Box::new(TreeLaw::LEMMA8),
        Box::new(TreeLaw::LEMMA9),
        Box::new(Cooccurrence::printed()),
        Box::new(Cooccurrence::corrected()),
        Box::new(TreeLaw::LIMIT),
        Box::new(TreeLaw::LIMIT_CORRECTED),
        Box::new(AttentionColumns::default()),
        Box::new(AttentionCost::PRINTED),
        Box::new(AttentionCost::EXACT),
        Box::new(Residual::PRINTED),
        Box::new(Residual::CORRECTED),
        Box::new(PopulationLoss::default()),
        Box::new(Limit::default()),
        Box::new(EmpiricalLimit::default()),
        Box::new(AnyStart::default()),
        Box::new(Plateau::default()),
        Box::new(LocalMinimum::default()),
        Box::new(Invariant::default()),
        Box::new(PlPrinted::default()),
        Box::new(Pl::default()),
        Box::new(RiskFormula::PRINTED),
        Box::new(RiskFormula::CORRECTED),
        Box::new(Rate::IN_M),
        Box::new(Rate::IN_N),
        Box::new(Shift::DERIVED),
        Box::new(QueryShift::default()),
    ]
}

/// The claim with this id.
///
/// # Errors
/// An unknown id, with the nearest known ones.
pub fn find(id: &str) -> Result<Box<dyn Claim>> {
    let all = claims();
    let ids: Vec<_> = all.iter().map(|c| c.card().id).collect();
    let unknown = Error::unknown("claim", id, ids).listed_by("`attnlab list`");
    all.into_iter().find(|c| c.card().id == id).ok_or(unknown)
}
