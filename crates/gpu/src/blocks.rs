//! Tokens in GPU memory: blocks of 128, in as many buffers as the binding limit requires.

use super::device::Gpu;
use super::product::{BLOCK, STEP, scores};
use super::units::{Halved, Unit, scores as scores_of_units, tiles};
use super::work::{Access, Kernel, Params, Work, flags};
use attnlab_core::error::{Error, Result};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, ShapeBuilder};
use pulp::bytemuck;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Size of the work that a device is given at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Portions {
    /// Largest number of blocks per side of a square.
    side: usize,
    /// Largest number of floating-point operations of a dispatch.
    dispatch: f64,
}

impl Portions {
    /// For any device: both squares (33.5 MB) fit into a cache, a dispatch takes a tenth of a second at 100 GFLOP/s.
    pub const SMALL: Portions = Portions { side: 16, dispatch: 1.2e10 };
    /// For a card of its own, with a tenth of a second at 1 TFLOP/s. The weights' product then has workgroups for every
    /// unit: on an H100 a softmax layer takes .67 of the time of small squares (N = 32 768, p = 512).
    pub const LARGE: Portions = Portions { side: 32, dispatch: 1.2e11 };
}

/// Largest count of numbers that a kernel writes per block, key side and query (those of the horizon).
pub(super) const PART: usize = 15;

/// Partition of N tokens with p coefficients into blocks and buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Number N of tokens.
    pub tokens: usize,
    /// Number p of coefficients.
    pub dim: usize,
    /// p rounded up to whole steps of the products; the padding is 0.
    pub depth: usize,
    /// Number of blocks of tokens.
    pub blocks: usize,
    /// Number of blocks per side of a square of scores.
    pub side: usize,
    /// Number of blocks per buffer of tokens, a multiple of `side`.
    pub per_buffer: usize,
}

impl Plan {
    /// Makes the plan for coefficients (`dim`, `tokens`); it follows from these, the binding limit and the kind of device.
    ///
    /// # Errors
    /// If the head is too large for the buffers of the GPU.
    pub fn new(gpu: &Gpu, dim: usize, tokens: usize) -> Result<Plan> {
        Plan::within(gpu.largest_binding() as usize, gpu.portions(), dim, tokens)
    }

    /// Makes the plan within a given binding limit, in bytes.
    ///
    /// # Errors
    /// If the head is too large for such buffers.
    pub fn within(limit: usize, portions: Portions, dim: usize, tokens: usize) -> Result<Plan> {
        let depth = dim.next_multiple_of(STEP).max(STEP);
        let blocks = tokens.div_ceil(BLOCK).max(1);
        let block = depth * BLOCK * 4;
        let fits = |side: usize| {
            let cells = (side * BLOCK).pow(2);
            let squares = 2 * cells * 4;
            let part = PART * side * side * BLOCK * 4;
            side * block <= limit && squares <= limit && part <= limit
        };
        // Small heads get smaller squares, which leaves less padding.
        let most = portions.side.min(blocks.div_ceil(4).next_power_of_two());
        let short = |side: usize| 2.0 * ((side * BLOCK) as f64).powi(2) * depth as f64 <= portions.dispatch;
        let sides = std::iter::successors(Some(most), |s| (*s > 1).then_some(s / 2));
        let side = sides.filter(|s| fits(*s)).find(|s| *s == 1 || short(*s));
        let state = PART * blocks * BLOCK * 4;
        let Some(side) = side.filter(|_| state <= limit) else {
            return Err(Error::Gpu(format!(
                "N = {tokens}, p = {dim} needs larger buffers than the {limit} bytes that the GPU \
                 lets a kernel see: write --backend cpu"
            )));
        };
        Ok(Plan {
            tokens,
            dim,
            depth,
            blocks,
            side,
            per_buffer: (limit / (side * block) * side).min(blocks.next_multiple_of(side)),
        })
    }

    /// Returns the number of squares along one side of the score matrix.
    pub fn squares(&self) -> usize {
        self.blocks.div_ceil(self.side)
    }

    /// Returns the number of pairs of squares I ≤ J.
    pub fn pairs(&self) -> u64 {
        let squares = self.squares() as u64;
        squares * (squares + 1) / 2
    }

    /// Returns all pairs in the order of their computation: every column receives its keys from first to
    /// last.
    pub fn each_pair(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.squares()).flat_map(|j| (0..=j).map(move |i| (i, j)))
    }

    /// Returns the number of tokens, with the padding of the last block.
    pub fn padded(&self) -> usize {
        self.blocks * BLOCK
    }

    /// Returns the count of numbers in a square of scores.
    pub fn cells(&self) -> usize {
        (self.side * BLOCK).pow(2)
    }

    /// Returns the blocks of square s.
    pub fn blocks_of(&self, square: usize) -> Range<usize> {
        let first = square * self.side;
        first..(first + self.side).min(self.blocks)
    }

    /// Returns the buffer of square s and the offset of the square in it, in vectors of four.
    pub fn place(&self, square: usize) -> (usize, usize) {
        let first = square * self.side;
        let inside = first % self.per_buffer;
        (first / self.per_buffer, inside * self.depth * BLOCK / 4)
    }

    /// Returns the floating-point operations of the product for `rows` x `cols` blocks.
    pub fn cost(&self, rows: usize, cols: usize) -> f64 {
        2.0 * (rows * cols * BLOCK * BLOCK) as f64 * self.depth as f64
    }

    /// Returns the range of blocks in each buffer.
    fn buffers(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (per, blocks) = (self.per_buffer, self.blocks);
        (0..blocks).step_by(per).map(move |b| b..(b + per).min(blocks))
    }

    /// Returns the parameters that all calls of this head share.
    pub fn params(&self) -> Params {
        Params { depth: self.depth, side: self.side, tokens: self.tokens, padded: self.padded(), ..Params::default() }
    }

    /// Allocates buffers for (p, N) numbers.
    ///
    /// # Errors
    /// If GPU memory is too small or the device fails.
    pub fn empty(&self, gpu: &Gpu, label: &str) -> Result<Vec<wgpu::Buffer>> {
        let bytes = |blocks: Range<usize>| blocks.len() * self.depth * BLOCK * 4;
        self.buffers().map(|blocks| gpu.buffer(label, bytes(blocks))).collect()
    }

    /// Copies the columns of `y` (p, N) to the GPU.
    ///
    /// # Errors
    /// If GPU memory is too small or the device fails.
    pub fn upload(&self, gpu: &Gpu, y: ArrayView2<f32>) -> Result<Vec<wgpu::Buffer>> {
        self.upload_packed(gpu, "tokens", |first, to| pack(y, first, to))
    }

    /// Copies blocks of 128 tokens to the GPU; `pack` writes those from token `first` on into zeros.
    ///
    /// # Errors
    /// If GPU memory is too small or the device fails.
    pub fn upload_packed<T: bytemuck::Pod + Send>(
        &self,
        gpu: &Gpu,
        label: &str,
        pack: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<Vec<wgpu::Buffer>> {
        /// Number of blocks packed at a time: some ten megabytes of copy.
        const SOME: usize = 64;
        let block = self.depth * BLOCK;
        let bytes = block * size_of::<T>();
        let mut buffers = vec![];
        for blocks in self.buffers() {
            let buffer = gpu.buffer(label, blocks.len() * bytes)?;
            for from in blocks.clone().step_by(SOME) {
                let mut packed = vec![T::zeroed(); SOME.min(blocks.end - from) * block];
                packed.par_chunks_exact_mut(block).enumerate().for_each(|(b, to)| pack((from + b) * BLOCK, to));
                gpu.write(&buffer, (from - blocks.start) * bytes, &packed)?;
            }
            buffers.push(buffer);
        }
        Ok(buffers)
    }

    /// Copies numbers (p, N), column-major, from the GPU.
    ///
    /// # Errors
    /// If the device fails.
    pub fn download(&self, gpu: &Gpu, buffers: &[wgpu::Buffer]) -> Result<Array2<f32>> {
        let mut y = Array2::zeros((self.dim, self.tokens).f());
        let block = self.depth * BLOCK;
        for (buffer, blocks) in buffers.iter().zip(self.buffers()) {
            let packed: Vec<f32> = gpu.read(buffer, 0, blocks.len() * block)?;
            let tokens = blocks.start * BLOCK..(blocks.end * BLOCK).min(self.tokens);
            let mut part = y.slice_mut(ndarray::s![.., tokens]);
            let chunks: Vec<_> = part.axis_chunks_iter_mut(Axis(1), BLOCK).collect();
            chunks.into_par_iter().zip(packed.par_chunks_exact(block)).for_each(|(to, from)| unpack(from, to));
        }
        Ok(y)
    }
}

/// Packs tokens `first ..` of `y`, coefficient by coefficient, with 0 beyond the last.
fn pack(y: ArrayView2<f32>, first: usize, to: &mut [f32]) {
    let tokens = first..(first + BLOCK).min(y.ncols());
    for (t, j) in tokens.enumerate() {
        for (m, x) in y.column(j).iter().enumerate() {
            to[m * BLOCK + t] = *x;
        }
    }
}

fn unpack(from: &[f32], mut to: ArrayViewMut2<f32>) {
    for (t, mut column) in to.columns_mut().into_iter().enumerate() {
        for (m, x) in column.iter_mut().enumerate() {
            *x = from[m * BLOCK + t];
        }
    }
}

/// Scores of one pair of squares after the other, in one scratch buffer: the square itself at offset 0,
/// its mirror image after it.
pub(super) struct Scores {
    plan: Plan,
    kernel: Arc<Kernel>,
    /// Buffer of both squares.
    pub scratch: wgpu::Buffer,
    tokens: Vec<wgpu::Buffer>,
    /// Number of workgroups along one side of a block.
    tiles: usize,
    /// Factor on each product, which undoes the scaling of the operands.
    back: f32,
    groups: HashMap<(usize, usize), wgpu::BindGroup>,
}

impl Scores {
    /// Prepares scores of the tokens that [`Plan::upload`] returned.
    ///
    /// # Errors
    /// If GPU memory is too small or the device fails.
    pub fn new(gpu: &Gpu, plan: Plan, tokens: &[wgpu::Buffer]) -> Result<Self> {
        Self::with(gpu, plan, tokens, None, 1.0)
    }

    /// Prepares scores of tokens in half precision, on the unit that multiplies them.
    ///
    /// # Errors
    /// If GPU memory is too small or the device fails.
    pub fn halved(gpu: &Gpu, plan: Plan, tokens: &Halved) -> Result<Self> {
        let units = match tokens.unit {
            Unit::Matrix { size, lanes } => Some((size, lanes)),
            Unit::Rounded => None,
        };
        Self::with(gpu, plan, &tokens.buffers, units, tokens.back)
    }

    fn with(gpu: &Gpu, plan: Plan, tokens: &[wgpu::Buffer], units: Option<(usize, u32)>, back: f32) -> Result<Self> {
        use Access::{Read, Write};
        let access = [Read, Read, Write];
        let (kernel, tiles) = match units {
            None => (gpu.kernel("scores", scores, "main", &access)?, 1),
            Some((size, lanes)) => {
                let text = || scores_of_units(size, lanes);
                let kernel = gpu.kernel("scores on matrix units", text, "main", &access)?;
                (kernel, tiles(size))
            }
        };
        Ok(Scores {
            plan,
            kernel,
            scratch: gpu.buffer("scores", 2 * plan.cells() * 4)?,
            tokens: tokens.to_vec(),
            tiles,
            back,
            groups: HashMap::new(),
        })
    }

    /// Queues the scores of keys I and queries J, and with `mirror` those of keys J and queries I too.
    pub fn queue(&mut self, work: &mut Work, (i, j): (usize, usize), mirror: bool) {
        let plan = self.plan;
        let ((buffer_a, a), (buffer_b, b)) = (plan.place(i), plan.place(j));
        let group = self.groups.entry((buffer_a, buffer_b)).or_insert_with(|| {
            let buffers = [&self.tokens[buffer_a], &self.tokens[buffer_b], &self.scratch];
            work.bind(&self.kernel, &buffers)
        });
        let (rows, cols) = (plan.blocks_of(i).len(), plan.blocks_of(j).len());
        let (d, flags) = match (i == j, mirror) {
            (true, _) => (0, flags::DIAGONAL | flags::SYMMETRIC),
            (false, true) => (plan.cells() / 4, flags::SYMMETRIC),
            (false, false) => (0, 0),
        };
        let params = Params { a, b, d, flags, value: self.back, ..plan.params() };
        let cost = plan.cost(rows, cols) / if i == j { 2.0 } else { 1.0 };
        let size = [cols * self.tiles, rows * self.tiles, 1];
        work.call(&self.kernel, group, &params, size, cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_stay_within_the_limit_and_hold_every_token() {
        let sizes = [(1, 1), (7, 129), (64, 4096), (100, 20_000), (1300, 200_000)];
        let limits = [200_000, 1 << 20, 128 << 20, 4 << 30];
        let both = [Portions::SMALL, Portions::LARGE];
        let cases = limits.map(|limit| both.map(|portions| (limit, portions)));
        for (limit, portions) in cases.into_iter().flatten() {
            for (p, n) in sizes {
                let Ok(plan) = Plan::within(limit, portions, p, n) else {
                    // 60 bytes are kept of every token, 512 of every padded coefficient of a block.
                    let state = n.next_multiple_of(BLOCK) * 4 * PART;
                    assert!(state > limit || p.next_multiple_of(16) * 512 > limit, "{limit} {p} {n}");
                    continue;
                };
                assert!(plan.depth >= p && plan.padded() >= n);
                assert_eq!(plan.per_buffer % plan.side, 0);
                assert!(plan.per_buffer * plan.depth * BLOCK * 4 <= limit);
                assert!(2 * plan.cells() * 4 <= limit);
                let total: usize = plan.buffers().map(|b| b.len()).sum();
                assert_eq!(total, plan.blocks);
                let pairs: Vec<_> = plan.each_pair().collect();
                assert_eq!(pairs.len() as u64, plan.pairs());
                let last = plan.squares() - 1;
                assert_eq!(pairs.last(), Some(&(last, last)));
                let (buffer, offset) = plan.place(last);
                let end = offset * 16 + plan.blocks_of(last).len() * plan.depth * BLOCK * 4;
                let sizes: Vec<_> = plan.buffers().map(|b| b.len() * plan.depth * BLOCK * 4).collect();
                assert!(end <= sizes[buffer], "{plan:?}");
            }
        }
        // The theorem's own scale on a card with bindings of 2 GiB: squares of 4096, elsewhere of 2048.
        for (portions, side, squares) in [(Portions::LARGE, 32, 49), (Portions::SMALL, 16, 98)] {
            let plan = Plan::within(2 << 30, portions, 1300, 200_000).unwrap();
            assert_eq!((plan.side, plan.depth, plan.squares()), (side, 1312, squares));
        }
    }
}
