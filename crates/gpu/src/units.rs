//! Scores on matrix units: operands in half precision (f16), sums in f32.
//!
//! Only passes that end in decisions use them: the depth horizon, and the φ that keep or drop entries. A
//! decision within the error bound below is repeated from scores in f64, and a pass that leaves too many
//! decisions open is repeated in f32, so that the result equals that of the CPU either way.
//!
//! *Error bound.* A head is multiplied by a power of two, which brings its largest coefficient to
//! [2^12, 2^13), and rounded to f16. With r_i the rounding of token i and ρ = max |r_i|/|y_i|, both
//! known once the tokens are rounded (about 2e-4, at most 2^-11 or f32 is used), Cauchy-Schwarz gives
//! (2ρ + ρ²)|y_i||y_j| for exact sums of the rounded products. A number that f16 holds as a subnormal
//! counts as lost, since hardware may read it as 0. Products of two f16 are exact in f32; how many
//! terms a matrix unit adds at a time, and in which order, is not laid down, so every term is charged
//! two f32 additions of a full [`UNIT`] each: γ(2p). That leaves room for sums that are aligned to
//! their largest term and cut off.
//!
//! WGSL has no cooperative matrices. wgpu offers them as an experiment, and the order of their sums is
//! specified by the hardware alone. The units of a device are therefore used only after one of their
//! products was compared with f64.

use super::UNIT;
use super::blocks::{Plan, Scores};
use super::device::Gpu;
use super::product::BLOCK;
use super::work::Work;
use attnlab_core::error::Result;
use attnlab_theory::attention::streaming::horizon::gamma;
use half::f16;
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, ShapeBuilder};
use rayon::prelude::*;
use std::fmt::Write;

/// Unit that multiplies numbers in half precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    /// Matrix units: squares of `size`, shared by `lanes` invocations.
    Matrix { size: usize, lanes: u32 },
    /// Products in f32 of numbers rounded to half precision: the same bound, for tests.
    Rounded,
}

/// Number of fragments per side of a tile: the sums of sixteen fragments fill the registers of a
/// subgroup.
const FRAGMENTS: usize = 4;

/// Largest relative rounding error of a token. Normal numbers of 11 bits lose at most 2^-11, which
/// `rounding` reports a billionth larger; subnormals that matter lose far more than the thousandth
/// allowed beyond it.
const MOST_LOST: f64 = 1.001 / 2048.0;

/// Exponent to which the largest coefficient is scaled: products stay far below the largest f32, and the
/// coefficient is 2^26 times the smallest normal f16.
const TOP: i32 = 12;

/// Tokens in half precision in GPU memory.
pub(super) struct Halved {
    pub unit: Unit,
    pub buffers: Vec<wgpu::Buffer>,
    /// Factor 2^(-2e) that undoes the scaling of a product by 2^(2e).
    pub back: f32,
    /// Rounding constant γ: a score errs by at most γ |y_i||y_j|.
    pub gamma: f64,
}

impl Halved {
    /// Rounds the columns of `y` (p, N) to half precision; `None` if they lose more than f16 loses on
    /// normal numbers.
    ///
    /// # Errors
    /// If GPU memory is too small or the device fails.
    pub fn new(gpu: &Gpu, unit: Unit, plan: Plan, y: ArrayView2<f32>) -> Result<Option<Self>> {
        let scale = scale(y);
        let rho = rounding(y, scale);
        if rho > MOST_LOST {
            return Ok(None);
        }
        let (buffers, back) = match unit {
            Unit::Matrix { size, .. } => {
                let pack = |first: usize, to: &mut [f16]| pack(y, first, scale, size, to);
                let buffers = plan.upload_packed(gpu, "tokens in f16", pack)?;
                (buffers, (scale * scale).recip())
            }
            Unit::Rounded => {
                let mut rounded = Array2::zeros(y.raw_dim().f());
                rounded.assign(&y);
                round(rounded.view_mut(), scale);
                (plan.upload(gpu, rounded.view())?, 1.0)
            }
        };
        Ok(Some(Halved { unit, buffers, back, gamma: bound(rho, plan.depth) }))
    }
}

/// Returns γ of a head whose tokens lost at most the share `rho` of their length.
fn bound(rho: f64, depth: usize) -> f64 {
    2.0 * rho + rho * rho + (1.0 + rho).powi(2) * gamma(2 * depth, UNIT)
}

/// Returns the power of two that scales the largest coefficient to [2^12, 2^13); its square is a normal
/// f32.
fn scale(y: ArrayView2<f32>) -> f32 {
    let of_token = |token: ArrayView1<f32>| token.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let tokens: Vec<_> = y.axis_iter(Axis(1)).collect();
    let largest = tokens.into_par_iter().map(of_token).reduce(|| 0.0, f32::max);
    if largest == 0.0 {
        return 1.0;
    }
    let exponent = f64::from(largest).log2().floor() as i32;
    2_f32.powi((TOP - exponent).clamp(-60, 60))
}

fn round(mut y: ArrayViewMut2<f32>, scale: f32) {
    y.mapv_inplace(|x| f16::from_f32(x * scale).to_f32() / scale);
}

/// Returns ρ, the largest |r_i|/|y_i|.
fn rounding(y: ArrayView2<f32>, scale: f32) -> f64 {
    let lost = |x: &f32| {
        // Computed in f64, where nothing underflows; a number that is 0 in f32 counts as lost.
        let (x, half) = (f64::from(*x) * f64::from(scale), f16::from_f32(x * scale));
        let error = (x - f64::from(half.to_f32())).abs();
        // Hardware may read a subnormal as 0.
        let error = if half.is_normal() { error } else { error.max(x.abs()) };
        [error * error, x * x]
    };
    let of_token = |token: ArrayView1<f32>| {
        let [error, length] = token.iter().map(lost).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        if length > 0.0 { (error / length).sqrt() } else { 0.0 }
    };
    let tokens: Vec<_> = y.axis_iter(Axis(1)).collect();
    let errors = tokens.into_par_iter().map(of_token);
    // The factor covers the errors of the f64 sums above, which are far smaller.
    errors.reduce(|| 0.0, f64::max) * (1.0 + 1e-9)
}

/// Packs tokens `first ..` of `y` into fragments of `size` coefficients x `size` tokens, each contiguous:
/// [step][group of tokens][coefficient][token]. The same fragment is a left operand if read by columns
/// and a right operand if read by rows.
fn pack(y: ArrayView2<f32>, first: usize, scale: f32, size: usize, to: &mut [f16]) {
    let groups = BLOCK / size;
    for (t, j) in (first..(first + BLOCK).min(y.ncols())).enumerate() {
        for (k, x) in y.column(j).iter().enumerate() {
            let fragment = k / size * groups + t / size;
            to[(fragment * size + k % size) * size + t % size] = f16::from_f32(x * scale);
        }
    }
}

/// Returns the number of tiles along one side of a block.
pub(super) fn tiles(size: usize) -> usize {
    BLOCK / (FRAGMENTS * size)
}

/// Returns the kernel of the scores of blocks of keys and queries, as in `product::scores`, in tiles of
/// `FRAGMENTS * size`: one workgroup of one subgroup each (workgroup y: keys, x: queries).
///
/// Operands are read from the cache, without a copy in workgroup memory: fragments are contiguous, and a
/// tile reads 2 * 64 numbers for 64 * 64 multiply-adds.
pub(super) fn scores(size: usize, lanes: u32) -> String {
    let fragment = size * size;
    let (tile, tiles) = (FRAGMENTS * size, tiles(size));
    let mut text = format!(
        "enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(1) var<storage, read> y_a: array<f16>;
@group(0) @binding(2) var<storage, read> y_b: array<f16>;
@group(0) @binding(3) var<storage, read_write> s: array<f32>;
@compute @workgroup_size({lanes})
fn main(@builtin(workgroup_id) wid: vec3u) {{
    // The lower half is the mirror image of the upper half. (There is no && here nor below: it compiles
    // to a variable, which the validator treats as different in different invocations.)
    let diagonal = (p.flags & DIAGONAL) != 0u;
    if (diagonal & (wid.y > wid.x)) {{ return; }}
    let keys = wid.y / {tiles}u;
    let queries = wid.x / {tiles}u;
    let row = wid.y % {tiles}u * {tile}u;
    let col = wid.x % {tiles}u * {tile}u;
    var a = 4u * p.a + keys * p.depth * 128u + row * {size}u;
    var b = 4u * p.b + queries * p.depth * 128u + col * {size}u;
"
    );
    let cells = || (0..FRAGMENTS).flat_map(|i| (0..FRAGMENTS).map(move |j| (i, j)));
    for (i, j) in cells() {
        let _ = writeln!(text, "    var c{i}{j} = coop_mat{size}x{size}<f32, C>();");
    }
    let _ = writeln!(text, "    for (var k = 0u; k < p.depth; k += {size}u) {{");
    for i in 0..FRAGMENTS {
        let offset = i * fragment;
        let _ = write!(
            text,
            "        let l{i} = coopLoad<coop_mat{size}x{size}<f16, A>>(&y_a[a + {offset}u], {size}u);
        let r{i} = coopLoadT<coop_mat{size}x{size}<f16, B>>(&y_b[b + {offset}u], {size}u);
"
        );
    }
    for (i, j) in cells() {
        let _ = writeln!(text, "        c{i}{j} = coopMultiplyAdd(l{i}, r{j}, c{i}{j});");
    }
    let _ = write!(
        text,
        "        a += {step}u;
        b += {step}u;
    }}
    let plain = 4u * p.c + (keys * p.side + queries) * 16384u + row * 128u + col;
",
        step = size * BLOCK
    );
    for (i, j) in cells() {
        let offset = i * size * BLOCK + j * size;
        let _ = writeln!(text, "    c{i}{j} = c{i}{j} * p.value;");
        let _ = writeln!(text, "    coopStoreT(c{i}{j}, &s[plain + {offset}u], 128u);");
    }
    text += "    if (((p.flags & SYMMETRIC) == 0u) | (diagonal & (wid.x == wid.y))) { return; }
    let mirror = 4u * p.d + (queries * p.side + keys) * 16384u + col * 128u + row;
";
    for (i, j) in cells() {
        let offset = j * size * BLOCK + i * size;
        let _ = writeln!(text, "    coopStore(c{i}{j}, &s[mirror + {offset}u], 128u);");
    }
    text + "}\n"
}

/// Compares scores of the device's units with f64, mirror image and diagonal included.
///
/// # Errors
/// If a score differs from f64 by more than the bound; the text describes it.
pub(super) fn check(gpu: &Gpu, unit: Unit) -> std::result::Result<(), String> {
    let run = || -> Result<Option<String>> {
        // The plan has five blocks in squares of two, the last not full, and an inner dimension that is
        // no multiple of a fragment.
        let y = Array2::from_shape_fn((37, 600).f(), |(m, j)| {
            let x = (m as f64 * 12.9898 + j as f64 * 78.233).sin() * 43758.5453;
            ((x - x.floor() - 0.5) * (1.0 + (j % 7) as f64)) as f32
        });
        let plan = Plan::new(gpu, y.nrows(), y.ncols())?;
        let Some(halved) = Halved::new(gpu, unit, plan, y.view())? else {
            return Ok(Some("the test numbers cannot be rounded to f16".into()));
        };
        let mut scores = Scores::halved(gpu, plan, &halved)?;
        let mut work = Work::new(gpu, &|| {})?;
        for pair in plan.each_pair() {
            scores.queue(&mut work, pair, true);
            work.finish()?;
            let both: Vec<f32> = gpu.read(&scores.scratch, 0, 2 * plan.cells())?;
            let (i, j) = pair;
            let (plain, mirror) = both.split_at(plan.cells());
            let mut sides = vec![((i, j), plain)];
            sides.extend((i != j).then_some(((j, i), mirror)));
            for ((keys, queries), scores) in sides {
                let wrong = first_wrong(&plan, y.view(), (keys, queries), scores, halved.gamma);
                if wrong.is_some() {
                    return Ok(wrong);
                }
            }
        }
        Ok(None)
    };
    match run() {
        Ok(None) => Ok(()),
        Ok(Some(wrong)) => Err(wrong),
        Err(error) => Err(error.to_string()),
    }
}

/// Finds the first score of a square whose distance from f64 exceeds the bound.
fn first_wrong(
    plan: &Plan,
    y: ArrayView2<f32>,
    (keys, queries): (usize, usize),
    scores: &[f32],
    gamma: f64,
) -> Option<String> {
    let dot = |i: usize, j: usize| -> f64 {
        y.column(i).into_iter().zip(y.column(j)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let tokens = |square: usize| {
        let blocks = plan.blocks_of(square);
        blocks.start * BLOCK..(blocks.end * BLOCK).min(plan.tokens)
    };
    let (rows, cols) = (tokens(keys), tokens(queries));
    for i in rows.clone() {
        for j in cols.clone() {
            let (r, c) = (i - rows.start, j - cols.start);
            let block = r / BLOCK * plan.side + c / BLOCK;
            let score = scores[(block * BLOCK + r % BLOCK) * BLOCK + c % BLOCK];
            let exact = dot(i, j);
            let bound = gamma * (dot(i, i) * dot(j, j)).sqrt();
            if (f64::from(score) - exact).abs() > bound || score.is_nan() {
                return Some(format!("the product of tokens {i} and {j} came out as {score} instead of {exact:.6}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Portions;
    use super::super::work::with_common;
    use super::*;

    /// Units of either size, whatever this machine has: the text passes wgpu's own front end, control flow
    /// included.
    #[test]
    fn the_kernel_is_valid_for_every_size() {
        use wgpu::naga::{front::wgsl, valid};
        for (size, lanes) in [(8, 8), (8, 32), (16, 32), (16, 64)] {
            let text = with_common(&super::scores(size, lanes));
            let module = wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&text)));
            let flags = valid::ValidationFlags::all();
            let mut validator = valid::Validator::new(flags, valid::Capabilities::all());
            if let Err(e) = validator.validate(&module) {
                panic!("{size}: {}", e.emit_to_string(&text));
            }
        }
    }

    #[test]
    fn rounding_is_bounded_by_what_is_measured() {
        let y = Array2::from_shape_fn((50, 90), |(m, j)| ((m * 91 + j * 7919) as f32).sin() * 3.0);
        let scale = scale(y.view());
        let largest = y.iter().fold(0.0_f32, |m, x| m.max(x.abs())) * scale;
        assert!((4096.0..8192.0).contains(&largest), "{largest}");
        let rho = rounding(y.view(), scale);
        // f16 rounds to nearest with 11 bits.
        assert!(rho > 1e-4 && rho < 2_f64.powi(-11), "{rho}");
        let mut rounded = y.clone();
        round(rounded.view_mut(), scale);
        let dot = |a: &Array2<f32>, i: usize, j: usize| -> f64 {
            a.column(i).into_iter().zip(a.column(j)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let mut worst = 0.0_f64;
        for i in 0..90 {
            for j in 0..90 {
                let gap = (dot(&rounded, i, j) - dot(&y, i, j)).abs();
                worst = worst.max(gap / (dot(&y, i, i) * dot(&y, j, j)).sqrt());
            }
        }
        let allowed = 2.0 * rho + rho * rho;
        // Roundings of 50 coefficients cancel to about a seventh, of which the worst pair is some multiple:
        // far below a twentieth, nothing would have been rounded.
        assert!(worst <= allowed && worst > allowed / 20.0, "{worst} {allowed}");
    }

    #[test]
    fn numbers_that_f16_cannot_hold_count_as_lost() {
        // One token 2^30 times shorter than the other.
        let mut y = Array2::from_elem((4, 2), 1.0_f32);
        y.column_mut(1).fill(2_f32.powi(-30));
        assert_eq!(rounding(y.view(), scale(y.view())), 1.0 + 1e-9);
        // Short and long alike, and nothing at all.
        for size in [1e-12_f32, 1.0, 1e15] {
            let y = Array2::from_elem((4, 2), size);
            let rho = rounding(y.view(), scale(y.view()));
            assert!(rho < 2_f64.powi(-11), "{size}: {rho}");
        }
        assert_eq!(rounding(Array2::zeros((4, 2)).view(), 1.0), 0.0);
        // A token that f32 itself loses when it is scaled.
        let mut y = Array2::from_elem((4, 2), 1e15_f32);
        y.column_mut(1).fill(f32::from_bits(1));
        assert_eq!(rounding(y.view(), scale(y.view())), 1.0 + 1e-9);
        // Beyond what can be scaled: not usable, and no NaN.
        for size in [1e-38_f32, 1e38] {
            let y = Array2::from_elem((4, 2), size);
            assert!(rounding(y.view(), scale(y.view())) >= 1.0, "{size}");
        }
    }

    #[test]
    fn a_fragment_holds_each_coefficient_once() {
        let y = Array2::from_shape_fn((20, 130), |(m, j)| (m * 130 + j) as f32 / 2.0);
        for size in [8, 16] {
            let depth = 32;
            let mut packed = vec![f16::ZERO; depth * BLOCK];
            pack(y.view(), 0, 1.0, size, &mut packed);
            let at = |k: usize, t: usize| {
                let fragment = (k / size) * (BLOCK / size) + t / size;
                packed[fragment * size * size + (k % size) * size + t % size].to_f32()
            };
            for k in 0..depth {
                for t in 0..BLOCK {
                    let wanted = if k < 20 { f16::from_f32(y[[k, t]]).to_f32() } else { 0.0 };
                    assert_eq!(at(k, t), wanted);
                }
            }
        }
    }

    /// The comparison finds what is wrong: a score of the wrong place, NaN, a lost mirror image.
    #[test]
    fn wrong_scores_are_found() {
        let y = Array2::from_shape_fn((9, 128), |(m, j)| ((m * 17 + j * 29) as f32).sin());
        let plan = Plan::within(1 << 20, Portions::SMALL, 9, 128).unwrap();
        let exact = y.mapv(f64::from);
        let scores = exact.t().dot(&exact).mapv(|x| x as f32);
        let right: Vec<f32> = scores.iter().copied().collect();
        let wrong_score = |scores: &[f32]| first_wrong(&plan, y.view(), (0, 0), scores, 1e-3);
        assert_eq!(wrong_score(&right), None);
        for (place, value) in [(0, f32::NAN), (5 * 128 + 3, 0.0), (127 * 128 + 127, -right[127 * 128 + 127])] {
            let mut wrong = right.clone();
            wrong[place] = value;
            let text = wrong_score(&wrong).expect("a wrong score");
            assert!(text.contains(&format!("tokens {} and {}", place / 128, place % 128)), "{text}");
        }
        let mut shifted = right.clone();
        shifted.rotate_right(1);
        assert!(wrong_score(&shifted).is_some());
    }
}
