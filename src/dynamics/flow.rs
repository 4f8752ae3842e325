//! Gradient flows: $\dot x = f(x)$ by adaptive methods with error control (diffsol), and plain
//! gradient descent $x \leftarrow x + \eta f(x)$ beside them.
//!
//! ```
//! use attnlab::dynamics::flow::{Flow, Method, VectorField};
//! /// The flow of the loss x²/2.
//! struct Decay;
//! impl VectorField for Decay {
//!     fn dim(&self) -> usize { 1 }
//!     fn rate(&self, x: &[f64], out: &mut [f64]) { out[0] = -x[0]; }
//! }
//! let path = Flow::new(Method::Tsit45).run(&Decay, &[1.0], &[0.5, 1.0])?;
//! assert!((path.states[1][0] - (-1.0_f64).exp()).abs() < 1e-9);
//! # Ok::<(), attnlab::Error>(())
//! ```

use crate::error::{Error, Result};
use diffsol::error::DiffsolError;
use diffsol::{
    NalgebraLU, NalgebraMat, NalgebraVec, OdeBuilder, OdeEquations, OdeSolverMethod,
    OdeSolverStopReason, VectorCommon,
};
use std::cell::Cell;

/// A right-hand side $f(x)$ that does not depend on time: minus the gradient of a loss, here.
pub trait VectorField {
    /// Number of coordinates.
    fn dim(&self) -> usize;

    /// Writes $f(x)$ into `out`, both of length [`dim`](VectorField::dim).
    fn rate(&self, x: &[f64], out: &mut [f64]);

    /// Writes the derivative of $f$ at `x` along `v` into `out`; implicit methods need it.
    ///
    /// The default is a central difference, accurate to about 1e-10 relative to the terms of $f$: a
    /// Newton iteration converges with it as fast as with the exact derivative.
    fn derivative(&self, x: &[f64], v: &[f64], out: &mut [f64]) {
        let norm = |a: &[f64]| a.iter().map(|x| x * x).sum::<f64>().sqrt();
        let length = norm(v);
        if length == 0.0 {
            return out.fill(0.0);
        }
        // The cube root of the rounding error balances it against the third derivative.
        let h = f64::EPSILON.cbrt() * norm(x).max(1.0) / length;
        let shifted = |h: f64| x.iter().zip(v).map(|(x, v)| x + h * v).collect::<Vec<_>>();
        let mut back = vec![0.0; out.len()];
        self.rate(&shifted(h), out);
        self.rate(&shifted(-h), &mut back);
        for (forth, back) in out.iter_mut().zip(&back) {
            *forth = (*forth - back) / (2.0 * h);
        }
    }
}

/// How a flow is integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Tsitouras' explicit Runge-Kutta pair of orders 5 and 4: the cheapest where the fastest rate
    /// times the time of interest is below some thousands.
    Tsit45,
    /// Backward differentiation of orders 1 to 5, implicit: for stiff flows, whose rates lie decades
    /// apart. Its Newton steps hold and factor a dim × dim matrix.
    Bdf,
    /// Implicit Runge-Kutta of order 3 with four stages, for stiff flows: one step at a time, so
    /// that it checks [`Method::Bdf`], which looks back over several.
    Esdirk34,
}

impl Method {
    /// Names, in the order of [`Method::ALL`].
    pub const NAMES: [&'static str; 3] = ["tsit45", "bdf", "esdirk34"];
    /// All methods.
    pub const ALL: [Method; 3] = [Method::Tsit45, Method::Bdf, Method::Esdirk34];

    /// The method with this name.
    ///
    /// # Errors
    /// An unknown name, with the known ones.
    pub fn parse(name: &str) -> Result<Method> {
        let place = Self::NAMES.iter().position(|n| *n == name);
        place
            .map(|i| Self::ALL[i])
            .ok_or_else(|| Error::unknown("method", name, Self::NAMES))
    }
}

/// An integration with its tolerances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The method.
    pub method: Method,
    /// Error allowed per step and coordinate, relative to the coordinate ...
    pub rtol: f64,
    /// ... and added to that, absolute.
    pub atol: f64,
    /// Steps after which to give up.
    pub most_steps: usize,
}

/// Where a flow went.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The times asked for, up to the event.
    pub times: Vec<f64>,
    /// The state at each of them, by dense output.
    pub states: Vec<Vec<f64>>,
    /// Time and state at which the event happened.
    pub event: Option<(f64, Vec<f64>)>,
    /// Steps taken.
    pub steps: usize,
    /// Steps tried and rejected by the error control.
    pub rejected: usize,
    /// Evaluations of the field, those for derivatives included.
    pub evaluations: usize,
}

impl Path {
    /// The last state: at the event, else at the last time.
    pub fn end(&self) -> &[f64] {
        match (&self.event, self.states.last()) {
            (Some((_, state)), _) => state,
            (None, Some(state)) => state,
            (None, None) => &[],
        }
    }
}

/// What to look for on the way.
#[derive(Default)]
pub struct Watch<'a> {
    /// The flow stops where this changes sign.
    pub event: Option<&'a dyn Fn(&[f64]) -> f64>,
    /// Sees time and state at the start and after every step, as the method computed them, not
    /// interpolated.
    pub step: Option<&'a mut dyn FnMut(f64, &[f64])>,
}

impl Flow {
    /// Tolerances of 1e-10 relative and 1e-13 absolute: a thousand steps then stay within 1e-7 of
    /// the flow, and quantities that the flow conserves within less.
    pub fn new(method: Method) -> Self {
        Flow {
            method,
            rtol: 1e-10,
            atol: 1e-13,
            // Some minutes for the largest explicit flows; a stiff flow under an explicit method
            // passes any limit.
            most_steps: 1_000_000,
        }
    }

    /// The same with another relative tolerance, and the absolute one a thousandth of it.
    pub fn within(mut self, rtol: f64) -> Self {
        (self.rtol, self.atol) = (rtol, 1e-3 * rtol);
        self
    }

    /// Integrates from `start` at time 0 to the last of the `times`.
    ///
    /// # Errors
    /// See [`Flow::watched`].
    pub fn run(&self, field: &dyn VectorField, start: &[f64], times: &[f64]) -> Result<Path> {
        self.watched(field, start, times, Watch::default())
    }

    /// Integrates from `start` at time 0 to the last of the `times`, or to the event.
    ///
    /// # Errors
    /// Times that are not positive and ascending, a start of the wrong length, tolerances out of
    /// range, a flow that leaves every bound or asks for too many steps.
    pub fn watched(
        &self,
        field: &dyn VectorField,
        start: &[f64],
        times: &[f64],
        watch: Watch,
    ) -> Result<Path> {
        self.validate(field, start, times)?;
        let calls = Cell::new(0_usize);
        let count = |n| calls.set(calls.get() + n);
        let event = watch.event;
        let problem = OdeBuilder::<NalgebraMat<f64>>::new()
            .rtol(self.rtol)
            .atol([self.atol])
            .rhs_implicit(
                |x, _, _, out| {
                    count(1);
                    field.rate(x, out);
                },
                |x, _, _, v, out| {
                    count(2);
                    field.derivative(x, v, out);
                },
            )
            .root(
                |x, _, _, out| out[0] = event.map_or(1.0, |event| event(x)),
                1,
            )
            .init(|_, _, x| x.copy_from_slice(start), start.len())
            .build()
            .map_err(failed)?;
        let drive = Drive {
            times,
            watch,
            most_steps: self.most_steps,
        };
        type Lu = NalgebraLU<f64>;
        let path = match self.method {
            Method::Tsit45 => drive.run(problem.tsit45().map_err(failed)?),
            Method::Bdf => drive.run(problem.bdf::<Lu>().map_err(failed)?),
            Method::Esdirk34 => drive.run(problem.esdirk34::<Lu>().map_err(failed)?),
        }?;
        Ok(Path {
            evaluations: calls.get(),
            ..path
        })
    }

    fn validate(&self, field: &dyn VectorField, start: &[f64], times: &[f64]) -> Result<()> {
        for (name, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(Error::invalid(name, value, "a number in (0, 1)"));
            }
        }
        if start.len() != field.dim() || start.is_empty() {
            let expected = format!("{} coordinates, as the field has", field.dim());
            return Err(Error::shape("start of the flow", start.len(), expected));
        }
        if let Some(bad) = start.iter().find(|x| !x.is_finite()) {
            return Err(Error::invalid("start of the flow", bad, "finite numbers"));
        }
        validate_times(times)
    }
}

fn validate_times(times: &[f64]) -> Result<()> {
    let ascending = times.windows(2).all(|w| w[0] < w[1]);
    let finite = times.iter().all(|t| *t > 0.0 && t.is_finite());
    if times.is_empty() || !ascending || !finite {
        let allowed = "at least one, each finite, > 0 and larger than the one before";
        return Err(Error::invalid("times", format!("{times:?}"), allowed));
    }
    Ok(())
}

fn failed(error: DiffsolError) -> Error {
    Error::Numerical(format!("the flow could not be integrated: {error}"))
}

/// The loop over the steps of any method.
struct Drive<'t, 'w> {
    times: &'t [f64],
    watch: Watch<'w>,
    most_steps: usize,
}

impl Drive<'_, '_> {
    fn run<'p, Eqn, S>(mut self, mut solver: S) -> Result<Path>
    where
        Eqn: OdeEquations<T = f64, V = NalgebraVec<f64>> + 'p,
        S: OdeSolverMethod<'p, Eqn>,
    {
        let until = self.times[self.times.len() - 1];
        let (mut times, mut states, mut event) = (vec![], vec![], None);
        self.look(&solver);
        solver.set_stop_time(until).map_err(failed)?;
        let mut steps = 0;
        loop {
            let reason = solver.step().map_err(failed)?;
            steps += 1;
            let (now, finite) = (solver.state().t, self.look(&solver));
            if !finite {
                let message = format!("the flow leaves every bound near t = {now:.6e}");
                return Err(Error::Numerical(message));
            }
            let reached = match reason {
                OdeSolverStopReason::RootFound(t, _) => t,
                _ => now,
            };
            while let Some(t) = self.times.get(times.len()).filter(|t| **t <= reached) {
                let state = solver.interpolate(*t).map_err(failed)?;
                times.push(*t);
                states.push(state.inner().as_slice().to_vec());
            }
            match reason {
                OdeSolverStopReason::InternalTimestep => (),
                OdeSolverStopReason::TstopReached => break,
                OdeSolverStopReason::RootFound(t, _) => {
                    let state = solver.interpolate(t).map_err(failed)?;
                    event = Some((t, state.inner().as_slice().to_vec()));
                    break;
                }
            }
            if steps >= self.most_steps {
                let message = format!(
                    "the flow is at t = {now:.6e} of {until:.6e} after {steps} steps: choose an \
                     implicit method, a looser tolerance or a shorter time"
                );
                return Err(Error::Numerical(message));
            }
        }
        Ok(Path {
            times,
            states,
            event,
            steps,
            rejected: solver.get_statistics().number_of_error_test_failures,
            evaluations: 0,
        })
    }

    /// Shows the state to the watch; whether it is finite.
    fn look<'p, Eqn, S>(&mut self, solver: &S) -> bool
    where
        Eqn: OdeEquations<T = f64, V = NalgebraVec<f64>> + 'p,
        S: OdeSolverMethod<'p, Eqn>,
    {
        let state = solver.state();
        let x = state.y.inner().as_slice();
        if let Some(step) = self.watch.step.as_mut() {
            step(state.t, x);
        }
        x.iter().all(|x| x.is_finite())
    }
}

/// Gradient descent $x \leftarrow x + \eta f(x)$, whose step k stands at the time $k\eta$ of the
/// flow; `step` sees them all. The states are those of the last step before each of the `times`.
///
/// # Errors
/// A step size that is not positive, invalid times or start, an iteration that leaves every bound.
pub fn descend(
    field: &dyn VectorField,
    start: &[f64],
    eta: f64,
    times: &[f64],
    mut step: Option<&mut dyn FnMut(f64, &[f64])>,
) -> Result<Path> {
    Flow::new(Method::Tsit45).validate(field, start, times)?;
    if !(eta > 0.0 && eta.is_finite()) {
        return Err(Error::invalid("eta", eta, "a finite number > 0"));
    }
    let (mut x, mut rate) = (start.to_vec(), vec![0.0; start.len()]);
    let (mut states, mut steps) = (vec![], 0_usize);
    for t in times {
        loop {
            if let Some(step) = step.as_mut() {
                step(steps as f64 * eta, &x);
            }
            // Half a rounding error of slack, so that t = k η takes k steps.
            if (steps + 1) as f64 * eta > t * (1.0 + f64::EPSILON) {
                break;
            }
            field.rate(&x, &mut rate);
            x.iter_mut().zip(&rate).for_each(|(x, r)| *x += eta * r);
            steps += 1;
            if x.iter().any(|x| !x.is_finite()) {
                return Err(Error::Numerical(format!(
                    "gradient descent leaves every bound after {steps} steps: choose a smaller eta \
                     than {eta}"
                )));
            }
        }
        states.push(x.clone());
    }
    Ok(Path {
        times: times.to_vec(),
        states,
        event: None,
        steps,
        rejected: 0,
        evaluations: steps,
    })
}
