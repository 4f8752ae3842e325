//! What is drawn: the data models of the papers, each a pure function of parameters and streams.

pub mod denoising;
pub mod in_context;
pub mod markov;
pub mod mixture;
pub mod rare_event;
pub mod regression;
pub mod tokens;
pub mod tree;

pub use in_context::{Functions, InContext, Regression, Shift};
pub use mixture::{Bases, Draw, Mixture};
pub use rare_event::RareBreaks;
pub use regression::{Prompt, Prompts, Task};
pub use tokens::ClassTokens;
pub use tree::TreeDraw;
