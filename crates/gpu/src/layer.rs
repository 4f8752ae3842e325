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

/// Cut from which on at most one entry of a column is kept, and that is its largest.
const SINGLE: f64 = 0.5;

/// Inverse of the largest share of columns that a pass in half precision may leave to the CPU. Beyond it
/// a pass in f32 costs less than deciding them on the CPU, at 2Np operations per column.
const OPEN_SHARE: usize = 64;

/// Coefficients Y (p, N) of one head in GPU memory.
pub struct Head<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) plan: Plan,
    /// Coefficients Y by columns, for decisions on the CPU.
    y: Array2<f32>,
    pub(super) buffers: Vec<wgpu::Buffer>,
    /// Coefficients in half precision, made on first use; `None` if half precision cannot be used.
    half: OnceLock<Option<Halved>>,
}

/// Result of a layer in GPU memory, with the decisions that remain for the CPU.
pub struct Attended<'a, 'h> {
    head: &'h Head<'a>,
    layer: Mssa,
    /// Output O (p, N), if the φ gives more than a few entries.
    output: Option<Vec<wgpu::Buffer>>,
    rest: Rest,
}

/// Last step of the output, on the CPU.
enum Rest {
    Nothing,
    /// Division of column j by the j-th number, if that is not 0.
    Divide(Vec<f32>),
    /// Gather: output column j is the given multiple of the given token; with the columns to decide
    /// again.
    Gather(Vec<Option<usize>>, f64, Vec<usize>),
    /// Doubtful entries (query, key): the second number times the key is added to the query's column if
    /// their score is above the first number.
    Doubts(Vec<(usize, usize)>, f64, f64),
    /// Columns to decide again.
    Columns(Vec<usize>),
}

impl Rest {
    /// Returns the number of open columns, or the number that costs the same.
    fn columns(&self) -> usize {
        match self {
            Rest::Nothing | Rest::Divide(_) => 0,
            Rest::Gather(_, _, open) => open.len(),
            // Entries decided one by one cost next to nothing, and their number is limited.
            Rest::Doubts(..) => 0,
            Rest::Columns(open) => open.len(),
        }
    }
}

impl<'a> Head<'a> {
    /// Copies the coefficients to the GPU.
    ///
    /// # Errors
    /// If a coefficient is not finite, a token is so long that a score would overflow, or GPU memory is
    /// too small.
    pub fn new(gpu: &'a Gpu, y: ArrayView2<f32>) -> Result<Self> {
        /// Largest length of a token: products |y_i||y_j| then leave room for sums of scores within f32.
        const LONGEST: f64 = 1e15;
        let length = |c: ndarray::ArrayView1<f32>| c.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let mut copy = Array2::zeros(y.raw_dim().f());
        copy.assign(&y);
        let longest = copy.columns().into_iter().map(length);
        if let Some(j) = longest.into_iter().position(|l| l.is_nan() || l > LONGEST) {
            let allowed = format!("must be a finite number of at most {LONGEST:.0e} on the GPU");
            return Err(Error::invalid(
                format!("the length of token {j} in a subspace"),
                length(copy.column(j)),
                allowed,
            ));
        }
        let plan = Plan::new(gpu, y.nrows(), y.ncols())?;
        Ok(Head { gpu, buffers: plan.upload(gpu, copy.view())?, plan, y: copy, half: OnceLock::new() })
    }

    /// Returns the coefficients in half precision, if the GPU computes with it.
    fn half(&self) -> Result<Option<&Halved>> {
        if self.half.get().is_none() {
            let unit = self.gpu.unit();
            let half = unit.map(|unit| Halved::new(self.gpu, unit, self.plan, self.y.view()));
            // Concurrent callers compute the same value, so any of them may set it.
            let _ = self.half.set(half.transpose()?.flatten());
        }
        Ok(self.half.get().and_then(Option::as_ref))
    }

    /// Computes the attention output of one layer and leaves it in GPU memory.
    ///
    /// # Errors
    /// If φ has no pass on a GPU or a parameter out of range, or the device fails.
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

    /// Computes [`attend`](Self::attend) with scores in half precision, or in f32.
    fn attend_with<'h>(&'h self, layer: &Mssa, pass: &GpuPass, half: Option<&Halved>) -> Result<Attended<'a, 'h>> {
        let problem = Problem::tied(self.y.view(), layer.mask, layer.normalise_queries);
        let gamma = half.map_or(gamma(self.plan.dim, UNIT), |half| half.gamma);
        let error = Errors { problem: &problem, gamma, sums: self.sum_error() };
        let by_entry = matches!(pass, GpuPass::ScoreAbove { .. });
        let columns = Columns::new(self, layer, &problem, by_entry, half)?;
        let (output, rest) = match *pass {
            GpuPass::Softmax => {
                let output = columns.softened()?;
                let sums = columns.kept()?.sums;
                (Some(output), Rest::Divide(sums))
            }
            GpuPass::Entrywise { ref weight, normalise: true } => {
                let output = columns.entrywise(weight, true)?;
                let sums = columns.kept()?.sums;
                (Some(output), Rest::Divide(sums))
            }
            GpuPass::Entrywise { ref weight, normalise: false } => {
                (Some(columns.entrywise(weight, false)?), Rest::Nothing)
            }
            GpuPass::ScoreAbove { cut, value } => {
                let edge = |j| (cut, error.of_score(j) + 2.0 * UNIT * cut.abs());
                let output = columns.stepped(value, edge)?;
                let rest = match columns.doubts()? {
                    Some(doubts) => Rest::Doubts(doubts, cut, value),
                    None => Rest::Columns(columns.open()?),
                };
                (Some(output), rest)
            }
            // A softmax weight never exceeds 1.
            GpuPass::WeightAbove { cut, .. } if cut >= 1.0 => {
                (None, Rest::Gather(vec![None; self.plan.tokens], 0.0, vec![]))
            }
            GpuPass::WeightAbove { cut, value } if cut >= SINGLE => {
                columns.only_stats()?;
                (None, columns.kept()?.above(cut, value, &error))
            }
            GpuPass::WeightAbove { cut, value } => {
                columns.only_stats()?;
                let stats = columns.kept()?;
                let edge = |j: usize| {
                    let log_sum = f64::from(stats.largest[j]) + f64::from(stats.sums[j]).ln();
                    let cut = log_sum + cut.ln();
                    // Errors: E of the score, E of log Σ exp, the relative error of the sum, and the
                    // rounding of the cut.
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
        Ok(Attended { head: self, layer: layer.clone(), output, rest })
    }

    /// Runs only the products of a pass, to measure their rate: the scores, N²p floating-point
    /// operations, and with `updates` the 2N²p of the product with the keys.
    ///
    /// # Errors
    /// If the device fails.
    pub fn bare_products(&self, updates: bool) -> Result<()> {
        let output = if updates { Some(self.plan.empty(self.gpu, "output")?) } else { None };
        self.sweep_blocks(None, output.as_deref())
    }

    /// Runs only the scores in half precision; returns `false` if the GPU does not compute with it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn bare_half_scores(&self) -> Result<bool> {
        let half = self.half()?;
        half.map(|half| self.sweep_blocks(Some(half), None)).transpose()?;
        Ok(half.is_some())
    }

    fn sweep_blocks(&self, half: Option<&Halved>, output: Option<&[wgpu::Buffer]>) -> Result<()> {
        let layer = Mssa::new(Linear, 0.0);
        let problem = Problem::tied(self.y.view(), layer.mask, false);
        Columns::new(self, &layer, &problem, false, half)?.sweep(&[], output, false, 0.0)
    }

    /// Bounds the relative error of a column's Σ exp(s - max), for exact scores: 2^x errs by 4e-7, its
    /// argument s - max, scaled, by two units of its size, which is below 40 where a term matters (N
    /// e^-40 is negligible). A sum passes through at most 16 + 8 additions in a block of keys, then one
    /// for every block of a square and one for every square, each with a factor of the same kind.
    fn sum_error(&self) -> f64 {
        let additions = 24 + self.plan.side + self.plan.squares();
        2.0 * (4e-7 + 80.0 * UNIT) + (additions + 8) as f64 * UNIT
    }
}

/// Bounds on the errors of the GPU's results against exact arithmetic.
struct Errors<'p, 'y> {
    problem: &'p Problem<'y, f32>,
    /// Error of a product, relative to the lengths.
    gamma: f64,
    /// Error of a column's sum, relative.
    sums: f64,
}

impl Errors<'_, '_> {
    /// Returns E_j, the bound on the error of a score of column j. Rounding f_j, multiplying by it and
    /// subtracting the running maximum take four operations; the bound assumes twice as many, which
    /// covers the errors of the products in them.
    fn of_score(&self, j: usize) -> f64 {
        (self.gamma + 8.0 * UNIT) * self.problem.reach(j)
    }
}

impl Attended<'_, '_> {
    /// Copies the result to the CPU, with every doubtful decision made in f64.
    ///
    /// # Errors
    /// If the device fails.
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
            Rest::Gather(keys, weight, open) => {
                let weight = weight as f32;
                for (mut column, key) in output.columns_mut().into_iter().zip(keys) {
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
    /// Computes `value` times the largest entry of the columns in which its weight exceeds the cut c ≥
    /// 1/2.
    ///
    /// If rounding has hidden the true largest entry behind another, both scores are within 2E of each
    /// other, and both weights are below c or within the doubtful interval.
    fn above(&self, cut: f64, value: f64, error: &Errors) -> Rest {
        let (mut keys, mut open) = (vec![None; self.key.len()], vec![]);
        for (j, (key, sum)) in self.key.iter().zip(&self.sums).enumerate() {
            // The sum is relative to the largest entry.
            match weight_exceeds(cut, f64::from(*sum), error.of_score(j), error.sums) {
                Some(true) => keys[j] = Some(*key as usize),
                Some(false) => {}
                None => open.push(j),
            }
        }
        Rest::Gather(keys, value, open)
    }

    /// Selects the largest entry of the columns in which it is certainly larger than any other.
    fn largest(&self, error: &Errors) -> Rest {
        let (mut keys, mut open) = (vec![None; self.key.len()], vec![]);
        for (j, key) in self.key.iter().enumerate() {
            let gap = f64::from(self.largest[j]) - f64::from(self.second[j]);
            if gap > 2.0 * error.of_score(j) {
                keys[j] = Some(*key as usize);
            } else {
                open.push(j);
            }
        }
        Rest::Gather(keys, 1.0, open)
    }
}
