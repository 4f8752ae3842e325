//! JoMA Fig. 5 and Appendix A: the order in which a query comes to attend to the tokens of a latent tree, against the
//! co-occurrence of Theorem 5.

use crate::PAPERS;
use crate::dynamics::{Attention, Backpropagated, Training};
use crate::quantities::{ASSOCIATION, ASSOCIATIONS, LABEL_OF, LABELS_OF};
use crate::theory::Activation;
use crate::theory::tree::{Parent, Tree};
use crate::tree::TreeDraw;
use attnlab_core::stats::spearman;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Watch, descend};
use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;

mod pictures;

settings! {
    /// Order of association in a trained layer.
    #[experiment("joma.association", rows = "joma_association",
        title = "The order in which attention finds the tokens of a latent tree, against co-occurrence")]
    #[source(&PAPERS[0], "Figure 5, Appendix A")]
    pub struct JomaAssociation {
        pub seeds: u64 = spread,
        pub depth: u32 = whole(2..=8),
        pub rho: f64,
        pub classes: Vec<f64>,
        pub zero: Vec<f64>,
        pub targets: Vec<String> = words("target", &LABELS_OF),
        pub attention: String = word("attention", &["softmax", "exp", "linear"]),
        pub controls: Vec<String> = words_with_first("control", &ASSOCIATIONS),
        pub samples: usize = whole(2..),
        pub scale: f64 = positive,
        pub eta: f64 = positive,
        pub steps: usize,
        pub every: usize = whole(1..),
        pub early: f64 = within("(0, 1]"),
    }
}

/// Draws in a row without the query before the tree is given up.
const MOST_DRAWS: u64 = 100_000;

/// Sequences that hold the query.
struct Sequences {
    /// Presence of the other tokens, 0 or 1: (token, sequence).
    inputs: Array2<f64>,
    labels: Vec<usize>,
}

impl JomaAssociation {
    fn attention(&self) -> Attention {
        match self.attention.as_str() {
            "exp" => Attention::Exp,
            "linear" => Attention::Linear,
            _ => Attention::Softmax,
        }
    }

    fn tree(&self, rho: f64) -> Result<Tree> {
        Tree::regular(self.classes.clone(), self.zero.clone(), rho, self.depth, 2)
    }

    /// Number of tokens besides the query.
    fn others(&self) -> usize {
        (1 << (self.depth - 1)) - 1
    }

    /// Height of the common ancestor of the query, token 0, and the token after it by `other`.
    fn height(other: usize) -> u32 {
        usize::BITS - (other + 1).leading_zeros()
    }

    fn draw(&self, tree: &Tree, target: &str, streams: &Streams) -> Result<Sequences> {
        let leaves = tree.leaves();
        let Parent::Latent { index: parent, .. } = tree.parents()[leaves[0]] else {
            return Err(Error::invalid("depth", self.depth, "must be at least 2"));
        };
        let mut inputs = Array2::zeros((self.others(), self.samples));
        let mut labels = vec![];
        let (mut next, mut missed) = (0, 0);
        while labels.len() < self.samples {
            let draw = TreeDraw::new(tree, &streams.child("tree", next));
            next += 1;
            let on = |i: usize| draw.values[leaves[i]];
            // Softmax attention needs a token to attend to.
            if !on(0) || !(1..leaves.len()).any(on) {
                missed += 1;
                if missed == MOST_DRAWS {
                    let allowed = "must be such that the query is not so rare";
                    return Err(Error::invalid("zero", format!("{:?}", self.zero), allowed));
                }
                continue;
            }
            missed = 0;
            for other in 0..self.others() {
                inputs[[other, labels.len()]] = f64::from(u8::from(on(other + 1)));
            }
            labels.push(if target == "parent" { usize::from(draw.values[parent]) } else { draw.class });
        }
        Ok(Sequences { inputs, labels })
    }

    fn records(&self) -> Vec<f64> {
        (0..=self.steps / self.every).map(|i| (i * self.every) as f64).collect()
    }

    /// Trains a layer on the sequences.
    fn train(&self, drawn: Sequences, target: &str, control: &str, streams: &Streams) -> Result<Course> {
        let classes = if target == "parent" { 2 } else { self.classes.len() };
        let activation = if control == "linear" { Activation::LINEAR } else { Activation::RELU };
        let labels = Backpropagated::CrossEntropy(drawn.labels.clone());
        let layer = Training::uniform(self.attention(), activation, classes, drawn.inputs, labels)?;
        let start = layer.rectified_start(self.scale, streams);
        let mut course =
            Course { logits: vec![vec![]; self.others()], attention: vec![vec![]; self.others()], loss: f64::NAN };
        let mut look = |t: f64, x: &[f64]| {
            if ((t / self.eta).round() as usize).is_multiple_of(self.every) {
                let (z, mean) = (layer.logits(x), layer.mean_scores(x));
                let sum = mean.sum();
                for l in 0..self.others() {
                    course.logits[l].push(z[l]);
                    course.attention[l].push(mean[l] / sum);
                }
            }
        };
        let path = descend(&layer, &start, self.eta, &[self.steps as f64 * self.eta], Watch::steps(&mut look))?;
        course.loss = loss(&layer, path.end(), &drawn.labels);
        Ok(course)
    }
}

impl Experiment for JomaAssociation {
    fn validate(&self) -> Result<()> {
        let sums = (self.classes.iter().sum::<f64>() - 1.0).abs() <= 1e-9;
        require(sums, "classes", format!("{:?}", self.classes), "must be probabilities that sum to 1")?;
        let allowed = format!("must hold one number for each of the {} classes", self.classes.len());
        require(self.zero.len() == self.classes.len(), "zero", format!("{:?}", self.zero), allowed)?;
        let allowed = format!("must be at least twice every = {}", self.every);
        require(self.steps >= 2 * self.every, "steps", self.steps, allowed)?;
        self.tree(self.rho).map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(target, control): (&String, &String)| {
            Params::from_iter([LABEL_OF.is(target.as_str()), ASSOCIATION.is(control.as_str())])
        };
        Ok(iproduct!(&self.targets, &self.controls).map(cell).collect())
    }

    fn memory(&self, _cell: &Params) -> u64 {
        memory::product(&[8, 6, self.others() as u64, self.samples as u64])
            + memory::product(&[8, self.others() as u64, (self.steps / self.every.max(1)) as u64])
    }

    /// By height H = 1, 2, ..: the series "logit_H" and "attention_H", mean logit of the tokens of that height and
    /// their share of the mean attention, at the records; the number "present_H", the share of the sequences, which all
    /// hold the query, that hold such a token: a mean over the tokens. "order", the series of Spearman's correlations over the
    /// tokens of the logit's way since the start with −H; "together", of that way with the co-occurrence in the
    /// drawn sequences; not numbers at the start. "loss" at the end.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (target, control) = (cell.get(LABEL_OF), cell.get(ASSOCIATION));
        let rho = if control == "independent" { 0.0 } else { self.rho };
        let drawn = self.draw(&self.tree(rho)?, target, streams)?;
        let together: Vec<f64> = drawn.inputs.mean_axis(Axis(1)).into_iter().flatten().collect();
        let course = self.train(drawn, target, control, streams)?;
        let mut heights: Vec<u32> = (0..self.others()).map(Self::height).collect();
        if control == "permuted" {
            heights.shuffle(&mut streams.part("heights", 0));
        }
        let mut data = Map::new();
        for height in 1..self.depth {
            let tokens: Vec<usize> = (0..self.others()).filter(|l: &usize| heights[*l] == height).collect();
            let sums = |lists: &[Vec<f64>], scale: f64| {
                let sum = |i: usize| tokens.iter().map(|l| lists[*l][i]).sum::<f64>() * scale;
                store::series(&(0..course.records()).map(sum).collect::<Vec<f64>>())
            };
            let share = 1.0 / tokens.len() as f64;
            data.insert(format!("logit_{height}"), sums(&course.logits, share));
            data.insert(format!("attention_{height}"), sums(&course.attention, 1.0));
            let present = tokens.iter().map(|l| together[*l]).sum::<f64>() * share;
            data.insert(format!("present_{height}"), store::number(present));
        }
        let near: Vec<f64> = heights.into_iter().map(|h| -f64::from(h)).collect();
        data.insert("order".into(), store::series(&course.follows(&near)));
        data.insert("together".into(), store::series(&course.follows(&together)));
        data.insert("loss".into(), store::number(course.loss));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("{} sequences, {} steps, {} seeds", self.samples, self.steps, self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

/// Logits and attention of every token along one training, by record.
struct Course {
    /// Logits z.
    logits: Vec<Vec<f64>>,
    /// Shares of the mean attention.
    attention: Vec<Vec<f64>>,
    /// Loss at the end.
    loss: f64,
}

impl Course {
    fn records(&self) -> usize {
        self.logits.first().map_or(0, Vec::len)
    }

    /// Spearman's correlation, over the tokens, of the way of a logit since the start with a predictor, by record.
    fn follows(&self, predictor: &[f64]) -> Vec<f64> {
        let correlation = |i: usize| {
            let ways: Vec<f64> = self.logits.iter().map(|z| z[i] - z[0]).collect();
            spearman(&ways, predictor)
        };
        (0..self.records()).map(correlation).collect()
    }
}

/// Mean cross-entropy of the outputs.
fn loss(layer: &Training, state: &[f64], labels: &[usize]) -> f64 {
    let outputs = layer.outputs(state);
    let term = |(i, y): (usize, &usize)| {
        let h = outputs.column(i);
        let most = h.fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        most + h.iter().map(|x| (x - most).exp()).sum::<f64>().ln() - h[*y]
    };
    labels.iter().enumerate().map(term).sum::<f64>() / labels.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_those_of_a_binary_tree() {
        let heights: Vec<u32> = (0..7).map(JomaAssociation::height).collect();
        assert_eq!(heights, [1, 2, 2, 3, 3, 3, 3]);
    }
}
