//! Options that all inspections share, as settings files write them.

use super::{Controls, How, PowerOptions};
use attnlab_lab::prelude::*;
use attnlab_theory::fit::Options;
use attnlab_theory::fit::power::Plan;

attnlab_lab::settings! {
    /// Options of the fit, the test and the horizon.
    pub struct Fitting {
        pub clusters: usize,
        pub most_clusters: usize = whole(1..),
        pub scale: Scale,
        pub centre: bool,
        pub eta: f64 = positive,
        pub tau: f64 = within("(0, 1]"),
        pub level: f64 = within("(0, 1)"),
        pub test_level: f64 = within("(0, 1)"),
        pub power_draws: u64,
    }
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
    /// Returns the largest K that is tried.
    pub fn clusters_tried(&self) -> usize {
        self.clusters.max(self.most_clusters)
    }

    /// Refuses numbers of draws that show nothing.
    ///
    /// # Errors
    /// `power_draws` above 0 but too few to show a power of one half.
    pub fn validate(&self) -> Result<()> {
        match self.power_draws {
            0 => Ok(()),
            draws => Plan { draws, at_once: 1 }.validate(self.level),
        }
    }

    /// Returns an inspection with these options, without known bases.
    pub fn how(&self, controls: Controls) -> How {
        How {
            eta: self.eta,
            tau: self.tau,
            options: Options {
                clusters: (self.clusters > 0).then_some(self.clusters),
                most_clusters: self.clusters_tried(),
                further: None,
                level: self.level,
                alpha: self.test_level,
                unit_scale: self.scale == Scale::AsGiven,
                centre: self.centre,
                roundoff: 0.0,
            },
            rescale: self.scale == Scale::Fitted,
            controls,
            power: PowerOptions { draws: self.power_draws, network: None },
            known: None,
        }
    }
}
