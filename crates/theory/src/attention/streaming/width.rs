//! Vectors of the full width of the CPU.

/// Runs `work` in code for vectors of 256 bits where the CPU has them, otherwise of what every CPU of its kind has.
///
/// Write the closure in place, with `inline(always)`: it then becomes part of that code. Otherwise, and as the argument of
/// [`pulp::Arch::dispatch`] itself, it is compiled apart, for vectors of four numbers. The width changes no bit: a compiler
/// neither reorders sums nor fuses products into them.
///
/// ```
/// use attnlab_theory::attention::streaming::at_full_width;
/// let x = [1.0, 2.0, 3.0];
/// let sum: f64 = at_full_width(
///     #[inline(always)]
///     || x.iter().sum(),
/// );
/// assert_eq!(sum, 6.0);
/// ```
#[inline(always)]
pub fn at_full_width<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// As [`at_full_width`], for vectors of 512 bits where the CPU has them. For loops of which it was measured that they gain:
/// the compiler leaves some scalar at this width.
#[inline(always)]
pub(crate) fn at_512_bits<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if *wide::AVAILABLE {
        // Sound: the CPU has all that the function is compiled for.
        #[allow(unsafe_code)]
        return unsafe { wide::run(work) };
    }
    at_full_width(work)
}

/// Vectors of 512 bits. Pulp has them as well, by a feature that would widen those of faer too, whose sums depend on it.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::sync::LazyLock;

    macro_rules! compiled_for {
        ($($feature:tt),*) => {
            /// Flag: this CPU has all that [`run`] is compiled for.
            pub(super) static AVAILABLE: LazyLock<bool> =
                LazyLock::new(|| true $(&& std::is_x86_feature_detected!($feature))*);

            #[target_feature($(enable = $feature),*)]
            pub(super) fn run<R>(work: impl FnOnce() -> R) -> R {
                work()
            }
        };
    }
    compiled_for!("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::streaming::{Exp, LANES, fold_lanes};

    /// Σ_i e^{x_i} y_i in lanes.
    #[inline(always)]
    fn sum(x: &[[f64; LANES]], y: &[[f64; LANES]]) -> f64 {
        let mut lanes = [0.0; LANES];
        for (x, y) in x.iter().zip(y) {
            for l in 0..LANES {
                lanes[l] += f64::exp_lane(x[l]) * y[l];
            }
        }
        fold_lanes(lanes)
    }

    #[test]
    fn no_width_changes_a_bit() {
        let block = |start: f64| std::array::from_fn(|l| (start * (l as f64 + 0.3)).sin());
        let (x, y): (Vec<_>, Vec<_>) = (0..999).map(|i| (block(0.7 * f64::from(i)), block(1.3 * f64::from(i)))).unzip();
        let plain = sum(&x, &y);
        let full = at_full_width(
            #[inline(always)]
            || sum(&x, &y),
        );
        let wide = at_512_bits(
            #[inline(always)]
            || sum(&x, &y),
        );
        assert_eq!([full.to_bits(), wide.to_bits()], [plain.to_bits(); 2]);
    }
}
