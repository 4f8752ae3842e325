//! attnlab in a browser: one function, from a request in JSON to an answer in JSON.
//!
//! - [`check`]: verdicts on claims, as `attnlab check --json` prints them;
//! - [`horizon`]: the depth of Theorem 1 of the attention-only transformers, as a law and on one draw;
//! - [`landscape`]: the energy of which one attention layer is a gradient step;
//! - `host`: the functions that the page calls, in WebAssembly only.
//!
//! The page (`index.html` and its scripts) computes nothing but positions on the screen.
//!
//! ```
//! use attnlab_lab::run::Silent;
//! use serde_json::{Value, json};
//! let request = json!({"do": "eval", "id": "aot.min_tokens", "set": {"clusters": 2}});
//! let answer: Value = serde_json::from_str(&attnlab_page::answer(&request.to_string(), &Silent))?;
//! assert_eq!(answer["value"]["value"], 177_515);
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod check;
pub mod horizon;
#[cfg(target_family = "wasm")]
mod host;
pub mod landscape;

use attnlab_core::error::{Error, Result};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::run::Progress;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::OnceLock;

/// A request of the page.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Request {
    /// Rooms with their claims.
    Catalogue,
    /// Card of a claim, experiment or closed form.
    Show { id: String },
    /// Value of a closed form.
    Eval { id: String, set: Map<String, Value> },
    /// Verdict on a claim.
    Check(check::Request),
    /// Law of the horizon.
    Law(horizon::Setting),
    /// Horizon of one draw, beside the law.
    Horizon(horizon::Setting),
    /// SNR at every layer of the same draw.
    Layers(horizon::Depth),
    /// Attention of one head of the same draw.
    Attention(horizon::Place),
    /// Energy of a context.
    Landscape(landscape::Setting),
    /// Descent from a query.
    Descent(landscape::Query),
}

/// Answers a request: `{"value": ..}`, or `{"error": message}` where the library refuses it.
pub fn answer(request: &str, progress: &dyn Progress) -> String {
    let parsed = serde_json::from_str(request);
    let parsed = parsed.map_err(|e| Error::invalid("request", request, format!("must be a request of the page ({e})")));
    let answer = match parsed.and_then(|request| value(request, progress)) {
        Ok(value) => json!({ "value": value }),
        Err(e) => json!({ "error": e.to_string() }),
    };
    answer.to_string()
}

fn value(request: Request, progress: &dyn Progress) -> Result<Value> {
    match request {
        Request::Catalogue => check::rooms(catalogue()),
        Request::Show { id } => check::shown(catalogue(), &id),
        Request::Eval { id, set } => written(&catalogue().formula(&id)?.evaluate(&set)?),
        Request::Check(request) => written(&request.verdict(catalogue(), progress)?),
        Request::Law(setting) => written(&setting.law()?),
        Request::Horizon(setting) => written(&setting.horizon(progress)?),
        Request::Layers(depth) => written(&depth.snr()?),
        Request::Attention(place) => written(&place.attention()?),
        Request::Landscape(setting) => written(&setting.landscape()?),
        Request::Descent(query) => written(&query.descent()?),
    }
}

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        attnlab::state_build();
        attnlab::catalogue()
    })
}

/// Writes a value as JSON; numbers that are not finite become null.
fn written(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|e| Error::unwritable("an answer (JSON)", e))
}
