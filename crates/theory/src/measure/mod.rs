//! Measures of tokens, with unit and shape.

mod entropy;
pub mod horizon;
pub mod snr;
pub mod tokens;
mod weights;

pub use entropy::softmax_entropy;
pub use horizon::{
    horizon_of_mixture, horizon_of_mixture_on, horizon_ticks, horizon_ticks_on, sampled_columns, weight_in_draw,
};
pub use snr::{snr, snr_of_heads};
pub use tokens::{coding_rate, labelled_snr, nearest_subspace, stable_rank, unit_tokens};
pub use weights::{Spectrum, spectrum};
