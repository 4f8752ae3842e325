//! Tests of the integrator: known solutions, order, stiffness, events, dense output, invalid input.

use attnlab_theory::dynamics::flow::{Flow, Method, VectorField, Watch, descend};

/// x' = A x for a diagonal A.
struct Linear(Vec<f64>);

impl VectorField for Linear {
    fn dim(&self) -> usize {
        self.0.len()
    }
    fn rate(&self, x: &[f64], out: &mut [f64]) {
        for ((o, a), x) in out.iter_mut().zip(&self.0).zip(x) {
            *o = a * x;
        }
    }
}

/// A field of so many coordinates with this rate.
struct Field<F>(usize, F);

impl<F: Fn(&[f64], &mut [f64])> VectorField for Field<F> {
    fn dim(&self) -> usize {
        self.0
    }
    fn rate(&self, x: &[f64], out: &mut [f64]) {
        (self.1)(x, out);
    }
}

#[test]
fn every_method_follows_the_exponential() {
    let times = [0.1, 0.5, 1.0, 2.0];
    for method in Method::ALL {
        let path = Flow::new(method).run(&Linear(vec![-1.0, 0.5]), &[1.0, 2.0], &times).unwrap();
        assert_eq!(path.times, times);
        // The errors of a thousand steps add up; Chebyshev steps are of order 2, and more of them.
        let allowed = if method == Method::Chebyshev { 1e-6 } else { 1e-7 };
        for (t, x) in times.iter().zip(&path.states) {
            // The standard library's exp is correct to one rounding.
            assert!((x[0] - (-t).exp()).abs() < allowed, "{method:?} at {t}: {}", x[0]);
            assert!((x[1] - 2.0 * (0.5 * t).exp()).abs() < allowed, "{method:?} at {t}: {}", x[1]);
        }
        assert!(path.steps > 3 && path.evaluations > path.steps && path.event.is_none());
    }
}

/// A time that rounds off against the first step.
#[test]
fn no_time_is_too_short() {
    for method in Method::ALL {
        let path = Flow::new(method).run(&Linear(vec![-1.0, 0.5]), &[1.0, 2.0], &[1e-300, 1e-20]).unwrap();
        assert_eq!((path.times, path.states), (vec![1e-300, 1e-20], vec![vec![1.0, 2.0]; 2]), "{method:?}");
    }
}

/// A flow that moves in a unit of time far below the solver's own.
#[test]
fn no_flow_is_too_fast() {
    for method in Method::ALL {
        let path = Flow::new(method).run(&Linear(vec![-1e20, 0.5e20]), &[1.0, 2.0], &[1e-20]).unwrap();
        let (x, exact) = (path.end(), [(-1.0_f64).exp(), 2.0 * 0.5_f64.exp()]);
        assert!((x[0] - exact[0]).abs() + (x[1] - exact[1]).abs() < 1e-6, "{method:?}: {x:?}");
    }
}

#[test]
fn tighter_tolerances_are_more_accurate() {
    let error = |rtol| {
        let path = Flow::new(Method::Tsit45).within(rtol).run(&Linear(vec![-1.0]), &[1.0], &[3.0]).unwrap();
        (path.end()[0] - (-3.0_f64).exp()).abs()
    };
    assert!(error(1e-5) > 30.0 * error(1e-9));
    assert!(error(1e-12) < 1e-12);
}

#[test]
fn implicit_methods_take_stiffness_in_their_stride() {
    let stiff = Linear(vec![-1.0, -1e8]);
    for method in [Method::Bdf, Method::Esdirk34] {
        let path = Flow::new(method).within(1e-7).run(&stiff, &[1.0, 1.0], &[10.0]).unwrap();
        assert!((path.end()[0] - (-10.0_f64).exp()).abs() < 1e-7);
        assert!(path.steps < 2000, "{method:?}: {} steps", path.steps);
    }
    let mut explicit = Flow::new(Method::Tsit45);
    explicit.most_steps = 1000;
    let message = explicit.run(&stiff, &[1.0, 1.0], &[10.0]).unwrap_err().to_string();
    assert!(message.contains("after 1000 steps: choose an implicit method"), "{message}");
}

/// A gradient flow of many coordinates with rates from 1 to 1e6, the use case of Chebyshev steps.
/// The pair Tsit45 would need 1e6/3 steps of seven evaluations each.
#[test]
fn chebyshev_steps_take_large_stiff_gradient_flows() {
    let rates: Vec<f64> = (0..300).map(|i| -(10_f64.powf(f64::from(i) * 6.0 / 299.0))).collect();
    let flow = Flow::new(Method::Chebyshev).within(1e-8);
    let path = flow.run(&Linear(rates.clone()), &vec![1.0; 300], &[0.5, 1.0]).unwrap();
    for (t, x) in path.times.iter().zip(&path.states) {
        for (x, rate) in x.iter().zip(&rates) {
            assert!((x - (rate * t).exp()).abs() < 1e-6, "{rate} at {t}: {x}");
        }
    }
    assert!(path.evaluations < 100_000, "{} {}", path.steps, path.evaluations);
    assert_eq!(Method::stiff(1000), Method::Bdf);
    assert_eq!(Method::stiff(40_401), Method::Chebyshev);
}

/// Order 2: a tolerance a thousandth as large makes steps a tenth as long and errors a hundredth.
#[test]
fn chebyshev_errors_fall_with_the_tolerance() {
    let error = |rtol| {
        let flow = Flow::new(Method::Chebyshev).within(rtol);
        let path = flow.run(&Linear(vec![-1.0, -100.0]), &[1.0, 1.0], &[3.0]).unwrap();
        (path.states[0][0] - (-3.0_f64).exp()).abs()
    };
    let (loose, tight) = (error(1e-5), error(1e-8));
    assert!(loose < 1e-4 && tight < 0.05 * loose, "{loose} {tight}");
}

#[test]
fn an_event_stops_the_flow() {
    for method in Method::ALL {
        let half = |x: &[f64]| x[0] - 0.5;
        let mut calls = 0;
        let mut count = |_: f64, _: &[f64]| calls += 1;
        let watch = Watch { event: Some(&half), conserved: None, step: Some(&mut count) };
        let path = Flow::new(method).watched(&Linear(vec![-1.0]), &[1.0], &[0.3, 5.0], watch).unwrap();
        let (t, x) = path.event.clone().unwrap();
        assert!((t - 2_f64.ln()).abs() < 1e-7 && (x[0] - 0.5).abs() < 1e-7, "{method:?}: {t}");
        assert_eq!(path.times, [0.3]);
        assert_eq!(path.end(), x);
        // The start and every step.
        assert_eq!(calls, path.steps + 1);
    }
}

#[test]
fn gradient_descent_is_a_geometric_sequence() {
    let path = descend(&Linear(vec![-1.0]), &[1.0], 0.1, &[0.5, 1.0], Watch::default()).unwrap();
    assert_eq!(path.steps, 10);
    // Two operations a step on numbers up to 1, each rounded by half an ε.
    let rounding = 20.0 * f64::EPSILON;
    assert!((path.states[0][0] - 0.9_f64.powi(5)).abs() < rounding);
    assert!((path.end()[0] - 0.9_f64.powi(10)).abs() < rounding);
    assert!(descend(&Linear(vec![-1.0]), &[1.0], -0.1, &[1.0], Watch::default()).is_err());
    let explodes = descend(&Linear(vec![-300.0]), &[1.0], 1.0, &[1e4], Watch::default()).unwrap_err();
    assert!(explodes.to_string().contains("smaller eta"), "{explodes}");
}

/// Explicit Euler on a circle: each step multiplies x² + y² by 1 + η², so that gradient descent drifts
/// from the conserved quantity by a known amount.
#[test]
fn quantities_are_followed_and_events_seen() {
    let turn = Field(2, |x: &[f64], out: &mut [f64]| (out[0], out[1]) = (-x[1], x[0]));
    let radius = |x: &[f64]| vec![x[0] * x[0] + x[1] * x[1], x[0]];
    let watch = |event| Watch { event, conserved: Some(&radius), step: None };
    for method in Method::ALL {
        let path = Flow::new(method).watched(&turn, &[1.0, 0.0], &[3.0, 6.0], watch(None)).unwrap();
        assert_eq!(path.drifts.len(), 2);
        assert_eq!(path.drifts[0].start, 1.0);
        assert!(path.drifts[0].largest < 1e-6, "{method:?}: {:?}", path.drifts);
        // x itself goes from 1 to -1, at t = π, up to the spacing of the steps.
        assert!((path.drifts[1].largest - 2.0).abs() < 1e-2 && (path.drifts[1].at - 3.1).abs() < 0.2);
    }
    let path = descend(&turn, &[1.0, 0.0], 0.01, &[1.0], watch(None)).unwrap();
    let expected = 1.0001_f64.powi(100) - 1.0;
    assert!((path.drifts[0].largest - expected).abs() < 1e-12);
    assert!((path.drifts[0].at - 1.0).abs() < 1e-12);
    // x crosses 0 near π/2, seen at the next step.
    let crossing = |x: &[f64]| x[0];
    let path = descend(&turn, &[1.0, 0.0], 0.01, &[1.0, 5.0], watch(Some(&crossing))).unwrap();
    let (t, x) = path.event.clone().unwrap();
    assert!((t - 1.58).abs() < 0.011 && x[0] <= 0.0, "{t}");
    assert_eq!((path.times.as_slice(), path.end()), (&[1.0][..], &x[..]));
}

#[test]
fn what_cannot_be_integrated_is_an_error() {
    let decay = Linear(vec![-1.0]);
    let flow = Flow::new(Method::Tsit45);
    for times in [&[][..], &[0.0], &[2.0, 1.0], &[f64::NAN], &[f64::INFINITY]] {
        assert!(flow.run(&decay, &[1.0], times).is_err(), "{times:?}");
    }
    assert!(flow.run(&decay, &[1.0, 2.0], &[1.0]).is_err());
    assert!(flow.run(&decay, &[f64::NAN], &[1.0]).is_err());
    assert!(flow.within(0.0).run(&decay, &[1.0], &[1.0]).is_err());
    assert!(flow.within(2.0).run(&decay, &[1.0], &[1.0]).is_err());
    // x' = x² is infinite at t = 1 from x = 1.
    let explodes = Field(1, |x: &[f64], out: &mut [f64]| out[0] = x[0] * x[0]);
    for method in Method::ALL {
        assert!(Flow::new(method).run(&explodes, &[1.0], &[2.0]).is_err(), "{method:?}");
    }
    assert!(Method::parse("bdff").unwrap_err().to_string().contains("bdf"));
    assert_eq!(Method::parse("esdirk34").unwrap(), Method::Esdirk34);
}
