//! Fig. 2: does the invariant predict the logits of trained softmax attention?
//!
//! The criterion, stated beforehand: "high correlation" is a centred correlation of at least [`HIGH`]
//! after [`STEPS`] steps, in the settings of the authors' code.

use crate::dynamics::{Attention, Backpropagated, Prediction, Training};
use crate::quantities::INPUTS;
use crate::theory::Activation;
use crate::tokens::ClassTokens;
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Watch, descend};

/// A statement of Fig. 2's caption on trained layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fig2 {
    /// The claim whose sheet it bears: for a mutant, the one that it belongs to.
    claim: Says,
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// ẑ correlates.
    Correlates,
    /// The mutant: with the sign of ẑ_1 turned.
    Turned,
    /// ẑ_1 and ẑ_2 alone do not.
    Components,
    /// ẑ_1 does too, ẑ_2 does not.
    ComponentsCorrected,
    /// The mutant: ẑ_2 alone does.
    NormAlone,
    /// ẑ predicts z itself: within a factor of two.
    Amplitude,
}

impl Fig2 {
    const fn genuine(says: Says) -> Self {
        Fig2 { claim: says, says }
    }
    /// High correlation of ẑ with z.
    pub const CORRELATES: Self = Self::genuine(Says::Correlates);
    /// No high correlation of either component of ẑ.
    pub const COMPONENTS: Self = Self::genuine(Says::Components);
    /// High correlation of the first component alone.
    pub const COMPONENTS_CORRECTED: Self = Self::genuine(Says::ComponentsCorrected);
    /// Prediction of z by ẑ within a factor of two.
    pub const AMPLITUDE: Self = Self::genuine(Says::Amplitude);
}

/// Least correlation that counts as high: less than a fifth of the variance is left, as 1 - .9² = .19.
const HIGH: f64 = 0.9;
/// Steps, step size, temperature and initial scale (standard deviation) of the authors' code.
const STEPS: f64 = 2000.0;
const ETA: f64 = 0.1;
const TEMPERATURE: f64 = 0.5;
const SCALE: f64 = 0.01;

impl Claim for Fig2 {
    fn sheet(&self) -> &'static Sheet {
        match self.claim {
            Says::Amplitude => sheet!("joma.fig2_amplitude"),
            Says::Components => sheet!("joma.fig2_components"),
            Says::ComponentsCorrected => sheet!("joma.fig2_components_corrected"),
            _ => sheet!("joma.fig2"),
        }
    }

    fn schema(&self) -> Schema {
        vec![INPUTS.or("smooth")]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        // On random inputs correlations scatter around the criterion, and some are below.
        match (self.says, params.get(INPUTS)) {
            (Says::Correlates | Says::ComponentsCorrected, "random") => VerdictKind::Refuted,
            _ => self.sheet().expected,
        }
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // Some tenths of a second each; random inputs need several until one is below.
        if params.get(INPUTS) == "random" {
            16
        } else {
            4
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let tokens = ClassTokens::of_figure_2(params.get(INPUTS) == "smooth");
        let k = tokens.classes;
        let training = Training::new(
            Attention::Softmax,
            Activation::LINEAR,
            k,
            tokens.draw(streams)?,
            vec![1.0 / k as f64; k],
            Backpropagated::CrossEntropy((0..k).collect()),
        )?
        .at_temperature(TEMPERATURE)?;
        let size = training.zero().len();
        let start = normal_matrix(1, size, &mut streams.part("weights", 0)) * SCALE;
        let start = start.into_raw_vec_and_offset().0;
        let prediction = Prediction::of_code(&training, &start);
        let path = descend(&training, &start, ETA, &[STEPS * ETA], Watch::default())?;
        let found = prediction.agreement(path.end());
        let (first, norm) = (found.squares, found.norm);
        let holds = match self.says {
            Says::Correlates => found.whole >= HIGH,
            Says::Turned => -found.whole >= HIGH,
            Says::Components => first < HIGH && norm < HIGH,
            Says::ComponentsCorrected => first >= HIGH && norm < HIGH,
            Says::NormAlone => norm >= HIGH,
            Says::Amplitude => found.amplitude <= 1.0,
        };
        Ok(Outcome::Event {
            holds,
            witness: witness! {
                "correlation" => found.whole, "of_squares" => first, "of_norm" => norm,
                "relative_distance" => found.amplitude,
            },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant =
            |name, says, drawn| vec![Mutant::new(name, Fig2 { says, ..*self }).drawn_as(drawn)];
        match self.claim {
            Says::Correlates | Says::Amplitude => variant("turned", Says::Turned, "joma.fig2"),
            _ => variant(
                "norm-alone",
                Says::NormAlone,
                "joma.fig2_components_corrected",
            ),
        }
    }
}
