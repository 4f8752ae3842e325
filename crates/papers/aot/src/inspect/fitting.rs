//! Options that all inspections share, as settings files write them.

use super::{Controls, How};
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::validate_level;
use attnlab_theory::fit::Options;
use serde::{Deserialize, Serialize};

/// Options of the fit, the test and the horizon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitting {
    /// K, or 0: found by BIC.
    pub clusters: usize,
    /// Largest K that is tried.
    pub most_clusters: usize,
    /// Treatment of the scale.
    pub scale: Scale,
    /// Flag: the mean token is subtracted.
    pub centre: bool,
    /// η.
    pub eta: f64,
    /// τ.
    pub tau: f64,
    /// Level of the intervals.
    pub level: f64,
    /// Level of the test.
    pub test_level: f64,
}

/// Treatment of the scale of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The signal has variance 1, as Definition 1 prints it; the test asks for that
    AsGiven,
    /// Any scale; tokens are divided by the fitted one before the horizon
    Fitted,
}

impl Fitting {
    /// Refuses values out of range.
    ///
    /// # Errors
    /// Names the option, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        self.how(Controls::None).validate()?;
        validate_level(self.level)?;
        let level = self.test_level;
        if !(level > 0.0 && level < 1.0) {
            let allowed = "must be a number in (0, 1), such as 0.01";
            return Err(Error::invalid("test_level", level, allowed));
        }
        match self.most_clusters {
            0 => Err(Error::invalid("most_clusters", 0, "must be a whole number >= 1")),
            _ => Ok(()),
        }
    }

    /// Returns the largest K that is tried.
    pub fn clusters_tried(&self) -> usize {
        self.clusters.max(self.most_clusters)
    }

    /// Returns an inspection with these options, without known bases.
    pub fn how(&self, controls: Controls) -> How {
        How {
            eta: self.eta,
            tau: self.tau,
            options: Options {
                clusters: (self.clusters > 0).then_some(self.clusters),
                most_clusters: self.clusters_tried(),
                level: self.level,
                alpha: self.test_level,
                unit_scale: self.scale == Scale::AsGiven,
                centre: self.centre,
            },
            rescale: self.scale == Scale::Fitted,
            controls,
            known: None,
        }
    }
}
