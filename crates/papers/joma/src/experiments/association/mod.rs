//! JoMA Fig. 5 and Appendix A: the order in which a query comes to attend to the tokens of a latent tree, against the
//! co-occurrence of Theorem 5. Settings: `settings.toml`.

use crate::PAPERS;
use crate::dynamics::{Attention, Backpropagated, Training};
use crate::quantities::{ASSOCIATION, ASSOCIATIONS, LABEL_OF, LABELS_OF};
use crate::theory::Activation;
use crate::theory::tree::{Parent, Tree};
use crate::tree::TreeDraw;
use attnlab_core::error::{Error, Result};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_core::stats::spearman;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, memory, store};
use attnlab_theory::dynamics::flow::{Watch, descend};
use ndarray::Array2;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod pictures;

/// Order of association in a trained layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JomaAssociation {
    /// Independent draws of sequences and weights.
    pub seeds: u64,
    /// L, depth of the tokens.
    pub depth: u32,
    /// ρ along every edge.
    pub rho: f64,
    /// P[y_0 = k].
    pub classes: Vec<f64>,
    /// P[y = 0 | y_0 = k] of the child of the root.
    pub zero: Vec<f64>,
    /// Labels: "parent", "class".
    pub targets: Vec<String>,
    /// Kind of attention: "softmax", "exp" or "linear".
    pub attention: String,
    /// The layer itself ("none") and its controls.
    pub controls: Vec<String>,
    /// Sequences.
    pub samples: usize,
    /// Standard deviation of the weights at the start.
    pub scale: f64,
    /// Step size.
    pub eta: f64,
    /// Steps.
    pub steps: usize,
    /// Steps between two records.
    pub every: usize,
}

impl Described for JomaAssociation {
    const ID: &'static str = "joma.association";
    const NAME: &'static str = "joma_association";
    const TITLE: &'static str =
        "The order in which attention finds the tokens of a latent tree, against co-occurrence";
    const SOURCE: Source = Source {
        paper: &PAPERS[0],
        place: "Figure 5, Appendix A",
    };
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
    fn attention(&self) -> Option<Attention> {
        match self.attention.as_str() {
            "softmax" => Some(Attention::Softmax),
            "exp" => Some(Attention::Exp),
            "linear" => Some(Attention::Linear),
            _ => None,
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
            let found = TreeDraw::new(tree, &streams.child("tree", next));
            next += 1;
            let on = |i: usize| found.values[leaves[i]];
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
            labels.push(match target {
                "parent" => usize::from(found.values[parent]),
                _ => found.class,
            });
        }
        Ok(Sequences { inputs, labels })
    }

    fn records(&self) -> Vec<f64> {
        (0..=self.steps / self.every)
            .map(|i| (i * self.every) as f64)
            .collect()
    }
}

impl Experiment for JomaAssociation {
    fn validate(&self) -> Result<()> {
        settings::spread("seeds", self.seeds)?;
        settings::positive("scale, eta", &[self.scale, self.eta])?;
        if !(2..=8).contains(&self.depth) {
            return Err(Error::invalid(
                "depth",
                self.depth,
                "must be a whole number from 2 to 8",
            ));
        }
        for (name, list, known) in [
            ("target", &self.targets, LABELS_OF.as_slice()),
            ("control", &self.controls, ASSOCIATIONS.as_slice()),
        ] {
            if list.is_empty() {
                return Err(Error::invalid(
                    format!("{name}s"),
                    "[]",
                    "must hold at least one word",
                ));
            }
            if let Some(bad) = list.iter().find(|w| !known.contains(&w.as_str())) {
                return Err(Error::unknown(name, bad, known.iter().copied()));
            }
        }
        if self.attention().is_none() {
            return Err(Error::unknown(
                "attention",
                &self.attention,
                ["softmax", "exp", "linear"],
            ));
        }
        for (name, value, least) in [("samples", self.samples, 2), ("every", self.every, 1)] {
            if value < least {
                let allowed = format!("must be a whole number >= {least}");
                return Err(Error::invalid(name, value, allowed));
            }
        }
        if self.steps < 2 * self.every {
            let allowed = format!("must be at least twice every = {}", self.every);
            return Err(Error::invalid("steps", self.steps, allowed));
        }
        self.tree(self.rho).map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![];
        for target in &self.targets {
            for control in &self.controls {
                let cell = [
                    LABEL_OF.is(target.as_str()),
                    ASSOCIATION.is(control.as_str()),
                ];
                cells.push(cell.into_iter().collect());
            }
        }
        Ok(cells)
    }

    fn trials(&self) -> u64 {
        self.seeds
    }

    fn memory(&self, _cell: &Params) -> u64 {
        memory::product(&[8, 6, self.others() as u64, self.samples as u64])
            + memory::product(&[
                8,
                self.others() as u64,
                (self.steps / self.every.max(1)) as u64,
            ])
    }

    /// By height H = 1, 2, ..: the series "logit_H" and "attention_H", mean logit of the tokens of that height and
    /// their share of the mean attention, at the records. "order", the series of Spearman's correlations over the
    /// tokens of the logit's way since the start with −H; "together", of that way with the co-occurrence in the
    /// drawn sequences; not numbers at the start. "loss" at the end.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (target, control) = (cell.get(LABEL_OF), cell.get(ASSOCIATION));
        let rho = if control == "independent" {
            0.0
        } else {
            self.rho
        };
        let drawn = self.draw(&self.tree(rho)?, target, streams)?;
        let classes = match target {
            "parent" => 2,
            _ => self.classes.len(),
        };
        let activation = match control {
            "linear" => Activation::LINEAR,
            _ => Activation::RELU,
        };
        let n = self.samples as f64;
        let together: Vec<f64> = drawn
            .inputs
            .rows()
            .into_iter()
            .map(|row| row.sum() / n)
            .collect();
        let layer = Training::new(
            self.attention().unwrap_or(Attention::Softmax),
            activation,
            classes,
            drawn.inputs,
            vec![1.0 / n; self.samples],
            Backpropagated::CrossEntropy(drawn.labels.clone()),
        )?;
        let size = layer.zero().len();
        let start = normal_matrix(1, size, &mut streams.part("weights", 0)) * self.scale;
        let mut start = start.into_raw_vec_and_offset().0;
        // A rectifier that is off for all sequences never learns: every node begins with a bias that is not negative.
        let width = self.others() + 1;
        for node in 0..classes {
            let bias = &mut start[node * width + width - 1];
            *bias = bias.abs();
        }
        let mut heights: Vec<u32> = (0..self.others()).map(Self::height).collect();
        if control == "permuted" {
            heights.shuffle(&mut streams.part("heights", 0));
        }
        let mut logits: Vec<Vec<f64>> = vec![vec![]; self.others()];
        let mut attention: Vec<Vec<f64>> = vec![vec![]; self.others()];
        let mut look = |t: f64, x: &[f64]| {
            if ((t / self.eta).round() as usize).is_multiple_of(self.every) {
                let (z, mean) = (layer.logits(x), layer.mean_scores(x));
                let sum = mean.sum();
                for l in 0..self.others() {
                    logits[l].push(z[l]);
                    attention[l].push(mean[l] / sum);
                }
            }
        };
        let until = self.steps as f64 * self.eta;
        let path = descend(&layer, &start, self.eta, &[until], Watch::steps(&mut look))?;
        let records = self.records();
        let mut data = Map::new();
        for height in 1..self.depth {
            let at: Vec<usize> = (0..self.others())
                .filter(|l| heights[*l] == height)
                .collect();
            let over = |lists: &[Vec<f64>], scale: f64| -> Vec<f64> {
                let sum = |i: usize| at.iter().map(|l| lists[*l][i]).sum::<f64>() * scale;
                (0..records.len()).map(sum).collect()
            };
            let share = 1.0 / at.len() as f64;
            data.insert(
                format!("logit_{height}"),
                store::series(&over(&logits, share)),
            );
            data.insert(
                format!("attention_{height}"),
                store::series(&over(&attention, 1.0)),
            );
        }
        let near: Vec<f64> = heights.into_iter().map(|h| -f64::from(h)).collect();
        for (name, predictor) in [("order", &near), ("together", &together)] {
            let at = |i: usize| {
                let ways: Vec<f64> = logits.iter().map(|z| z[i] - z[0]).collect();
                spearman(&ways, predictor)
            };
            let series: Vec<f64> = (0..records.len()).map(at).collect();
            data.insert(name.into(), store::series(&series));
        }
        data.insert(
            "loss".into(),
            store::number(loss(&layer, path.end(), &drawn.labels)),
        );
        Ok(data)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

/// Mean cross-entropy of the outputs.
fn loss(layer: &Training, state: &[f64], labels: &[usize]) -> f64 {
    let outputs = layer.outputs(state);
    let one = |(i, y): (usize, &usize)| {
        let h = outputs.column(i);
        let most = h.fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        most + h.iter().map(|x| (x - most).exp()).sum::<f64>().ln() - h[*y]
    };
    labels.iter().enumerate().map(one).sum::<f64>() / labels.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_those_of_a_binary_tree() {
        let found: Vec<u32> = (0..7).map(JomaAssociation::height).collect();
        assert_eq!(found, [1, 2, 2, 3, 3, 3, 3]);
    }
}
