//! The claims of this room, one file per statement or family of statements.

mod capacity;
mod energy;
mod retrieval;
mod threshold;
mod weight;

use attnlab_lab::claim::Claim;
use std::sync::Arc;

/// Returns all claims, paper by paper.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(energy::Descent::default()),
        Arc::new(capacity::Stored::PRINTED),
        Arc::new(capacity::Stored::BOUNDED),
        Arc::new(retrieval::Retrieval::ONE_UPDATE),
        Arc::new(retrieval::Retrieval::ERROR),
        Arc::new(retrieval::Retrieval::FIXED_POINT),
        Arc::new(weight::Weight::default()),
        Arc::new(threshold::Threshold::default()),
    ]
}
