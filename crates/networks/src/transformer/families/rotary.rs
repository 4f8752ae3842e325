//! Rotary positions as config.json has them, in the form of transformers 5 (`rope_parameters`) or before.

use super::super::architecture::{PositionEncoding, RotaryPairs, RotaryScaling};
use super::super::settings::Settings;
use attnlab_core::error::Result;

/// Base of the frequencies where the settings have none.
const BASE: f64 = 10_000.0;

/// Reads base, share of turned coordinates and scaling. `base` and `share` are the family's names for them outside
/// `rope_parameters`, the second with its default; without it all coordinates are turned.
pub(super) fn from_json(
    s: &mut Settings,
    base: &str,
    share: Option<(&str, f64)>,
    head_dim: usize,
) -> Result<PositionEncoding> {
    let mut theta = s.number_or(base, BASE)?;
    let mut part = share.map_or(Ok(1.0), |(name, default)| s.number_or(name, default))?;
    let mut scaling = RotaryScaling::None;
    for name in ["rope_parameters", "rope_scaling"] {
        let Some(mut inner) = s.nested(name)? else { continue };
        let key = |key: &str| format!("{name}.{key}");
        theta = inner.number_or(&key("rope_theta"), theta)?;
        part = inner.number_or(&key("partial_rotary_factor"), part)?;
        let old = inner.text(&key("type"))?.map(|kind| (kind, "type"));
        let kind = inner.text(&key("rope_type"))?.map(|kind| (kind, "rope_type")).or(old);
        scaling = match kind.as_ref().map(|(kind, of)| (kind.as_str(), *of)) {
            None | Some(("default", _)) => RotaryScaling::None,
            Some(("linear", _)) => RotaryScaling::Linear { factor: inner.number_or(&key("factor"), 1.0)? },
            Some(("llama3", _)) => RotaryScaling::Llama3 {
                factor: inner.number_or(&key("factor"), 8.0)?,
                low: inner.number_or(&key("low_freq_factor"), 1.0)?,
                high: inner.number_or(&key("high_freq_factor"), 4.0)?,
                original_context: inner.whole_or(&key("original_max_position_embeddings"), 8192)? as f64,
            },
            Some((_, of)) => {
                return Err(inner.refuse(&key(of), "must be one of default, linear, llama3; others are not supported"));
            }
        };
        inner.finish("")?;
    }
    s.require(part <= 1.0, share.map_or("partial_rotary_factor", |(name, _)| name), "must be at most 1")?;
    Ok(PositionEncoding::Rotary {
        // As transformers rounds.
        turned: (head_dim as f64 * part) as usize,
        base: theta,
        pairs: RotaryPairs::Halves,
        scaling,
    })
}
