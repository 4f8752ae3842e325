//! Entropy of the attention along Eq. (6): it falls, has a minimum, and rises to that of softmax(μ²).

use super::convergence::{log_inverse_gap, time_to};
use attnlab_core::error::{Error, Result, require};
use attnlab_theory::measure::softmax_entropy;

/// Minimum of the entropy of softmax(v²) along (6) from v = 0, its time, and the entropy in the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dip {
    /// Least entropy, nats.
    pub least: f64,
    /// Time of the flow at which it is reached.
    pub time: f64,
    /// Entropy of softmax(μ²), nats.
    pub end: f64,
}

/// Least drop or rebound of an entropy that counts, in nats: a fifteenth of the axis of Fig. 4, which one can see.
pub const VISIBLE: f64 = 0.1;
/// Returns the drop of a series from its first value to its minimum, and its rise from there to the largest later one.
///
/// ```
/// use attnlab_joma::theory::attention_entropy::drop_and_rebound;
/// assert_eq!(drop_and_rebound(&[2.0, 0.5, 1.5, 1.0]), (1.5, 1.0));
/// ```
pub fn drop_and_rebound(series: &[f64]) -> (f64, f64) {
    let place = (0..series.len()).min_by(|a, b| series[*a].total_cmp(&series[*b]));
    let Some(place) = place else { return (f64::NAN, f64::NAN) };
    (series[0] - series[place], series[place..].iter().copied().fold(f64::NEG_INFINITY, f64::max) - series[place])
}

/// Largest |μ|: $e^{\mu^2/2}$, the rate in the end, fits into an f64 with its square.
pub const LARGEST_TARGET: f64 = 20.0;
/// Times at which the minimum is looked for: v = μ to rounding at the last one, and μ t to a thousandth at the first.
const TIMES: (f64, f64) = (1e-6, 40.0);
/// Number of those times, at equal ratios.
const LOOKS: i32 = 1000;

/// The entropy of softmax(scale v²), nats.
pub(crate) fn entropy_of(v: &[f64], scale: f64) -> f64 {
    softmax_entropy(&v.iter().map(|v: &f64| scale * v * v).collect::<Vec<_>>())
}

/// The entropy of softmax(v²), nats, at time t of (6) from zero.
pub fn at_time(mu: &[f64], t: f64) -> f64 {
    softmax_entropy(&mu.iter().map(|mu: &f64| (mu * (-log_inverse_gap(*mu, t)).exp_m1()).powi(2)).collect::<Vec<_>>())
}

/// The dip of the entropy along (6): the lowest of 1000 times at equal ratios and those between which two components grow,
/// refined by the golden section.
///
/// # Errors
/// No targets, or one beyond ±[`LARGEST_TARGET`].
///
/// ```
/// use attnlab_joma::theory::attention_entropy::dip;
/// let dip = dip(&[3.0, 2.0, 1.0])?;
/// assert!(dip.least < 0.2 * dip.end && dip.time > 0.1 && dip.time < 1.0);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn dip(mu: &[f64]) -> Result<Dip> {
    require(!mu.is_empty(), "mu", "[]", "must hold at least one number")?;
    if let Some(bad) = mu.iter().find(|mu| mu.is_nan() || mu.abs() > LARGEST_TARGET) {
        return Err(Error::invalid("mu", bad, format!("must be from -{LARGEST_TARGET} to {LARGEST_TARGET}")));
    }
    let (first, last) = (TIMES.0.ln(), TIMES.1.ln());
    let mut looks: Vec<f64> = (0..=LOOKS).map(|i| first + (last - first) * f64::from(i) / f64::from(LOOKS)).collect();
    // Large components grow suddenly, and with near targets one soon after the other.
    let mut halves: Vec<f64> = mu.iter().map(|mu| time_to(0.5, *mu).ln()).collect();
    halves.sort_by(f64::total_cmp);
    looks.extend(halves.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])));
    looks.sort_by(f64::total_cmp);
    looks.dedup();
    let entropy = |ln_t: f64| at_time(mu, ln_t.exp());
    let points = looks.iter().enumerate().map(|(i, ln_t)| (i, entropy(*ln_t)));
    let (lowest, _) = points.fold((0, f64::INFINITY), |m, x| if x.1 < m.1 { x } else { m });
    let place = golden(&entropy, looks[lowest.saturating_sub(1)], looks[(lowest + 1).min(looks.len() - 1)]);
    Ok(Dip { least: entropy(place), time: place.exp(), end: entropy_of(mu, 1.0) })
}

/// The place of the minimum of a function with one minimum in [a, b].
fn golden(f: &impl Fn(f64) -> f64, mut a: f64, mut b: f64) -> f64 {
    let share = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut left, mut right) = (b - share * (b - a), a + share * (b - a));
    let (mut low, mut high) = (f(left), f(right));
    for _ in 0..60 {
        if low < high {
            (b, right, high) = (right, left, low);
            left = b - share * (b - a);
            low = f(left);
        } else {
            (a, left, low) = (left, right, high);
            right = a + share * (b - a);
            high = f(right);
        }
    }
    0.5 * (a + b)
}

#[cfg(test)]
mod tests {
    use super::dip;

    /// The targets of the authors' Fig. 4. mpmath: F inverted by Newton's method, the minimum by the golden section.
    #[test]
    fn the_targets_of_figure_4() {
        let mu = [
            1.265432357788086,
            1.3960914611816406,
            1.9222683906555176,
            2.3668839931488037,
            2.470280170440674,
            2.488769769668579,
            2.896918773651123,
            2.902235984802246,
            3.3046653270721436,
            3.6893341541290283,
        ];
        let dip = dip(&mu).unwrap();
        assert!((dip.least - 9.062_310e-4).abs() < 1e-9, "{dip:?}");
        assert!((dip.time - 0.469_339).abs() < 1e-5, "{dip:?}");
        assert!((dip.end - 0.310_263_834_334_914).abs() < 1e-12);
    }

    /// Two large targets that are nearly equal: by 161 times between their growth, in Python.
    #[test]
    fn a_narrow_dip() {
        let dip = dip(&[20.0, 19.9]).unwrap();
        assert!(dip.least < 1e-160 && (dip.time - 0.06534).abs() < 2e-4, "{dip:?}");
    }

    /// No dip: one component, and equal ones.
    #[test]
    fn without_a_dip() {
        assert_eq!(dip(&[2.0]).unwrap().least, 0.0);
        let equal = dip(&[2.0, 2.0]).unwrap();
        assert!((equal.least - equal.end).abs() < 1e-12);
        assert!(dip(&[]).is_err() && dip(&[30.0]).is_err());
    }
}
