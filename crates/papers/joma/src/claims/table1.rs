//! Table 1: does training align the hidden units of a block with the latents of its layer?
//!
//! The table shows levels without a chance level. What can be judged is what training adds to the same network before
//! it, paired by seed, and what it adds to the score of the same latents permuted over the classes: here at the sizes of
//! the quick [experiment](crate::experiments::table1).

use super::setting::*;
use crate::experiments::table1::Table1;
use crate::network::Records;

/// Change by training of the score of the latents of a layer.
#[derive(Serialize, Deserialize)]
pub struct Gain {
    adds: Adds,
    /// Least mean.
    least: f64,
    /// Share of the gain that permuted latents are to stay below.
    share: f64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Adds {
    /// The score of layer 1 after training, less that before.
    Level,
    /// Half of that gain, less the gain of the same latents permuted over the classes; both in Fisher's z.
    Excess,
}

impl Gain {
    /// A gain of layer 1.
    pub const LEVEL: Self = Self::genuine(Adds::Level);
    /// A gain of layer 1 of which permuted latents have less than half.
    pub const EXCESS: Self = Self::genuine(Adds::Excess);

    const fn genuine(adds: Adds) -> Self {
        Gain { adds, least: 0.0, share: 0.5 }
    }

    /// The authors' generator and network, narrower.
    fn experiment(children: usize) -> Table1 {
        Table1 {
            seeds: 2,
            classes: vec![20],
            children: vec![children],
            latents: vec![[10, 20]],
            rates: vec![RATE],
            vocabulary: 100,
            length: 30,
            width: WIDTH,
            hidden: 400,
            blocks: 3,
            batch: 128,
            decay: 1e-4,
            records: Records::every(STEPS, STEPS),
            draws: 10,
            few: 50,
        }
    }
}

/// Steps after which the task is learnt, at [`RATE`].
const STEPS: u64 = 100;
/// Learning rate of the script that makes the table.
const RATE: f64 = 1e-4;
/// Width of the network; the paper's 1024 takes half a minute per training.
const WIDTH: usize = 128;

impl Claim for Gain {
    from_sheet!(
        self,
        match self.adds {
            Adds::Level => sheet!("joma.table1_gain"),
            Adds::Excess => sheet!("joma.table1_excess"),
        }
    );

    fn schema(&self) -> Schema {
        vec![CHILDREN.within(Domain::Whole(2, 3)).or(2)]
    }

    fn promise(&self, _params: &Params) -> Promise {
        // No upper end.
        Promise::MeanIn(self.least, f64::INFINITY)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // A second or two each. The comparison of two gains scatters more than one gain: its mean is one standard
        // deviation below 0, and that of the mutant four fifths of one.
        match self.adds {
            Adds::Level => 8,
            Adds::Excess => 20,
        }
    }

    fn seconds(&self, _params: &Params) -> f64 {
        // Measured: a training.
        1.7
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let children = params.get(CHILDREN);
        let sizes = [(CLASSES, 20), (CHILDREN, children), (LATENTS_0, 10), (LATENTS_1, 20)];
        let sizes = sizes.map(|(size, number)| size.is(number)).into_iter();
        let cell = Params::from_iter(sizes.chain([LEARNING_RATE.is(RATE)]));
        let data = Self::experiment(children).trial(&cell, streams)?;
        let ends = |name: &str| {
            let series = data.get(name).and_then(|s| s.as_array());
            let entry = |i: usize| series.and_then(|s| s.get(i)).and_then(|x| x.as_f64());
            [entry(0).unwrap_or(f64::NAN), entry(1).unwrap_or(f64::NAN)]
        };
        let (score, permuted) = (ends("corr_1_1"), ends("permuted_1"));
        // On Fisher's scale a correlation has as much room above as below, wherever it starts.
        let z = |scores: [f64; 2]| scores[1].atanh() - scores[0].atanh();
        let value = match self.adds {
            Adds::Level => score[1] - score[0],
            Adds::Excess => self.share * z(score) - z(permuted),
        };
        Ok(Outcome::Value {
            value,
            witness: witness! {
                "untrained" => score[0], "trained" => score[1],
                "permuted_untrained" => permuted[0], "permuted_trained" => permuted[1],
                "noise_units" => data.get("noise_1"), "loss" => ends("loss")[1],
            },
        })
    }
}
