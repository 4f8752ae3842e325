//! Exponential function of the inner loops, equal to the bit on every vector width.
//!
//! Each lane is computed by one sequence of correctly rounded operations without fused
//! multiply-add, and sums run in a fixed number of lanes, so neither the compiler's choice of
//! instructions nor the machine's vector width can change a result.

use super::kernels::dot_f64;
use super::layer::Streamed;
use super::pass::Streaming;
use super::problem::Problem;
use super::width::at_full_width;
use attnlab_core::linalg::Real;

/// Number of partial sums in which a slice is added up: two AVX2 registers or one AVX-512 register of `f32`.
pub const LANES: usize = 16;

/// A [`Real`] type with an exp that the compiler can vectorise.
pub trait Exp: Real {
    /// Bound at or below which exp(x) is exactly 0.
    const ZERO_BELOW: Self;

    /// Computes exp(x) to within 2 units in the last place for x up to 88.37 (`f32`) or 709.4 (`f64`),
    /// and +∞ beyond (scores minus their maximum are never positive). exp(0) is exactly 1. If the true
    /// value is below the smallest normal number the result may be 0; -∞ gives 0, NaN gives NaN.
    ///
    /// ```
    /// use attnlab_theory::attention::streaming::Exp;
    /// assert_eq!(f32::exp_lane(0.0), 1.0);
    /// assert_eq!(f64::exp_lane(f64::NEG_INFINITY), 0.0);
    /// // 2 units in the last place here and one of the standard library; below 1/2 a unit is ε/4 at most.
    /// assert!((f64::exp_lane(-1.0) - (-1.0_f64).exp()).abs() < 0.75 * f64::EPSILON);
    /// ```
    fn exp_lane(x: Self) -> Self;

    /// Runs a pass in this precision.
    fn attend(pass: &dyn Streaming, head: &Problem<Self>) -> Streamed<Self>;

    /// Computes Σ_i a_i b_i in f64, in a fixed number of lanes.
    ///
    /// # Panics
    /// When the lengths differ.
    ///
    /// ```
    /// use attnlab_theory::attention::streaming::Exp;
    /// // In f32 the first product would be rounded to 1 + 2⁻¹¹, and the sum to 2⁻¹¹.
    /// let a = [1.0 + 2.0_f32.powi(-12), 1.0];
    /// assert_eq!(f32::dot_f64(&a, &[f64::from(a[0]), -1.0]), 2.0_f64.powi(-11) + 2.0_f64.powi(-24));
    /// ```
    fn dot_f64(a: &[Self], b: &[f64]) -> f64;
}

/// Both types share the scheme: n = round(x / ln 2), f = x - n ln 2 with ln 2 in two parts,
/// e^f = 1 + f + f² q(f), times 2^n built from its bits. Adding `$magic` rounds to a whole number
/// and leaves n + bias in the low bits. q interpolates (e^f - 1 - f)/f² at Chebyshev nodes of
/// |f| <= ln 2 / 2, solved with 50 digits in mpmath; its relative error in e^f is 1.0e-8 for `f32`
/// and 1.7e-17 for `f64`, below a fifth of a rounding error.
macro_rules! exp {
    ($t:ty, $attend:ident, $lowest:expr, $highest:expr, $magic:expr, $bits:expr, $ln2_high:expr, $ln2_low:expr, [$($q:expr),*]) => {
        impl Exp for $t {
            const ZERO_BELOW: $t = $lowest;

            #[inline(always)]
            fn exp_lane(x: $t) -> $t {
                // The bounds are where 2^n becomes 0 and +∞. Written so that NaN stays NaN.
                let x = if x < $lowest { $lowest } else { x };
                let x = if x > $highest { $highest } else { x };
                let shifted = x * (std::f64::consts::LOG2_E as $t) + $magic;
                let n = shifted - $magic;
                let f = (x - n * $ln2_high) - n * $ln2_low;
                let q = horner(f, [$($q),*]);
                let power = <$t>::from_bits(shifted.to_bits() << $bits);
                (1.0 + (f + f * f * q)) * power
            }

            fn attend(pass: &dyn Streaming, head: &Problem<$t>) -> Streamed<$t> {
                pass.$attend(head)
            }

            fn dot_f64(a: &[$t], b: &[f64]) -> f64 {
                dot_f64(a, b)
            }
        }
    };
}

exp!(
    f32,
    attend_f32,
    -88.0,
    88.8,
    12_582_912.0 + 127.0, // 1.5 · 2^23, plus the bias of the exponent
    23,
    0.693_359_4, // 355/512: nine bits, so that n times it is exact
    -2.121_944_4e-4,
    [0.5, 0.166_665_78, 0.041_666_556, 0.008_363_173, 0.001_392_617_6]
);
exp!(
    f64,
    attend_f64,
    -709.0,
    709.8,
    6_755_399_441_055_744.0 + 1023.0, // 1.5 · 2^52, plus the bias
    52,
    6.931_471_803_691_238e-1, // ln 2 to 33 bits, so that n times it is exact
    1.908_214_929_270_587_7e-10,
    [
        0.5,
        0.166_666_666_666_666_69,
        0.041_666_666_666_624_164,
        0.008_333_333_333_330_065,
        0.001_388_888_891_719_672,
        0.000_198_412_698_630_405_45,
        2.480_152_132_236_869e-5,
        2.755_726_848_031_002_4e-6,
        2.762_067_587_998_337e-7,
        2.510_037_583_256_123_4e-8
    ]
);

/// Evaluates the polynomial Σ_k c_k x^k.
#[inline(always)]
fn horner<T: Copy + std::ops::Add<Output = T> + std::ops::Mul<Output = T>, const N: usize>(x: T, c: [T; N]) -> T {
    let mut value = c[N - 1];
    for k in (0..N - 1).rev() {
        value = value * x + c[k];
    }
    value
}

/// Adds the lanes pairwise, in a fixed order.
///
/// ```
/// use attnlab_theory::attention::streaming::fold_lanes;
/// assert_eq!(fold_lanes(std::array::from_fn(|l| l as f64)), 120.0);
/// ```
#[inline(always)]
pub fn fold_lanes<T: Real>(mut lanes: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Finds the largest element of a slice; -∞ if it is empty. NaN is passed over.
///
/// As [`exp_shifted`] it is inlined into its caller, so that it is compiled for the caller's vector width.
///
/// ```
/// use attnlab_theory::attention::streaming::largest;
/// assert_eq!(largest(&[1.0, 3.0, 2.0]), 3.0);
/// assert_eq!(largest::<f32>(&[]), f32::NEG_INFINITY);
/// ```
#[inline(always)]
pub fn largest<T: Real>(x: &[T]) -> T {
    let mut lanes = [T::neg_infinity(); LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    let larger = |max: T, x: T| if x > max { x } else { max };
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = larger(lanes[l], chunk[l]);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = larger(*lane, *x);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = larger(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Replaces x_i by exp(x_i - shift) in place and returns the sum of the results.
///
/// The function is inlined into its caller, so that it is compiled for the vector width of a caller inside
/// [`at_full_width`](super::at_full_width).
///
/// ```
/// use attnlab_theory::attention::streaming::exp_shifted;
/// let mut x = [2.0, 2.0, f64::NEG_INFINITY];
/// assert_eq!(exp_shifted(&mut x, 2.0), 2.0);
/// assert_eq!(x, [1.0, 1.0, 0.0]);
/// ```
#[inline(always)]
pub fn exp_shifted<T: Exp>(x: &mut [T], shift: T) -> T {
    let mut lanes = [T::zero(); LANES];
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            chunk[l] = T::exp_lane(chunk[l] - shift);
            lanes[l] += chunk[l];
        }
    }
    if !rest.is_empty() {
        // A whole vector costs less than a few elements one by one. exp(-∞) is 0, which changes no sum.
        let mut last = [T::neg_infinity(); LANES];
        last[..rest.len()].copy_from_slice(rest);
        for l in 0..LANES {
            last[l] = T::exp_lane(last[l] - shift);
            lanes[l] += last[l];
        }
        rest.copy_from_slice(&last[..rest.len()]);
    }
    fold_lanes(lanes)
}

/// Computes Σ_i exp(x_i - shift), in the same order as [`exp_shifted`].
#[inline(always)]
pub(super) fn sum_exp_shifted<T: Exp>(x: &[T], shift: T) -> T {
    let mut lanes = [T::zero(); LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] += T::exp_lane(chunk[l] - shift);
        }
    }
    for (l, x) in rest.iter().enumerate() {
        lanes[l] += T::exp_lane(*x - shift);
    }
    fold_lanes(lanes)
}

/// Replaces x_i by exp(x_i) in a whole slice, at the full vector width of the CPU.
///
/// ```
/// let mut x = [0.0_f32, 1.0, f32::NEG_INFINITY];
/// attnlab_theory::attention::streaming::exp_in_place(&mut x);
/// assert!(x[0] == 1.0 && (x[1] - std::f32::consts::E).abs() < 5e-7 && x[2] == 0.0);
/// ```
pub fn exp_in_place<T: Exp>(x: &mut [T]) {
    at_full_width(
        #[inline(always)]
        || {
            let (chunks, rest) = x.as_chunks_mut::<LANES>();
            for chunk in chunks {
                for value in chunk {
                    *value = T::exp_lane(*value);
                }
            }
            for value in rest {
                *value = T::exp_lane(*value);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units in the last place of the true value, taken from the wider type.
    fn ulps_f32(got: f32, x: f32) -> f64 {
        let true_value = f64::from(x).exp();
        let unit = (true_value as f32).max(f32::MIN_POSITIVE);
        let unit = f64::from(f32::from_bits(unit.to_bits() + 1)) - f64::from(unit);
        (f64::from(got) - true_value).abs() / unit
    }

    #[test]
    fn f32_within_two_ulps_of_std_over_the_whole_range() {
        let mut worst = 0.0_f64;
        let inputs: Vec<f32> = (0..1_000_003).map(|i| -87.99 + i as f32 * 1.763e-4).collect();
        let mut outputs = inputs.clone();
        exp_in_place(&mut outputs);
        for (&x, &got) in inputs.iter().zip(&outputs) {
            if x < -87.33 {
                assert!((f64::from(got) - f64::from(x).exp()).abs() < f64::from(f32::MIN_POSITIVE));
            } else if x < 88.37 {
                worst = worst.max(ulps_f32(got, x));
            }
            assert_eq!(got.to_bits(), f32::exp_lane(x).to_bits(), "vector and scalar at {x}");
        }
        assert!(worst < 2.0, "{worst} ulps");
    }

    #[test]
    fn f64_within_two_ulps_of_std_over_the_whole_range() {
        let mut worst = 0_i64;
        for i in 0..1_000_003 {
            // An irrational step, so that the low bits of the argument vary.
            let x = -708.0 + f64::from(i) * 1.417e-3 * std::f64::consts::FRAC_1_SQRT_2 * 1.414;
            if x < 709.0 {
                worst = worst.max((f64::exp_lane(x).to_bits() as i64 - x.exp().to_bits() as i64).abs());
            }
        }
        // std's own error is below one ulp.
        assert!(worst <= 2, "{worst} ulps");
    }

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(f32::exp_lane(f32::NEG_INFINITY), 0.0);
        assert_eq!(f32::exp_lane(-1e30), 0.0);
        assert_eq!(f32::exp_lane(f32::ZERO_BELOW), 0.0);
        assert_eq!(f32::exp_lane(89.0), f32::INFINITY);
        assert_eq!(f32::exp_lane(f32::INFINITY), f32::INFINITY);
        assert!(f32::exp_lane(f32::NAN).is_nan());
        assert_eq!(f32::exp_lane(-0.0), 1.0);
        assert_eq!(f64::exp_lane(f64::NEG_INFINITY), 0.0);
        assert_eq!(f64::exp_lane(f64::ZERO_BELOW), 0.0);
        assert_eq!(f64::exp_lane(f64::MIN), 0.0);
        assert_eq!(f64::exp_lane(710.0), f64::INFINITY);
        assert!(f64::exp_lane(f64::NAN).is_nan());
        // The smallest normals are still right: 2^-126 and 2^-1022.
        assert!(ulps_f32(f32::exp_lane(-87.3), -87.3) < 2.0);
        let x = -708.3_f64;
        // 2 units in the last place and one of the standard library, and the division: a unit is ε at most.
        assert!((f64::exp_lane(x) / x.exp() - 1.0).abs() < 4.0 * f64::EPSILON);
    }

    #[test]
    fn sums_are_those_of_the_values() {
        for len in [0, 1, 15, 16, 17, 100] {
            let x: Vec<f64> = (0..len).map(|i| -0.37 * i as f64).collect();
            let mut values = x.clone();
            let sum = exp_shifted(&mut values, 1.0);
            assert_eq!(sum.to_bits(), sum_exp_shifted(&x, 1.0).to_bits());
            let plain: f64 = x.iter().map(|x| (x - 1.0).exp()).sum();
            assert!((sum - plain).abs() <= 1e-14 * plain, "{len}: {sum} {plain}");
        }
    }
}
