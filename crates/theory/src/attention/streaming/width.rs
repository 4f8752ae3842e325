//! Vectors of the full width of the CPU.

/// Runs `work` in code for the widest vectors that the CPU has.
///
/// Write the closure in place, with `inline(always)`: it then becomes part of that code. Otherwise, and as the argument of
/// [`pulp::Arch::dispatch`] itself, it is compiled apart, for vectors of four numbers.
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
