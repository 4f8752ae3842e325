//! The names that a file with a claim or an experiment needs: `use attnlab_lab::prelude::*;`.

pub use crate::claim::{
    ArraySpec, Arrays, Bracket, Claim, Computed, Hypothesis, Judgement, Mutant, Outcome, Paper, Promise, Relation,
    Sheet, Source, Verdict, VerdictKind, Witness, variants,
};
pub use crate::experiment::{Described, Experiment, Identity, Shared};
pub use crate::figure::Figure;
pub use crate::run::{Row, TrialContext, memory, store};
pub use crate::{from_sheet, settings, sheet, witness};
pub use attnlab_core::error::{Error, Result, positive, require, require_shape};
pub use attnlab_core::params::{Domain, Params, Quantity, Schema, Spec, Word};
pub use attnlab_core::rng::Streams;
pub use itertools::iproduct;
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Map, Value};
