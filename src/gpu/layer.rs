//! The MSSA layer of one head, for every φ.

use super::UNIT;
use super::blocks::Plan;
use super::columns::{Columns, Kept, Rule};
use super::device::Gpu;
use crate::attention::streaming::horizon::gamma;
use crate::attention::streaming::{Problem, Streamed, weight_exceeds};
use crate::attention::{Mssa, Phi};
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayView2, ShapeBuilder};

/// From here on at most one entry of a column is kept, and that is its largest.
const SINGLE: f64 = 0.5;

/// The coefficients Y (p, N) of one head on the card.
pub struct Head<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) plan: Plan,
    /// Y by columns, for what is decided here.
    y: Array2<f32>,
    pub(super) buffers: Vec<wgpu::Buffer>,
}

/// A layer's result on the card, with what is still to be decided here.
pub struct Attended<'a, 'h> {
    head: &'h Head<'a>,
    layer: Mssa,
    /// O (p, N), where the φ gives more than a few entries.
    output: Option<Vec<wgpu::Buffer>>,
    rest: Rest,
}

/// What is left to do with the output.
enum Rest {
    Nothing,
    /// Divide column j by the j-th number, where it is not 0.
    Divide(Vec<f32>),
    /// Output column j is the given multiple of the given token; and the columns to decide again.
    Gather(Vec<Option<usize>>, f64, Vec<usize>),
    /// Add τ times the key to the query's column where its score is above the cut: (query, key).
    Doubts(Vec<(usize, usize)>, f64),
    /// Columns to decide again.
    Columns(Vec<usize>),
}

impl<'a> Head<'a> {
    /// Brings the coefficients to the card.
    ///
    /// # Errors
    /// When one is not finite or so large that a score would overflow, or they do not fit.
    pub fn new(gpu: &'a Gpu, y: ArrayView2<f32>) -> Result<Self> {
        /// |y_i||y_j| below this leaves room for sums of scores within f32.
        const LONGEST: f64 = 1e15;
        let length = |c: ndarray::ArrayView1<f32>| {
            let squares = c.iter().map(|x| f64::from(*x).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let mut own = Array2::zeros(y.raw_dim().f());
        own.assign(&y);
        let longest = own.columns().into_iter().map(length);
        if let Some(j) = longest.into_iter().position(|l| l.is_nan() || l > LONGEST) {
            let allowed = format!("a finite number of at most {LONGEST:.0e} on the GPU");
            return Err(Error::invalid(
                format!("the length of token {j} in a subspace"),
                length(own.column(j)),
                allowed,
            ));
        }
        let plan = Plan::new(gpu, y.nrows(), y.ncols())?;
        Ok(Head {
            gpu,
            buffers: plan.upload(gpu, own.view())?,
            plan,
            y: own,
        })
    }

    /// The attention output of one layer, left on the card.
    ///
    /// # Errors
    /// When τ is out of range or the device fails.
    pub fn attend<'h>(&'h self, layer: &Mssa) -> Result<Attended<'a, 'h>> {
        layer.phi.validate()?;
        let problem = Problem::tied(self.y.view(), layer.mask, layer.normalise_queries);
        let pass = Columns::new(self, layer, &problem)?;
        let (output, rest) = match layer.phi {
            Phi::Softmax => {
                let output = pass.weighted(Rule::Softmax)?;
                let sums = pass.kept()?.sums;
                (Some(output), Rest::Divide(sums))
            }
            Phi::ReluNormalised => {
                let output = pass.weighted(Rule::Relu)?;
                let sums = pass.kept()?.sums;
                (Some(output), Rest::Divide(sums))
            }
            Phi::Linear => (Some(pass.weighted(Rule::Linear)?), Rest::Nothing),
            Phi::HardThreshold { tau } => {
                let edge = |j| (tau, score_error(&problem, j) + 2.0 * UNIT * tau);
                let output = pass.stepped(tau, edge)?;
                let rest = match pass.doubts()? {
                    Some(doubts) => Rest::Doubts(doubts, tau),
                    None => Rest::Columns(pass.open()?),
                };
                (Some(output), rest)
            }
            // No weight exceeds 1.
            Phi::ThresholdedSoftmax { tau } if tau >= 1.0 => (
                None,
                Rest::Gather(vec![None; self.plan.tokens], 0.0, vec![]),
            ),
            Phi::ThresholdedSoftmax { tau } if tau >= SINGLE => {
                pass.only_stats()?;
                (None, pass.kept()?.above(tau, &problem, self.sum_error()))
            }
            Phi::ThresholdedSoftmax { tau } => {
                pass.only_stats()?;
                let kept = pass.kept()?;
                let edge = |j: usize| {
                    let log_sum = f64::from(kept.largest[j]) + f64::from(kept.sums[j]).ln();
                    let cut = log_sum + tau.ln();
                    // The score errs by E, log Σ exp by E and the relative error of the sum; the
                    // cut is rounded.
                    let error = 2.0 * score_error(&problem, j) + 2.0 * self.sum_error();
                    (cut, error + 2.0 * UNIT * cut.abs())
                };
                let output = pass.stepped(tau, edge)?;
                (Some(output), Rest::Columns(pass.open()?))
            }
            Phi::Hardmax => {
                pass.only_stats()?;
                (None, pass.kept()?.largest(&problem))
            }
        };
        Ok(Attended {
            head: self,
            layer: *layer,
            output,
            rest,
        })
    }

    /// The products of a pass and nothing else, to hold its rate against: the scores, N²p
    /// floating-point operations, and with `updates` the 2N²p of the product with the keys.
    ///
    /// # Errors
    /// When the device fails.
    pub fn bare_products(&self, updates: bool) -> Result<()> {
        let layer = Mssa::new(Phi::Linear, 0.0);
        let problem = Problem::tied(self.y.view(), layer.mask, false);
        let pass = Columns::new(self, &layer, &problem)?;
        let output = match updates {
            true => Some(self.plan.empty(self.gpu, "output")?),
            false => None,
        };
        pass.sweep(&[], output.as_deref(), false, 0.0)
    }

    /// Relative error of a column's Σ exp(s - max), for exact scores: 2^x errs by 4e-7, its argument
    /// s - max, scaled, by two units of its size, which is below 40 where a term matters (N e^-40 is
    /// nothing); a sum passes through at most 16 + 8 additions in a block of keys, then one for every block
    /// of a square and one for every square, each with a factor of the same kind.
    fn sum_error(&self) -> f64 {
        let additions = 24 + self.plan.side + self.plan.squares();
        2.0 * (4e-7 + 80.0 * UNIT) + (additions + 8) as f64 * UNIT
    }
}

/// E_j on this machine: a full unit for each operation where the CPU has half of one.
fn score_error(problem: &Problem<f32>, j: usize) -> f64 {
    let p = problem.dim();
    // Half a unit per operation is charged there.
    problem.score_error(j) * gamma(p + 8, UNIT) / gamma(p + 4, UNIT / 2.0)
}

impl Attended<'_, '_> {
    /// The result on this side, every doubtful decision made in f64.
    ///
    /// # Errors
    /// When the device fails.
    pub fn download(self) -> Result<Streamed<f32>> {
        let (head, layer) = (self.head, self.layer);
        let y = head.y.view();
        let problem = Problem::tied(y, layer.mask, layer.normalise_queries);
        let mut output = match &self.output {
            Some(buffers) => head.plan.download(head.gpu, buffers)?,
            None => Array2::zeros(y.raw_dim().f()),
        };
        let mut redecided = 0;
        match self.rest {
            Rest::Nothing => {}
            Rest::Divide(sums) => {
                for (mut column, sum) in output.columns_mut().into_iter().zip(sums) {
                    if sum != 0.0 {
                        let inverse = f64::from(sum).recip() as f32;
                        column.mapv_inplace(|x| x * inverse);
                    }
                }
            }
            Rest::Gather(kept, weight, open) => {
                let weight = weight as f32;
                for (mut column, key) in output.columns_mut().into_iter().zip(kept) {
                    if let Some(i) = key {
                        column.scaled_add(weight, &y.column(i));
                    }
                }
                redecided = open.len();
                problem.redecide(layer.phi, &open, &mut output);
            }
            Rest::Doubts(doubts, tau) => {
                for same in doubts.chunk_by(|a, b| a.0 == b.0) {
                    let j = same[0].0;
                    let query = problem.query_f64(j);
                    for (_, i) in same {
                        if problem.score_f64(*i, &query) > tau {
                            output.column_mut(j).scaled_add(tau as f32, &y.column(*i));
                        }
                    }
                }
                redecided = doubts.len();
            }
            Rest::Columns(open) => {
                redecided = open.len();
                problem.redecide(layer.phi, &open, &mut output);
            }
        }
        Ok(Streamed { output, redecided })
    }
}

impl Kept {
    /// τ times the largest entry of the columns in which its weight exceeds τ ≥ 1/2.
    ///
    /// Should rounding have hidden the true largest behind another, then both scores are within 2E of
    /// each other and both weights below τ, or within the doubt.
    fn above(&self, tau: f64, problem: &Problem<f32>, sum_error: f64) -> Rest {
        let (mut kept, mut open) = (vec![None; self.key.len()], vec![]);
        for (j, (key, sum)) in self.key.iter().zip(&self.sums).enumerate() {
            // The largest entry is the reference of the sum.
            match weight_exceeds(tau, f64::from(*sum), score_error(problem, j), sum_error) {
                Some(true) => kept[j] = Some(*key as usize),
                Some(false) => {}
                None => open.push(j),
            }
        }
        Rest::Gather(kept, tau, open)
    }

    /// The largest entry, where it is larger than any other for certain.
    fn largest(&self, problem: &Problem<f32>) -> Rest {
        let (mut kept, mut open) = (vec![None; self.key.len()], vec![]);
        for (j, key) in self.key.iter().enumerate() {
            let gap = f64::from(self.largest[j]) - f64::from(self.second[j]);
            if gap > 2.0 * score_error(problem, j) {
                kept[j] = Some(*key as usize);
            } else {
                open.push(j);
            }
        }
        Rest::Gather(kept, 1.0, open)
    }
}
