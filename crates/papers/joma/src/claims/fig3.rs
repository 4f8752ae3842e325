//! Fig. 3: after convergence one of the first components of v_0 grows on, and the others rest.
//!
//! The criterion: over the 1000 steps after the one at which it is judged, the largest component grows by at least a
//! twentieth, and each of the others changes by less than a hundredth of it.

use super::setting::*;
use crate::tokens::ClassTokens;
use attnlab_theory::dynamics::flow::descend;

/// The caption of Fig. 3 on runs with smooth inputs.
#[derive(Serialize, Deserialize)]
pub struct Fig3 {
    /// Largest change of the other components over 1000 steps that counts as none, relative to the largest.
    most: f64,
    /// The step at which it is judged, in place of the parameter; a mutant's is before convergence.
    step: Option<usize>,
    /// Flag of a mutant: the second largest is to grow too.
    two_grow: bool,
}

impl Fig3 {
    /// The caption as printed.
    pub const PRINTED: Self = Fig3 { most: REST, step: None, two_grow: false };
}

/// Largest change over 1000 steps of a component at rest, relative to the largest: less than a line's width in the figure.
const REST: f64 = 0.01;
/// Least relative growth of the largest component over 1000 steps.
const GROWS: f64 = 0.05;
/// Share of the runs that the caption is taken to speak of.
const MOST: f64 = 0.5;
/// Steps between the two looks.
const BETWEEN: usize = 1000;
/// Components that are drawn.
const DRAWN: usize = 4;
/// The steps at which it is judged: the end of the authors' run, and a late one.
const FIGURE: usize = 2000;
const LATE: usize = 6000;

impl Claim for Fig3 {
    // Some tenths of a second each; the interval of 8 of 9 is above one half.
    from_sheet!("joma.fig3", trials = 9);

    fn schema(&self) -> Schema {
        vec![SETTING.or("code"), JUDGED_AT.or("figure")]
    }

    /// At the printed temperature 1 the second and third component still grow at step 2000.
    fn expected(&self, params: &Params) -> VerdictKind {
        let early = params.get(SETTING) == "text" && params.get(JUDGED_AT) == "figure";
        if early { VerdictKind::Refuted } else { self.sheet().expected }
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::AtLeast(MOST)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = ClassTokens::of_figure_2(true).layer(figure_temperature(params), streams)?;
        let start = training.normal_start(FIGURE_SCALE, streams);
        let step = self.step.unwrap_or(if params.get(JUDGED_AT) == "late" { LATE } else { FIGURE });
        let times = [step, step + BETWEEN].map(|step| step as f64 * FIGURE_ETA);
        let path = descend(&training, &start, FIGURE_ETA, &times, Watch::default())?;
        let look = |state: &Vec<f64>| {
            let v = training.weights(state);
            (0..DRAWN).map(|l| v[[l, 0]]).collect::<Vec<f64>>()
        };
        let looks: Vec<Vec<f64>> = path.states.iter().map(look).collect();
        let mut by_size: Vec<usize> = (0..DRAWN).collect();
        by_size.sort_by(|l, m| looks[1][*m].total_cmp(&looks[1][*l]));
        let change = |l: usize| (looks[1][l] - looks[0][l]) / looks[0][by_size[0]];
        let changes: Vec<f64> = (0..DRAWN).map(change).collect();
        let (grow, rest) = by_size.split_at(if self.two_grow { 2 } else { 1 });
        let holds = grow.iter().all(|l| changes[*l] >= GROWS) && rest.iter().all(|l| changes[*l].abs() < self.most);
        let witness = witness! {
            "step" => step, "components" => looks[0], "1000_steps_later" => looks[1], "changes" => changes,
        };
        Ok(Outcome::Event { holds, witness })
    }
}
