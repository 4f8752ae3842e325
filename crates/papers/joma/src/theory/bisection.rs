//! Bisection: places at which a monotone function crosses a level.

/// Halves [low, high] so many times, from below where `below` is `true`, and returns the middle of what is left.
pub(crate) fn bisect((mut low, mut high): (f64, f64), halvings: usize, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        if below(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Computes the place at which a rising function takes the value `y`, to rounding, up to 1e150 in size.
pub(super) fn inverse(f: impl Fn(f64) -> f64, y: f64) -> f64 {
    let (mut low, mut high) = (-1.0, 1.0);
    while f(low) > y && low > -1e150 {
        low *= 2.0;
    }
    while f(high) < y && high < 1e150 {
        high *= 2.0;
    }
    bisect((low, high), 120, |x| f(x) < y)
}
