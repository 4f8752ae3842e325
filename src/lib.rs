//! attnlab checks the mathematics of attention by simulation: is a theorem, a lemma or a figure about
//! transformers true as printed, for which parameters, and where does it stop holding?
//!
//! # The story, in the order in which data flow
//!
//! 1. [`rng`]: a trial is a pure function of (seed, claim, parameters, trial index). Its random
//!    streams are made here and nowhere else.
//! 2. [`sample`]: what is drawn, such as the [mixture of noisy low-rank Gaussians](sample::Mixture)
//!    of AoT Definition 1. Tokens are columns, (d, N).
//! 3. [`attention`]: the operators. The [plain definitions](attention::Mssa::apply) in f64 follow the
//!    papers term by term; the [streaming](attention::streaming) fast path is tested against them.
//! 4. [`measure`]: named quantities, such as the [signal-to-noise ratio](measure::snr()) of Eq. (6).
//! 5. [`theory`]: closed forms, without randomness, such as the [law of the depth
//!    horizon](theory::horizon); `attnlab eval` prints them.
//!    [`dynamics`] follows the gradient flows that the theorems are about.
//! 6. [`stats`]: exact intervals. An [`Estimate`](stats::Estimate) is point, interval and level.
//! 7. [`claim`]: one printed result each, with its hypotheses, a trial, and mutants: false variants
//!    that must come back refuted. Outcomes become a [verdict](claim::verdict): supported, refuted
//!    with a witness, inconclusive, out of scope or vacuous. Never "verified".
//! 8. [`run`]: checks, grids and rows; [`experiment`]: what a figure is drawn from; [`sweep`]: a claim
//!    or an experiment over axes; [`figure`]: draws from stored rows only; [`cli`]: the command.
//!
//! # A claim, from end to end
//!
//! ```
//! use attnlab::{claim::{registry, VerdictKind}, run::{check, CheckOptions, Silent}};
//! use serde_json::json;
//!
//! let claim = registry::find("aot.theorem1")?;
//! let set = json!({"tokens": 400, "dim": 80, "layers": 12}).as_object().unwrap().clone();
//! // The theorem's hypotheses ask for far more tokens, so it says nothing here ...
//! let options = CheckOptions { trials: Some(6), ..CheckOptions::default() };
//! let report = check(&*claim, &set, &options, &Silent)?;
//! assert_eq!(report.verdict, VerdictKind::OutOfScope);
//! // ... but what it would say does not hold: the rate ends, in this layer, through that column.
//! let options = CheckOptions { beyond_hypotheses: true, ..options };
//! let report = check(&*claim, &set, &options, &Silent)?;
//! assert_eq!(report.verdict, VerdictKind::Refuted);
//! assert!(report.witness["weight"].as_f64() > Some(0.55));
//! # Ok::<(), attnlab::Error>(())
//! ```
//!
//! # Where things are
//!
//! | I want to ... | go to |
//! |---|---|
//! | see every claim | [`claim::registry::claims`], `attnlab list`, `docs/claims/` |
//! | add a claim | a file in `src/claim/`, a line in [`claim::registry`] |
//! | add a closed form | a file in `src/theory/`, a line in [`theory::formulas`] |
//! | add a nonlinearity | a variant of [`attention::Phi`] and its rule in the streaming path |
//! | add a figure | a file in `src/experiment/`, a line in [`experiment::registry`] |

pub mod attention;
pub mod baseline;
pub mod claim;
pub mod cli;
pub mod dynamics;
pub mod error;
pub mod experiment;
pub mod figure;
pub mod format;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod linalg;
pub mod measure;
#[cfg(feature = "train")]
pub mod model;
pub mod params;
pub mod report;
pub mod rng;
pub mod run;
pub mod sample;
pub mod special;
pub mod stats;
pub mod sweep;
pub mod theory;
#[cfg(feature = "train")]
pub mod train;

pub use error::{Error, Result};
