//! Theorem 2: a linear activation under exp attention.
//!
//! By Theorem 1 the logits are $z = v^2/2$ from a start at zero, and the weights obey Eq. (3),
//! $\dot v_l = \Delta_l e^{v_l^2/2} / A$, component by component. Since
//!
//! $$ \int_0^v e^{-u^2/2} du = \sqrt{\pi/2}\, \operatorname{erf}(v/\sqrt2), \qquad
//!    v_l(t) = \sqrt2 \operatorname{erf}^{-1}\left(\sqrt{2/\pi}\, \Delta_l t / A\right). $$
//!
//! The invariant is therefore $\operatorname{erf}(v_l/\sqrt2)/\Delta_l$; the paper prints
//! $\operatorname{erf}(v_l/2)/\Delta_l$ (Eq. 4), which is not conserved. The component of the largest
//! $|\Delta|$ blows up at $t_b = A\sqrt{\pi/2}/\max|\Delta|$, and the others are then at
//! $\sqrt2 \operatorname{erf}^{-1}(\Delta_l/\max|\Delta|)$.

use attnlab_core::error::{Result, require};
use libm::{erf, erfc};
use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

/// The weights $v(t)$ from zero, for the stationary `gradient` Δ and A = 1 (another A rescales the time).
///
/// # Errors
/// A time that is negative, or at which the largest component has blown up.
///
/// ```
/// let v = attnlab_joma::theory::linear::weights(&[1.0, 0.5, 0.0], 1.0)?;
/// // mpmath: sqrt(2) * erfinv(sqrt(2/pi))
/// assert!((v[0] - 1.275_547_736_417_215_4).abs() < 1e-12 && v[2] == 0.0);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn weights(gradient: &[f64], t: f64) -> Result<Vec<f64>> {
    let end = blow_up(gradient);
    let allowed = format!(
        "must be from 0 to below {end}, the time sqrt(pi/2) / max |gradient| at which the largest component blows up"
    );
    require(t >= 0.0 && t < end, "t", t, allowed)?;
    Ok(gradient.iter().map(|delta| SQRT_2 * inverse_erf((2.0 / PI).sqrt() * delta * t)).collect())
}

/// The time at which the largest component blows up; infinite for a gradient of zeros.
pub fn blow_up(gradient: &[f64]) -> f64 {
    (PI / 2.0).sqrt() / gradient.iter().fold(0.0_f64, |m, d| m.max(d.abs()))
}

/// The limits of all components but the largest one, in their order, at the time of its blow-up:
/// $\sqrt2\operatorname{erf}^{-1}(\Delta_l/\max|\Delta|)$. Infinite for one that is as large; empty for one component.
///
/// ```
/// let limits = attnlab_joma::theory::linear::loser_limits(&[0.5, -1.0, 0.0]);
/// // scipy: norm.ppf(.75)
/// assert!((limits[0] - 0.674_489_750_196_081_7).abs() < 1e-14 && limits[1] == 0.0);
/// ```
pub fn loser_limits(gradient: &[f64]) -> Vec<f64> {
    let largest = gradient.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let winner = gradient.iter().position(|d| d.abs() == largest);
    let others = gradient.iter().enumerate().filter(|(l, _)| Some(*l) != winner);
    others.map(|(_, d)| SQRT_2 * inverse_erf(d / largest)).collect()
}

/// The invariant of Eq. (4), the same for every component, as derived: $\operatorname{erf}(v/\sqrt2)/\Delta$.
pub fn invariant(v: f64, delta: f64) -> f64 {
    erf(v / SQRT_2) / delta
}

/// The invariant of Eq. (4) as printed: $\operatorname{erf}(v/2)/\Delta$.
pub fn invariant_printed(v: f64, delta: f64) -> f64 {
    erf(v / 2.0) / delta
}

/// The inverse $\operatorname{erf}^{-1}(y)$ for |y| < 1, to a few units in the last place of y: statrs' value, on
/// which Newton's method with libm's erf takes two steps.
pub fn inverse_erf(y: f64) -> f64 {
    if y == 0.0 || y.abs() >= 1.0 {
        return if y == 0.0 { y } else { y.signum() * f64::INFINITY };
    }
    // In the upper half through 1 - |y|, which is exact there.
    let (target, tail) = (y.abs(), y.abs() > 0.5);
    let mut x = statrs::function::erf::erf_inv(target);
    for _ in 0..2 {
        let excess = if tail { (1.0 - target) - erfc(x) } else { erf(x) - target };
        let slope = FRAC_2_SQRT_PI * (-x * x).exp();
        x -= excess / slope;
    }
    x.copysign(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mp.dps = 40; mp.erfinv(mp.mpf(y)) of the double y.
    #[test]
    fn the_inverse_of_erf_agrees_with_mpmath() {
        let known = [
            (1e-10, 8.862269254527581e-11),
            (0.1, 0.08885599049425769),
            (0.3, 0.2724627147267544),
            (0.5, 0.4769362762044699),
            (0.6, 0.5951160814499948),
            (0.9, 1.1630871536766743),
            (0.999, 2.3267537655135246),
            (0.999999999, 4.320005388105362),
        ];
        for (y, x) in known {
            let inverse = inverse_erf(y);
            assert!((inverse / x - 1.0).abs() < 4e-15, "{y}: {inverse} {x}");
            assert_eq!(inverse_erf(-y), -inverse);
        }
        assert_eq!(inverse_erf(0.0), 0.0);
        assert_eq!(inverse_erf(1.0), f64::INFINITY);
    }

    /// The flow itself, by RK4 with 20 000 steps, whose error is below 1e-12 here.
    #[test]
    fn the_closed_form_solves_the_flow() {
        let gradient = [1.0, -0.7, 0.3];
        let end = 0.9 * blow_up(&gradient);
        let steps = 20_000;
        let h = end / f64::from(steps);
        for (delta, v_end) in gradient.iter().zip(weights(&gradient, end).unwrap()) {
            let f = |v: f64| delta * (0.5 * v * v).exp();
            let mut v = 0.0;
            for _ in 0..steps {
                let a = f(v);
                let b = f(v + 0.5 * h * a);
                let c = f(v + 0.5 * h * b);
                let d = f(v + h * c);
                v += h / 6.0 * (a + 2.0 * b + 2.0 * c + d);
            }
            assert!((v - v_end).abs() < 1e-9, "{delta}: {v} {v_end}");
        }
    }

    #[test]
    fn times_after_the_blow_up_are_refused() {
        let error = weights(&[2.0], 1.0).unwrap_err().to_string();
        assert!(error.starts_with("t = 1: must be from 0 to below 0.626657068657"), "{error}");
    }
}
