//! The MSSA layer of one head, by the [`GpuPass`] of its φ.

use super::UNIT;
use super::blocks::Plan;
use super::columns::{Columns, Kept};
use super::device::Gpu;
use super::units::Halved;
use attnlab_core::error::{Error, Result};
use attnlab_theory::attention::streaming::horizon::gamma;
use attnlab_theory::attention::streaming::{Problem, Streamed, weight_exceeds};
use attnlab_theory::attention::{GpuPass, Linear, Mssa};
use ndarray::{Array2, ArrayView2, ShapeBuilder};
use std::sync::OnceLock;

/// From here on at most one entry of a column is kept, and that is its largest.
const SINGLE: f64 = 0.5;

/// Half precision may leave one column in so many to the CPU; beyond that a pass in f32 costs less
/// than deciding them there, which takes 2 N p operations a column.
const OPEN_SHARE: usize = 64;

/// The coefficients Y (p, N) of one head on the card.
pub struct Head<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) plan: Plan,
    /// Y by columns, for what is decided here.
    y: Array2<f32>,
    pub(super) buffers: Vec<wgpu::Buffer>,
    /// The same in half precision, once it is wanted; None where it cannot be had.
    half: OnceLock<Option<Halved>>,
}

/// A layer's result on the card, with what is still to be decided here.
pub struct Attended<'a, 'h> {
    head: &'h Head<'a>,
    layer: Mssa,
    /// O (p, N), where the φ gives more than a few entries.
    output: Option<Vec<wgpu::Buffer>>,
    rest: Rest,
}

/// Last step of the output.
enum Rest {
    Nothing,
    /// Divide column j by the j-th number, where it is not 0.
    Divide(Vec<f32>),
    /// Output column j is the given multiple of the given token; and the columns to decide again.
    Gather(Vec<Option<usize>>, f64, Vec<usize>),
    /// Add the second number times the key to the query's column where their score is above the first:
    /// (query, key).
    Doubts(Vec<(usize, usize)>, f64, f64),
    /// Columns to decide again.
    Columns(Vec<usize>),
}

impl Rest {
    /// How many columns are open, or as many as cost the same.
    fn columns(&self) -> usize {
        match self {
            Rest::Nothing | Rest::Divide(_) => 0,
            Rest::Gather(_, _, open) => open.len(),
            // One by one they cost next to nothing, and their number is limited.
            Rest::Doubts(..) => 0,
            Rest::Columns(open) => open.len(),
        }
    }
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
            let allowed = format!("must be a finite number of at most {LONGEST:.0e} on the GPU");
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
            half: OnceLock::new(),
        })
    }

    /// The coefficients in half precision, where the GPU computes with it.
    fn half(&self) -> Result<Option<&Halved>> {
        if self.half.get().is_none() {
            let unit = self.gpu.unit();
            let half = unit.map(|unit| Halved::new(self.gpu, unit, self.plan, self.y.view()));
            // Whoever comes first; both made the same.
            let _ = self.half.set(half.transpose()?.flatten());
        }
        Ok(self.half.get().and_then(Option::as_ref))
    }

    /// The attention output of one layer, left on the card.
    ///
    /// # Errors
    /// When φ has no pass on a GPU or a parameter out of range, or the device fails.
    pub fn attend<'h>(&'h self, layer: &Mssa) -> Result<Attended<'a, 'h>> {
        layer.phi.validate()?;
        let Some(pass) = layer.phi.gpu() else {
            return Err(Error::invalid(
                "phi",
                layer.phi.name(),
                "must be a nonlinearity with a pass on the GPU; this one has none. Write --backend cpu",
            ));
        };
        if pass.decides()
            && let Some(half) = self.half()?
        {
            let coarse = self.attend_with(layer, &pass, Some(half))?;
            if coarse.rest.columns() <= self.plan.tokens / OPEN_SHARE {
                return Ok(coarse);
            }
        }
        self.attend_with(layer, &pass, None)
    }

    /// [`attend`](Self::attend) with scores in half precision, or in f32.
    fn attend_with<'h>(
        &'h self,
        layer: &Mssa,
        pass: &GpuPass,
        half: Option<&Halved>,
    ) -> Result<Attended<'a, 'h>> {
        let problem = Problem::tied(self.y.view(), layer.mask, layer.normalise_queries);
        let gamma = half.map_or(gamma(self.plan.dim, UNIT), |half| half.gamma);
        let error = Errors {
            problem: &problem,
            gamma,
            sums: self.sum_error(),
        };
        let by_entry = matches!(pass, GpuPass::ScoreAbove { .. });
        let columns = Columns::new(self, layer, &problem, by_entry, half)?;
        let (output, rest) = match *pass {
            GpuPass::Softmax => {
                let output = columns.softened()?;
                let sums = columns.kept()?.sums;
                (Some(output), Rest::Divide(sums))
            }
            GpuPass::Entrywise {
                ref weight,
                normalise: true,
            } => {
                let output = columns.entrywise(weight, true)?;
                let sums = columns.kept()?.sums;
                (Some(output), Rest::Divide(sums))
            }
            GpuPass::Entrywise {
                ref weight,
                normalise: false,
            } => (Some(columns.entrywise(weight, false)?), Rest::Nothing),
            GpuPass::ScoreAbove { cut, value } => {
                let edge = |j| (cut, error.of_score(j) + 2.0 * UNIT * cut.abs());
                let output = columns.stepped(value, edge)?;
                let rest = match columns.doubts()? {
                    Some(doubts) => Rest::Doubts(doubts, cut, value),
                    None => Rest::Columns(columns.open()?),
                };
                (Some(output), rest)
            }
            // No weight exceeds 1.
            GpuPass::WeightAbove { cut, .. } if cut >= 1.0 => (
                None,
                Rest::Gather(vec![None; self.plan.tokens], 0.0, vec![]),
            ),
            GpuPass::WeightAbove { cut, value } if cut >= SINGLE => {
                columns.only_stats()?;
                (None, columns.kept()?.above(cut, value, &error))
            }
            GpuPass::WeightAbove { cut, value } => {
                columns.only_stats()?;
                let kept = columns.kept()?;
                let edge = |j: usize| {
                    let log_sum = f64::from(kept.largest[j]) + f64::from(kept.sums[j]).ln();
                    let cut = log_sum + cut.ln();
                    // The score errs by E, log Σ exp by E and the relative error of the sum; the
                    // cut is rounded.
                    let band = 2.0 * error.of_score(j) + 2.0 * error.sums;
                    (cut, band + 2.0 * UNIT * cut.abs())
                };
                let output = columns.stepped(value, edge)?;
                (Some(output), Rest::Columns(columns.open()?))
            }
            GpuPass::Largest => {
                columns.only_stats()?;
                (None, columns.kept()?.largest(&error))
            }
        };
        Ok(Attended {
            head: self,
            layer: layer.clone(),
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
        let output = match updates {
            true => Some(self.plan.empty(self.gpu, "output")?),
            false => None,
        };
        self.bare(None, output.as_deref())
    }

    /// The scores in half precision and nothing else; false where the GPU does not compute with it.
    ///
    /// # Errors
    /// When the device fails.
    pub fn bare_half_scores(&self) -> Result<bool> {
        let half = self.half()?;
        half.map(|half| self.bare(Some(half), None)).transpose()?;
        Ok(half.is_some())
    }

    fn bare(&self, half: Option<&Halved>, output: Option<&[wgpu::Buffer]>) -> Result<()> {
        let layer = Mssa::new(Linear, 0.0);
        let problem = Problem::tied(self.y.view(), layer.mask, false);
        Columns::new(self, &layer, &problem, false, half)?.sweep(&[], output, false, 0.0)
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

/// How far what the card computed may lie from exact arithmetic.
struct Errors<'p, 'y> {
    problem: &'p Problem<'y, f32>,
    /// Of a product, relative to the lengths.
    gamma: f64,
    /// Of a column's sum, relative.
    sums: f64,
}

impl Errors<'_, '_> {
    /// E_j: of a score of column j. Rounding f_j, multiplying by it and subtracting the running maximum
    /// take four operations; twice that is charged, for the products' own errors in them too.
    fn of_score(&self, j: usize) -> f64 {
        (self.gamma + 8.0 * UNIT) * self.problem.reach(j)
    }
}

impl Attended<'_, '_> {
    /// The result on this side, every doubtful decision made in f64.
    ///
    /// # Errors
    /// When the device fails.
    pub fn download(self) -> Result<Streamed<f32>> {
        let (head, layer) = (self.head, &self.layer);
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
                problem.redecide(&*layer.phi, &open, &mut output);
            }
            Rest::Doubts(doubts, cut, value) => {
                for same in doubts.chunk_by(|a, b| a.0 == b.0) {
                    let j = same[0].0;
                    let query = problem.query_f64(j);
                    for (_, i) in same {
                        if problem.score_f64(*i, &query) > cut {
                            output.column_mut(j).scaled_add(value as f32, &y.column(*i));
                        }
                    }
                }
                redecided = doubts.len();
            }
            Rest::Columns(open) => {
                redecided = open.len();
                problem.redecide(&*layer.phi, &open, &mut output);
            }
        }
        Ok(Streamed { output, redecided })
    }
}

impl Kept {
    /// `value` times the largest entry of the columns in which its weight exceeds the cut c ≥ 1/2.
    ///
    /// Should rounding have hidden the true largest behind another, then both scores are within 2E of
    /// each other and both weights below c, or within the doubt.
    fn above(&self, cut: f64, value: f64, error: &Errors) -> Rest {
        let (mut kept, mut open) = (vec![None; self.key.len()], vec![]);
        for (j, (key, sum)) in self.key.iter().zip(&self.sums).enumerate() {
            // The largest entry is the reference of the sum.
            match weight_exceeds(cut, f64::from(*sum), error.of_score(j), error.sums) {
                Some(true) => kept[j] = Some(*key as usize),
                Some(false) => {}
                None => open.push(j),
            }
        }
        Rest::Gather(kept, value, open)
    }

    /// The largest entry, where it is larger than any other for certain.
    fn largest(&self, error: &Errors) -> Rest {
        let (mut kept, mut open) = (vec![None; self.key.len()], vec![]);
        for (j, key) in self.key.iter().enumerate() {
            let gap = f64::from(self.largest[j]) - f64::from(self.second[j]);
            if gap > 2.0 * error.of_score(j) {
                kept[j] = Some(*key as usize);
            } else {
                open.push(j);
            }
        }
        Rest::Gather(kept, 1.0, open)
    }
}
