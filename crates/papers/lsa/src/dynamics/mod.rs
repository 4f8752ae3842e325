//! Gradient flows of [linear self-attention](crate::theory): on its population loss, in all
//! weights ([`Full`]) and in the few that matter where v = c = 0 ([`Reduced`]), and on the empirical
//! loss over B prompts ([`Empirical`]); and of softmax attention on the same prompts ([`SoftmaxLoss`]).

mod empirical;
mod population;
mod softmax;

pub use empirical::Empirical;
pub use population::{Arrival, Full, Reduced, arrival, from_scale};
pub use softmax::SoftmaxLoss;
