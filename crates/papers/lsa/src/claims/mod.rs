//! The claims of this room, one file per statement or family of statements.

mod empirical;
mod invariant;
mod limit;
mod local_minimum;
mod notes_attention;
mod notes_recipe;
mod pl;
mod population_loss;
mod query_shift;
mod risk;
pub mod setting;
mod starts;

use attnlab_lab::claim::Claim;
use std::sync::Arc;

/// All claims, in the order in which the papers print them.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(notes_attention::AttentionColumns::default()),
        Arc::new(notes_attention::AttentionCost::PRINTED),
        Arc::new(notes_attention::AttentionCost::EXACT),
        Arc::new(notes_recipe::Residual::PRINTED),
        Arc::new(notes_recipe::Residual::CORRECTED),
        Arc::new(population_loss::PopulationLoss::default()),
        Arc::new(limit::Limit::PRINTED),
        Arc::new(empirical::EmpiricalLimit::DERIVED),
        Arc::new(starts::AnyStart::default()),
        Arc::new(starts::Plateau::default()),
        Arc::new(local_minimum::LocalMinimum::default()),
        Arc::new(invariant::Invariant::default()),
        Arc::new(pl::Pl::PRINTED),
        Arc::new(pl::Pl::DERIVED),
        Arc::new(risk::RiskFormula::PRINTED),
        Arc::new(risk::RiskFormula::CORRECTED),
        Arc::new(risk::Rate::IN_M),
        Arc::new(risk::Rate::IN_N),
        Arc::new(risk::RiskFormula::SHIFT),
        Arc::new(query_shift::QueryShift::default()),
    ]
}
