//! Size of an experiment's run in words, for the line under its figures.

use crate::experiment::{Entry, Experiment};
use crate::figure::Figure;
use attnlab_core::error::Result;
use serde_json::Value;

/// Returns the settings that differ from the defaults or, if `quick`, from the quick sizes.
///
/// # Errors
/// When the defaults of the experiment are refused.
pub(super) fn changed(entry: &Entry, experiment: &dyn Experiment, quick: bool) -> Result<Vec<(String, Value)>> {
    let base = entry.configure(quick, None, &toml::Table::new())?.settings();
    let differs = |(name, value): &(String, Value)| base.get(name) != Some(value);
    Ok(experiment.settings().into_iter().filter(differs).collect())
}

/// Adds the size of the run to figures: "full size", "quick size" or the nearer of the two with the number of
/// settings that differ from it, then [`Experiment::size`].
///
/// # Errors
/// When the defaults of the experiment are refused.
pub fn with_size(figures: Vec<Figure>, entry: &Entry, experiment: &dyn Experiment) -> Result<Vec<Figure>> {
    let (full, quick) = (changed(entry, experiment, false)?.len(), changed(entry, experiment, true)?.len());
    let words = format!("{}: {}", size(full, quick), experiment.size());
    Ok(figures.into_iter().map(|f| f.noted(&words)).collect())
}

/// Names a size by the numbers of settings that differ from the full and from the quick ones.
fn size(full: usize, quick: usize) -> String {
    let (name, changed) = if full <= quick { ("full size", full) } else { ("quick size", quick) };
    match changed {
        0 => name.to_string(),
        1 => format!("{name} but for one setting"),
        n => format!("{name} but for {n} settings"),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_named_by_the_nearer_settings() {
        assert_eq!(size(0, 4), "full size");
        assert_eq!(size(4, 0), "quick size");
        assert_eq!(size(5, 1), "quick size but for one setting");
        assert_eq!(size(2, 5), "full size but for 2 settings");
    }
}
