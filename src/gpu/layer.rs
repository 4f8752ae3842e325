//! The MSSA layer of one head, for every φ.

use super::UNIT;
use super::blocks::{PART, Plan, Scores};
use super::device::Gpu;
use super::product::{BLOCK, update};
use super::work::{Access, Kernel, Params, Work, flags};
use crate::attention::streaming::horizon::gamma;
use crate::attention::streaming::{Problem, Streamed, weight_exceeds};
use crate::attention::{Mask, Mssa, Phi};
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayView2, ShapeBuilder};
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers that columns.wgsl keeps of a query.
const KEPT: usize = 4;

/// Room for this many doubtful decisions one by one; where there are more, whole columns are decided
/// again.
const DOUBTS: usize = 1 << 18;

/// From here on at most one entry of a column is kept, and that is its largest.
const SINGLE: f64 = 0.5;

/// Stands for minus infinity.
const LOWEST: f32 = -3.4e38;

/// The coefficients Y (p, N) of one head on the card.
pub struct Head<'a> {
    gpu: &'a Gpu,
    plan: Plan,
    /// Y by columns, for what is decided here.
    y: Array2<f32>,
    buffers: Vec<wgpu::Buffer>,
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

/// What the kernels kept of every query.
struct Kept {
    largest: Vec<f32>,
    second: Vec<f32>,
    key: Vec<u32>,
    sums: Vec<f32>,
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

/// How weights follow from scores where all of them are used.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Softmax,
    Linear,
    Relu,
}

/// The kernels over columns, with their buffers.
struct Columns<'a, 'h> {
    head: &'h Head<'a>,
    causal: bool,
    part: wgpu::Buffer,
    state: wgpu::Buffer,
    /// f_j, and room for the two edges of the step.
    query: wgpu::Buffer,
    factor: wgpu::Buffer,
    marked: wgpu::Buffer,
    doubt: wgpu::Buffer,
    open: wgpu::Buffer,
}

impl<'a, 'h> Columns<'a, 'h> {
    fn new(head: &'h Head<'a>, layer: &Mssa, problem: &Problem<f32>) -> Result<Self> {
        let (gpu, plan) = (head.gpu, head.plan);
        let padded = plan.padded();
        let mut query = vec![0.0_f32; 3 * padded];
        for (j, f) in query[..plan.tokens].iter_mut().enumerate() {
            *f = problem.factor(j) as f32;
        }
        let mut state = vec![0_u32; KEPT * padded];
        state[..2 * padded].fill(LOWEST.to_bits());
        let steps = matches!(layer.phi, Phi::HardThreshold { .. });
        let doubts = if steps { DOUBTS } else { 1 };
        let doubts = doubts
            .min((gpu.largest_binding() as usize / 8).saturating_sub(1))
            .max(1);
        Ok(Columns {
            head,
            causal: layer.mask == Mask::Causal,
            part: gpu.buffer("parts", PART * plan.side * plan.side * BLOCK * 4)?,
            state: gpu.filled("queries", &state)?,
            query: gpu.filled("factors and edges", &query)?,
            factor: gpu.filled("rescaling", &vec![1.0_f32; padded])?,
            marked: gpu.buffer("marks", plan.side * plan.side * 4)?,
            doubt: gpu.buffer("doubts", 4 * (2 * doubts + 1))?,
            open: gpu.buffer("open columns", padded * 4)?,
        })
    }

    fn kernel(&self, entry: &str) -> Result<Arc<Kernel>> {
        let text = || include_str!("columns.wgsl").to_string();
        let [r, w] = [Access::Read, Access::Write];
        self.head
            .gpu
            .kernel("columns", text, entry, &[w, w, w, r, w, w, w, w])
    }

    /// Runs through all pairs of squares; `entries` are called in order for both sides of each, then
    /// the weights they left are multiplied by the keys and added to the output, where one is given.
    fn sweep(
        &self,
        entries: &[&str],
        output: Option<&[wgpu::Buffer]>,
        sparse: bool,
        value: f64,
    ) -> Result<()> {
        let (gpu, plan) = (self.head.gpu, self.head.plan);
        let mut scores = Scores::new(gpu, plan, &self.head.buffers)?;
        let kernels = entries.iter().map(|entry| self.kernel(entry));
        let kernels: Vec<_> = kernels.collect::<Result<_>>()?;
        let mut work = Work::new(gpu, &|| {})?;
        let kept = [
            &scores.scratch,
            &self.part,
            &self.state,
            &self.query,
            &self.factor,
            &self.marked,
            &self.doubt,
            &self.open,
        ];
        // All entries have the same layout.
        let group = kernels.first().map(|kernel| work.bind(kernel, &kept));
        let mut update = match output {
            Some(output) => Some(Update::new(self, output, &scores.scratch, sparse)?),
            None => None,
        };
        for (i, j) in plan.each_pair() {
            // Without entries and output nobody looks at the mirror image.
            let seen = !entries.is_empty() || output.is_some();
            let mirror = i != j && !self.causal && seen;
            scores.queue(&mut work, (i, j), mirror);
            let mut side = |keys: usize, queries: usize, a: usize| {
                let (rows, cols) = (plan.blocks_of(keys), plan.blocks_of(queries));
                let params = Params {
                    a,
                    rows: rows.len(),
                    row0: rows.start * BLOCK,
                    col0: cols.start * BLOCK,
                    flags: if self.causal { flags::CAUSAL } else { 0 },
                    value: value as f32,
                    ..plan.params()
                };
                // About ten operations of a score in each kernel.
                let cost = 10.0 * (rows.len() * cols.len() * BLOCK * BLOCK) as f64;
                if let Some(group) = &group {
                    for (kernel, entry) in kernels.iter().zip(entries) {
                        let joins = ["merge", "total"].contains(entry);
                        let size = if joins { 1 } else { rows.len() };
                        work.call(kernel, group, &params, [cols.len(), size, 1], cost);
                    }
                }
                if let Some(update) = &mut update {
                    update.queue(&mut work, (keys, queries), a);
                }
            };
            side(i, j, 0);
            if mirror {
                side(j, i, plan.cells());
            }
            work.step()?;
        }
        work.finish()
    }

    /// Largest scores and sums alone.
    fn only_stats(&self) -> Result<()> {
        self.sweep(&["stats", "merge"], None, false, 0.0)
    }

    /// The weighted sums of keys.
    fn weighted(&self, rule: Rule) -> Result<Vec<wgpu::Buffer>> {
        let output = self.head.plan.empty(self.head.gpu, "output")?;
        let entries: &[&str] = match rule {
            Rule::Softmax => &["stats", "merge", "soften"],
            Rule::Linear => &["linear"],
            Rule::Relu => &["relu", "total"],
        };
        self.sweep(entries, Some(&output), false, 0.0)?;
        Ok(output)
    }

    /// τ times the sum of the keys whose score is above the cut of their column for certain; `edge`
    /// gives each column's cut and the half-width of the doubt around it.
    fn stepped(&self, tau: f64, edge: impl Fn(usize) -> (f64, f64)) -> Result<Vec<wgpu::Buffer>> {
        let (gpu, plan) = (self.head.gpu, self.head.plan);
        let output = plan.empty(gpu, "output")?;
        let padded = plan.padded();
        let mut edges = vec![0.0_f32; 2 * padded];
        for j in 0..plan.tokens {
            let (cut, band) = edge(j);
            edges[j] = (cut - band) as f32;
            edges[padded + j] = (cut + band) as f32;
        }
        gpu.write(&self.query, 4 * padded, &edges)?;
        gpu.write(&self.factor, 0, &vec![1.0_f32; padded])?;
        self.sweep(&["cut"], Some(&output), true, tau)?;
        Ok(output)
    }

    /// What was kept of every query.
    fn kept(&self) -> Result<Kept> {
        let (plan, padded) = (self.head.plan, self.head.plan.padded());
        let all: Vec<u32> = self.head.gpu.read(&self.state, 0, KEPT * padded)?;
        let row = |q: usize| &all[q * padded..][..plan.tokens];
        let number = |q: usize| row(q).iter().map(|x| f32::from_bits(*x)).collect();
        Ok(Kept {
            largest: number(0),
            second: number(1),
            key: row(2).to_vec(),
            sums: number(3),
        })
    }

    /// The doubtful decisions, by query and key; None when there was no room for all.
    fn doubts(&self) -> Result<Option<Vec<(usize, usize)>>> {
        let gpu = self.head.gpu;
        let count = gpu.read::<u32>(&self.doubt, 0, 1)?[0] as usize;
        let room = (self.doubt.size() as usize / 4 - 1) / 2;
        if count > room {
            return Ok(None);
        }
        let words: Vec<u32> = gpu.read(&self.doubt, 4, 2 * count)?;
        let pairs = words.chunks_exact(2);
        let mut pairs: Vec<_> = pairs.map(|p| (p[1] as usize, p[0] as usize)).collect();
        pairs.sort_unstable();
        Ok(Some(pairs))
    }

    /// The columns with a doubtful decision.
    fn open(&self) -> Result<Vec<usize>> {
        let plan = self.head.plan;
        let open: Vec<u32> = self.head.gpu.read(&self.open, 0, plan.tokens)?;
        Ok((0..plan.tokens).filter(|j| open[*j] != 0).collect())
    }
}

/// O_J <- O_J diag(factor) + Y_I W.
struct Update<'a> {
    plan: Plan,
    kernel: Arc<Kernel>,
    rows: usize,
    keys: &'a [wgpu::Buffer],
    output: &'a [wgpu::Buffer],
    others: [wgpu::Buffer; 3],
    groups: HashMap<(usize, usize), wgpu::BindGroup>,
}

impl<'a> Update<'a> {
    fn new(
        columns: &Columns<'_, 'a>,
        output: &'a [wgpu::Buffer],
        weights: &wgpu::Buffer,
        sparse: bool,
    ) -> Result<Self> {
        use Access::{Read, Write};
        let plan = columns.head.plan;
        // Tiles of 64 coefficients where those of 128 would leave more than a tenth empty.
        let filled = |rows: usize| plan.depth.next_multiple_of(rows);
        let rows = if 10 * filled(128) > 11 * filled(64) {
            64
        } else {
            128
        };
        let name = format!("update {rows} {sparse}");
        let access = [Read, Read, Write, Read, Read];
        let text = || update(rows, sparse);
        Ok(Update {
            plan,
            kernel: columns.head.gpu.kernel(&name, text, "main", &access)?,
            rows,
            keys: &columns.head.buffers,
            output,
            others: [
                weights.clone(),
                columns.factor.clone(),
                columns.marked.clone(),
            ],
            groups: HashMap::new(),
        })
    }

    fn queue(&mut self, work: &mut Work, (keys, queries): (usize, usize), weights: usize) {
        let plan = self.plan;
        let ((buffer_a, a), (buffer_c, c)) = (plan.place(keys), plan.place(queries));
        let group = self.groups.entry((buffer_a, buffer_c)).or_insert_with(|| {
            let [weights, factor, marked] = &self.others;
            let (keys, output) = (&self.keys[buffer_a], &self.output[buffer_c]);
            work.bind(&self.kernel, &[keys, weights, output, factor, marked])
        });
        let (rows, cols) = (plan.blocks_of(keys).len(), plan.blocks_of(queries));
        let params = Params {
            a,
            b: weights / 4,
            c,
            d: cols.start * BLOCK / 4,
            rows,
            ..plan.params()
        };
        let size = [plan.depth.div_ceil(self.rows), cols.len(), 1];
        work.call(
            &self.kernel,
            group,
            &params,
            size,
            plan.cost(rows, cols.len()),
        );
    }
}
