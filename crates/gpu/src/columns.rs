//! Kernels over the columns of one head's scores, square by square, and the products with the keys after
//! them.

use super::blocks::{PART, Plan, Scores};
use super::layer::Head;
use super::product::{BLOCK, update};
use super::units::Halved;
use super::work::{Access, Kernel, Params, Work, flags};
use attnlab_core::error::Result;
use attnlab_theory::attention::streaming::Problem;
use attnlab_theory::attention::{Mask, Mssa};
use std::collections::HashMap;
use std::sync::Arc;

/// Count of numbers that columns.wgsl keeps of each query.
const KEPT: usize = 4;

/// Largest number of doubtful decisions that are listed one by one; beyond it whole columns are decided
/// again.
const DOUBTS: usize = 1 << 18;

/// Substitute for minus infinity.
const LOWEST: f32 = -3.4e38;

/// Values that the kernels keep of every query.
pub(super) struct Kept {
    pub(super) largest: Vec<f32>,
    pub(super) second: Vec<f32>,
    pub(super) key: Vec<u32>,
    pub(super) sums: Vec<f32>,
}

/// Entry point over columns.
#[derive(Clone, Copy)]
pub(super) enum Entry<'t> {
    /// Entry point of columns.wgsl.
    Shared(&'static str),
    /// Entry point of entrywise.wgsl, with the source of its function `weight`.
    Entrywise(&'static str, &'t str),
}

impl Entry<'_> {
    /// Returns `true` if the entry joins the results of the blocks of keys of a column: one workgroup per
    /// block of queries.
    fn joins(self) -> bool {
        matches!(self, Entry::Shared("merge" | "total"))
    }
}

/// Entry points that compute the largest score and the sum of every column so far.
const STATISTICS: [Entry; 2] = [Entry::Shared("stats"), Entry::Shared("merge")];

/// Kernels over columns, with their buffers.
pub(super) struct Columns<'a, 'h, 'p> {
    head: &'h Head<'a>,
    causal: bool,
    part: wgpu::Buffer,
    state: wgpu::Buffer,
    /// Factors f_j, followed by room for the two edges of the step.
    query: wgpu::Buffer,
    factor: wgpu::Buffer,
    marked: wgpu::Buffer,
    doubt: wgpu::Buffer,
    open: wgpu::Buffer,
    /// Tokens in half precision, if scores are computed from them.
    half: Option<&'p Halved>,
}

impl<'a, 'h, 'p> Columns<'a, 'h, 'p> {
    /// Makes the kernels for one head; with `by_entry` doubtful decisions are listed one by one.
    pub(super) fn new(
        head: &'h Head<'a>,
        layer: &Mssa,
        problem: &Problem<f32>,
        by_entry: bool,
        half: Option<&'p Halved>,
    ) -> Result<Self> {
        let (gpu, plan) = (head.gpu, head.plan);
        let padded = plan.padded();
        let mut query = vec![0.0_f32; 3 * padded];
        for (j, f) in query[..plan.tokens].iter_mut().enumerate() {
            *f = problem.factor(j) as f32;
        }
        let mut state = vec![0_u32; KEPT * padded];
        state[..2 * padded].fill(LOWEST.to_bits());
        let doubts = if by_entry { DOUBTS } else { 1 };
        let doubts = doubts.min((gpu.largest_binding() as usize / 8).saturating_sub(1)).max(1);
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
            half,
        })
    }

    fn kernel(&self, entry: Entry) -> Result<Arc<Kernel>> {
        let shared = include_str!("columns.wgsl");
        let [r, w] = [Access::Read, Access::Write];
        let access = [w, w, w, r, w, w, w, w];
        let gpu = self.head.gpu;
        match entry {
            Entry::Shared(name) => gpu.kernel("columns", || shared.to_string(), name, &access),
            Entry::Entrywise(name, weight) => {
                let entrywise = include_str!("entrywise.wgsl");
                let text = || [shared, entrywise, weight].join("\n");
                gpu.foreign_kernel(&format!("columns with {weight}"), text, name, &access)
            }
        }
    }

    /// Runs through all pairs of squares. `entries` are called in order for both sides of each; then
    /// their weights are multiplied by the keys and added to the output, if one is given.
    pub(super) fn sweep(
        &self,
        entries: &[Entry],
        output: Option<&[wgpu::Buffer]>,
        sparse: bool,
        value: f64,
    ) -> Result<()> {
        let (gpu, plan) = (self.head.gpu, self.head.plan);
        let mut scores = match self.half {
            Some(half) => Scores::halved(gpu, plan, half)?,
            None => Scores::new(gpu, plan, &self.head.buffers)?,
        };
        let kernels = entries.iter().map(|entry| self.kernel(*entry));
        let kernels: Vec<_> = kernels.collect::<Result<_>>()?;
        let mut work = Work::new(gpu, &|| {})?;
        let buffers = [
            &scores.scratch,
            &self.part,
            &self.state,
            &self.query,
            &self.factor,
            &self.marked,
            &self.doubt,
            &self.open,
        ];
        // All entry points have the same layout.
        let group = kernels.first().map(|kernel| work.bind(kernel, &buffers));
        let mut update = match output {
            Some(output) => Some(Update::new(self, output, &scores.scratch, sparse)?),
            None => None,
        };
        for (i, j) in plan.each_pair() {
            // Without entry points and output the mirror image is not used.
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
                // Each kernel takes about ten operations per score.
                let cost = 10.0 * (rows.len() * cols.len() * BLOCK * BLOCK) as f64;
                if let Some(group) = &group {
                    for (kernel, entry) in kernels.iter().zip(entries) {
                        let size = if entry.joins() { 1 } else { rows.len() };
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

    /// Computes largest scores and sums alone.
    pub(super) fn only_stats(&self) -> Result<()> {
        self.sweep(&STATISTICS, None, false, 0.0)
    }

    /// Computes the sums of keys with softmax weights, not yet divided by the sums of the weights.
    pub(super) fn softened(&self) -> Result<Vec<wgpu::Buffer>> {
        let [stats, merge] = STATISTICS;
        self.weighted(&[stats, merge, Entry::Shared("soften")])
    }

    /// Computes the sums of keys with weights by the WGSL function `weight`; with `sums` the weights are
    /// added up too.
    pub(super) fn entrywise(&self, weight: &str, sums: bool) -> Result<Vec<wgpu::Buffer>> {
        match sums {
            false => self.weighted(&[Entry::Entrywise("weigh", weight)]),
            true => self.weighted(&[Entry::Entrywise("weigh_and_sum", weight), Entry::Shared("total")]),
        }
    }

    fn weighted(&self, entries: &[Entry]) -> Result<Vec<wgpu::Buffer>> {
        let output = self.head.plan.empty(self.head.gpu, "output")?;
        self.sweep(entries, Some(&output), false, 0.0)?;
        Ok(output)
    }

    /// Computes `value` times the sum of the keys whose score is certainly above the cut of their column.
    /// `edge` holds each column's cut and the half-width of the doubtful interval around it.
    pub(super) fn stepped(&self, value: f64, edge: impl Fn(usize) -> (f64, f64)) -> Result<Vec<wgpu::Buffer>> {
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
        self.sweep(&[Entry::Shared("cut")], Some(&output), true, value)?;
        Ok(output)
    }

    /// Reads the values that the kernels kept of every query.
    pub(super) fn kept(&self) -> Result<Kept> {
        let (plan, padded) = (self.head.plan, self.head.plan.padded());
        let values: Vec<u32> = self.head.gpu.read(&self.state, 0, KEPT * padded)?;
        let row = |q: usize| &values[q * padded..][..plan.tokens];
        let number = |q: usize| row(q).iter().map(|x| f32::from_bits(*x)).collect();
        Ok(Kept { largest: number(0), second: number(1), key: row(2).to_vec(), sums: number(3) })
    }

    /// Reads the doubtful decisions by query and key; `None` if there was not room for all of them.
    pub(super) fn doubts(&self) -> Result<Option<Vec<(usize, usize)>>> {
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

    /// Reads the columns with a doubtful decision.
    pub(super) fn open(&self) -> Result<Vec<usize>> {
        let plan = self.head.plan;
        let open: Vec<u32> = self.head.gpu.read(&self.open, 0, plan.tokens)?;
        Ok((0..plan.tokens).filter(|j| open[*j] != 0).collect())
    }
}

/// Product O_J <- O_J diag(factor) + Y_I W.
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
        columns: &Columns<'_, 'a, '_>,
        output: &'a [wgpu::Buffer],
        weights: &wgpu::Buffer,
        sparse: bool,
    ) -> Result<Self> {
        use Access::{Read, Write};
        let plan = columns.head.plan;
        // Tiles of 64 coefficients are used if those of 128 would leave more than a tenth empty.
        let filled = |rows: usize| plan.depth.next_multiple_of(rows);
        let rows = if 10 * filled(128) > 11 * filled(64) { 64 } else { 128 };
        let name = format!("update {rows} {sparse}");
        let access = [Read, Read, Write, Read, Read];
        let text = || update(rows, sparse);
        Ok(Update {
            plan,
            kernel: columns.head.gpu.kernel(&name, text, "main", &access)?,
            rows,
            keys: &columns.head.buffers,
            output,
            others: [weights.clone(), columns.factor.clone(), columns.marked.clone()],
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
        let params = Params { a, b: weights / 4, c, d: cols.start * BLOCK / 4, rows, ..plan.params() };
        let size = [plan.depth.div_ceil(self.rows), cols.len(), 1];
        work.call(&self.kernel, group, &params, size, plan.cost(rows, cols.len()));
    }
}
