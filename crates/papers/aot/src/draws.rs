//! Draws of Definition 1 by their options or by the trial of a claim: those of `attnlab sample`.
//!
//! ```
//! use attnlab_aot::draws::{DrawOptions, Planned};
//! let options = DrawOptions { tokens: 60, dim: 5, ..DrawOptions::default() };
//! let draw = Planned::of_options(&options, 0)?.draw()?;
//! assert_eq!(draw.tokens.dim(), (10, 60));
//! # Ok::<(), attnlab_core::Error>(())
//! ```

use crate::claims;
use crate::claims::setting::mixture;
use crate::quantities::SAMPLED_COLUMNS;
use crate::theory::printed::delta_limit;
use attnlab_lab::command::input;
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::cell_name;
use attnlab_theory::sample::{Bases, Draw, Mixture};
use serde_json::json;
use std::sync::Arc;

/// Relative position of the bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BasisRelation {
    /// All of them together: Theorem 1's (7)
    Orthonormal,
    /// Drawn independently of each other
    Independent,
    /// All principal cosines of two of them are --coherence
    Coherent,
}

/// Options of a draw.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq)]
pub struct DrawOptions {
    /// N, a multiple of K
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    pub tokens: u64,
    /// K
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = input::positive, allow_negative_numbers = true)]
    pub clusters: u64,
    /// p, dimension of each subspace
    #[arg(long, value_name = "P", default_value_t = 100, value_parser = input::positive, allow_negative_numbers = true)]
    pub dim: u64,
    /// d, dimension of the tokens [default: K p, and (K + 1) p for coherent bases]
    #[arg(long, value_name = "D", value_parser = input::positive, allow_negative_numbers = true)]
    pub ambient: Option<u64>,
    /// Noise level [default: sqrt(log N / p) / 8, the upper end of (11)]
    #[arg(long, value_parser = input::number, allow_negative_numbers = true)]
    pub delta: Option<f64>,
    /// Relative position of the bases
    #[arg(long, default_value = "orthonormal")]
    pub relation: BasisRelation,
    /// c of U_k'U_l = c I, for coherent bases
    #[arg(long, value_name = "C", value_parser = input::number, allow_negative_numbers = true)]
    pub coherence: Option<f64>,
}

impl Default for DrawOptions {
    /// Returns the defaults of `attnlab sample`.
    fn default() -> Self {
        let (ambient, delta, coherence) = (None, None, None);
        let relation = BasisRelation::Orthonormal;
        DrawOptions { tokens: 2000, clusters: 2, dim: 100, ambient, delta, relation, coherence }
    }
}

/// A mixture to draw, with its streams.
#[derive(Clone, Debug)]
pub struct Planned {
    mixture: Mixture,
    streams: Streams,
    /// Entries of draw.json.
    origin: Value,
}

impl Planned {
    /// Plans the draw of these options: that of `attnlab horizon` under the same seed.
    ///
    /// # Errors
    /// Options out of range, or that do not fit together.
    pub fn of_options(options: &DrawOptions, seed: u64) -> Result<Self> {
        let (n, k, p) = (options.tokens as usize, options.clusters as usize, options.dim as usize);
        let limit = || delta_limit(options.tokens as f64, options.dim as f64);
        let mut mixture = Mixture::balanced(n, k, p, options.delta.unwrap_or_else(limit))?;
        mixture.bases = match (options.relation, options.coherence) {
            (BasisRelation::Orthonormal, None) => Bases::Orthonormal,
            (BasisRelation::Independent, None) => Bases::Independent,
            (BasisRelation::Coherent, Some(c)) if (0.0..1.0).contains(&c) => Bases::Coherent(c),
            (BasisRelation::Coherent, Some(c)) => {
                return Err(Error::invalid("coherence", c, "must be a number in [0, 1)"));
            }
            (BasisRelation::Coherent, None) => {
                return Err(Error::invalid("relation", "coherent", "must come with a coherence. Write --coherence C"));
            }
            (_, Some(c)) => {
                return Err(Error::invalid("coherence", c, "must come with --relation coherent"));
            }
        };
        if options.relation == BasisRelation::Coherent {
            mixture.ambient = mixture.ambient.saturating_add(p);
        }
        mixture.ambient = options.ambient.map_or(mixture.ambient, |d| d as usize);
        // The streams of `attnlab horizon`.
        Ok(Planned { mixture, streams: Streams::new(seed, "aot.horizon", 0, 0), origin: json!({ "seed": seed }) })
    }

    /// Plans the draw of a trial of a claim, at the parameters that the user `set`. Its trials must draw all
    /// coefficients of a mixture.
    ///
    /// # Errors
    /// Another claim; parameters that the claim refuses.
    pub fn of_claim(id: &str, set: &Map<String, Value>, seed: u64, trial: u64) -> Result<Self> {
        let claim = drawing_claim(id)?;
        let params = Params::resolve(&claim.schema(), set)?;
        claim.validate(&params)?;
        let columns = params.get(SAMPLED_COLUMNS);
        let allowed = "must be 0; a trial that looks at some columns draws only what they need";
        require(columns == 0, "columns", columns, allowed)?;
        Ok(Planned {
            mixture: mixture(&params)?,
            streams: Streams::new(seed, id, params.cell(), trial),
            origin: json!({
                "seed": seed, "claim": id, "trial": trial, "cell": cell_name(params.cell()),
                "parameters": params.as_json(),
            }),
        })
    }

    /// Returns K.
    pub fn clusters(&self) -> usize {
        self.mixture.clusters()
    }

    /// Refuses a mixture that cannot be drawn, or whose draw does not fit into memory.
    ///
    /// # Errors
    /// As [`Mixture::validate`]; too little memory.
    pub fn validate(&self) -> Result<()> {
        self.mixture.validate()?;
        let (d, n) = (self.mixture.ambient as u64, self.mixture.tokens() as u64);
        // Tokens, one head, the copy in C order; the bases and their QR factor.
        memory::ensure("the draw", memory::total(&[&[8, 3, d, n], &[8, 4, d, d]]))
    }

    /// Draws tokens, bases and labels.
    ///
    /// # Errors
    /// As [`Planned::validate`] and [`Mixture::draw`].
    pub fn draw(&self) -> Result<Draw> {
        self.validate()?;
        self.mixture.draw(&self.streams)
    }

    /// Returns the object of draw.json: the mixture, seeds and parameters.
    pub fn describe(&self) -> Value {
        let mixture = &self.mixture;
        let mut text = json!({
            "counts": mixture.counts, "dims": mixture.dims, "ambient": mixture.ambient,
            "delta": mixture.delta, "relation": match mixture.bases {
                Bases::Orthonormal => json!("orthonormal"),
                Bases::Independent => json!("independent"),
                Bases::Coherent(c) => json!({ "coherent": c }),
            },
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let (Value::Object(text), Value::Object(origin)) = (&mut text, &self.origin) {
            text.extend(origin.clone());
        }
        text
    }
}

/// Returns the claim of this id, if its trials draw all coefficients of a mixture.
pub(crate) fn drawing_claim(id: &str) -> Result<Arc<dyn Claim>> {
    const DRAWING: [&str; 2] = ["aot.theorem1", "aot.theorem1_bounded"];
    let claim = claims::all().into_iter().find(|c| c.sheet().id == id && DRAWING.contains(&id));
    claim.ok_or_else(|| {
        Error::invalid("claim", id, format!("must be {}, whose trials draw tokens", DRAWING.join(" or ")))
    })
}
