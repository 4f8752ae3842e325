//! Ratios of Bessel functions and means over the sphere: against mpmath, their recurrence, bounds and derivative.

use attnlab_core::special::{bessel_ratio, bessel_ratio_complement, ln_sphere_mean};
use proptest::prelude::*;

fn table(text: &str) -> Vec<Vec<f64>> {
    text.lines().map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect()
}

#[test]
fn bessel_ratios_agree_with_mpmath() {
    let rows = table(include_str!("data/bessel.csv"));
    assert!(rows.len() > 90);
    for row in rows {
        let [nu, x, ratio, complement] = row[..] else { panic!("four numbers a row: {row:?}") };
        let value = bessel_ratio(nu, x);
        assert!((value / ratio - 1.0).abs() < 1e-13, "{nu} {x}: {value}");
        // The complement too is relative, except where the table itself says zero.
        let value = bessel_ratio_complement(nu, x);
        assert!((value - complement).abs() <= 1e-11 * complement + 1e-24, "{nu} {x}: {value}");
    }
}

#[test]
fn means_over_the_sphere_agree_with_mpmath() {
    for row in table(include_str!("data/sphere_mean.csv")) {
        let [nu, k, ln] = row[..] else { panic!("three numbers a row: {row:?}") };
        let value = ln_sphere_mean(nu, k);
        // ln Gamma of arguments up to k carries its own relative rounding.
        let tol = 1e-14 * (1.0 + k).ln().max(1.0) * k.max(ln);
        assert!((value - ln).abs() <= tol.max(1e-13 * ln), "{nu} {k}: {value} {ln}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The recurrence of the Bessel functions, 1/r_ν = 2(ν+1)/x + r_{ν+1}, and Amos' bounds, over the whole range.
    #[test]
    fn bessel_ratios_obey_recurrence_and_bounds(nu in 0.0..512.0_f64, log_x in -8.0..8.0_f64) {
        let x = 10_f64.powf(log_x);
        let (r, next) = (bessel_ratio(nu, x), bessel_ratio(nu + 1.0, x));
        prop_assert!(r > next && next > 0.0 && r < 1.0, "{} {}", r, next);
        prop_assert!((r * (2.0 * (nu + 1.0) / x + next) - 1.0).abs() < 1e-13);
        let slack = 1.0 + 1e-14;
        prop_assert!(r * slack >= x / (nu + 0.5 + (nu + 1.5).hypot(x)));
        prop_assert!(r <= slack * x / (nu + 0.5 + (nu + 0.5).hypot(x)));
        prop_assert!((bessel_ratio_complement(nu, x) - (1.0 - r)).abs() < 1e-13);
    }

    /// r = d/dx ln M: the two functions come from different methods.
    #[test]
    fn the_ratio_is_the_derivative_of_the_mean(nu in -0.5..60.0_f64, x in 0.1..500.0_f64) {
        let h = 1e-4 * x.max(1.0);
        let difference = (ln_sphere_mean(nu, x + h) - ln_sphere_mean(nu, x - h)) / (2.0 * h);
        prop_assert!((difference - bessel_ratio(nu, x)).abs() < 1e-6);
    }
}
