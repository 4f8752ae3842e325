//! Pass of the depth horizon: the same numbers of every token as in the CPU's pass, and bounds on their
//! rounding errors.

use super::UNIT;
use super::blocks::{PART, Plan, Scores};
use super::device::Gpu;
use super::product::BLOCK;
use super::units::{Halved, Unit};
use super::work::{Access, Params, Work};
use attnlab_core::error::Result;
use attnlab_theory::attention::streaming::horizon::{NODES, Pass, Seen, gamma};

/// Value that the kernels write for a missing score.
const LOWEST: f32 = -3.4e38;

/// Runs one pass over all scores of a head, on matrix units if they may be used. `tick` is called for
/// every pair of squares.
pub(super) fn pass(gpu: &Gpu, task: &Pass, unit: Option<Unit>, tick: &(dyn Fn() + Sync)) -> Result<Seen> {
    use Access::{Read, Write};
    let (dim, tokens) = task.y.dim();
    let plan = Plan::new(gpu, dim, tokens)?;
    let text = || include_str!("horizon.wgsl").to_string();
    let kernel = |entry| gpu.kernel("horizon", text, entry, &[Read, Write, Write, Read]);
    let (columns, merge) = (kernel("columns")?, kernel("merge")?);

    let half = unit.map(|unit| Halved::new(gpu, unit, plan, task.y));
    let half = half.transpose()?.flatten();
    let mut scores = match &half {
        Some(half) => Scores::halved(gpu, plan, half)?,
        None => Scores::new(gpu, plan, &plan.upload(gpu, task.y)?)?,
    };
    let part = gpu.buffer("parts", PART * plan.side * plan.side * BLOCK * 4)?;
    let mut start = vec![0.0_f32; PART * plan.padded()];
    start[..2 * plan.padded()].fill(LOWEST);
    let state = gpu.filled("tokens' sums", &start)?;
    drop(start);
    let mut seen = task.unseen(0..tokens);
    let mut grid = vec![0.0_f32; 2 * plan.padded()];
    grid[..tokens].copy_from_slice(&seen.scale);
    grid[plan.padded()..][..tokens].copy_from_slice(&seen.shift);
    let grid = gpu.filled("grids", &grid)?;

    let mut work = Work::new(gpu, tick)?;
    let buffers = [&scores.scratch, &part, &state, &grid];
    let groups = [work.bind(&columns, &buffers), work.bind(&merge, &buffers)];
    for (i, j) in plan.each_pair() {
        scores.queue(&mut work, (i, j), true);
        let mut side = |keys: usize, queries: usize, a: usize| {
            let (keys, queries) = (plan.blocks_of(keys), plan.blocks_of(queries));
            let params = Params {
                a,
                rows: keys.len(),
                row0: keys.start * BLOCK,
                col0: queries.start * BLOCK,
                own: (task.own.start, task.own.end),
                ..plan.params()
            };
            let (cols, rows) = (queries.len(), keys.len());
            // The kernel takes about forty operations per score; joining the blocks takes next to none.
            let cost = 40.0 * (rows * cols * BLOCK * BLOCK) as f64;
            work.call(&columns, &groups[0], &params, [cols, rows, 1], cost);
            work.call(&merge, &groups[1], &params, [cols, PART, 1], 0.0);
        };
        side(i, j, 0);
        if i != j {
            side(j, i, plan.cells());
        }
        work.step()?;
    }
    work.finish()?;

    let state: Vec<f32> = gpu.read(&state, 0, PART * plan.padded())?;
    let row = |q: usize| &state[q * plan.padded()..][..tokens];
    let largest = |x: &f32| if *x <= LOWEST { f32::NEG_INFINITY } else { *x };
    seen.top = row(0).iter().map(largest).collect();
    seen.other = row(1).iter().map(largest).collect();
    seen.fixed = row(2).iter().map(|x| f64::from(*x)).collect();
    for (g, row) in (0..NODES).map(|g| (g, row(3 + g))) {
        for (sums, x) in seen.sums.iter_mut().zip(row) {
            sums[g] = f64::from(*x);
        }
    }
    Ok(Seen {
        blocks: vec![seen],
        width: tokens,
        gamma: half.as_ref().map_or(gamma(plan.depth, UNIT), |h| h.gamma),
        coarse: half.is_some(),
        sums: sums_error(&plan),
    })
}

/// Bounds the error of the logarithm of a sum, for exact scores. The bound is that of the CPU (see
/// `streaming::horizon::brackets`) with a full unit for every operation: 2^x errs by 4e-7 and its
/// argument, computed in two operations and at most 20 where a term matters, by 40 units, both raised to
/// the twelfth power; twelve units for the powers. A sum passes through at most 16 + 8 + 2 additions in a
/// block of keys (which the ends of C_k may cut into three parts), then one for every block of a square
/// and one for every square. The total is multiplied by 1.5, which covers the second-order terms of the
/// logarithm.
fn sums_error(plan: &Plan) -> f64 {
    let terms = NODES as f64 * (4e-7 + 40.0 * UNIT + UNIT);
    let additions = (26 + plan.side + plan.squares()) as f64 * UNIT;
    1.5 * (terms + additions)
}
