//! Gradient flows $\dot x = f(x)$ by adaptive methods with error control (diffsol), and plain gradient
//! descent $x \leftarrow x + \eta f(x)$.
//!
//! ```
//! use attnlab_theory::dynamics::flow::{Flow, Method, VectorField};
//! /// The flow of the loss x²/2.
//! struct Decay;
//! impl VectorField for Decay {
//!     fn dim(&self) -> usize { 1 }
//!     fn rate(&self, x: &[f64], out: &mut [f64]) { out[0] = -x[0]; }
//! }
//! let path = Flow::new(Method::Tsit45).run(&Decay, &[1.0], &[0.5, 1.0])?;
//! assert!((path.states[1][0] - (-1.0_f64).exp()).abs() < 1e-9);
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod chebyshev;
mod descent;

pub use descent::descend;

use attnlab_core::error::{Error, Result, require, require_shape};
use diffsol::error::{DiffsolError, OdeSolverError};
use diffsol::{
    NalgebraLU, NalgebraMat, NalgebraVec, OdeBuilder, OdeEquations, OdeSolverMethod, OdeSolverStopReason, VectorCommon,
};
use std::cell::Cell;

/// A right-hand side $f(x)$ that does not depend on time: minus the gradient of a loss, in this library.
/// (A field that depends on time takes it as a further coordinate, whose rate is 1.)
pub trait VectorField {
    /// Returns the number of coordinates.
    fn dim(&self) -> usize;

    /// Writes $f(x)$ into `out`, both of length [`dim`](VectorField::dim).
    fn rate(&self, x: &[f64], out: &mut [f64]);

    /// Writes the derivative of $f$ at `x` along `v` into `out`; implicit methods need it.
    ///
    /// The default is a central difference, accurate to about 1e-10 relative to the terms of $f$: a
    /// Newton iteration converges with it as fast as with the exact derivative.
    fn derivative(&self, x: &[f64], v: &[f64], out: &mut [f64]) {
        let length = norm(v);
        if length == 0.0 {
            return out.fill(0.0);
        }
        // The cube root of the rounding error balances it against the third derivative of f.
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

/// Method of integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Explicit Runge-Kutta pair of orders 5 and 4 (Tsitouras): the cheapest method if the fastest rate
    /// times the time of interest is below some thousands.
    Tsit45,
    /// Backward differentiation of orders 1 to 5, implicit, for stiff flows, whose rates differ by
    /// decades. Its Newton steps store and factor a dim × dim matrix.
    Bdf,
    /// Implicit Runge-Kutta method of order 3 with four stages, for stiff flows. As a one-step method it
    /// checks [`Method::Bdf`], which uses several previous steps.
    Esdirk34,
    /// Runge-Kutta-Chebyshev method of order 2, explicit, for stiff gradient flows with too many
    /// coordinates for the matrix of an implicit method. It must only be used for fields whose Jacobian
    /// has (nearly) real eigenvalues, as gradient flows have.
    Chebyshev,
}

attnlab_core::named!(Method, "method": Tsit45 = "tsit45", Bdf = "bdf", Esdirk34 = "esdirk34", Chebyshev = "chebyshev");

impl Method {
    /// Returns the method for a stiff gradient flow in `dim` coordinates: [`Method::Bdf`] as long as its
    /// dim × dim matrix and the dim derivatives that fill it cost less than the stages of
    /// [`Method::Chebyshev`], whose order is lower.
    pub fn stiff(dim: usize) -> Method {
        // 30 × 30 weights of linear attention: 8 MB, and some seconds for a thousand steps.
        if dim <= 1000 { Method::Bdf } else { Method::Chebyshev }
    }
}

/// An integration with its tolerances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Method of integration.
    pub method: Method,
    /// Error allowed per step and coordinate, relative to the coordinate ...
    pub rtol: f64,
    /// ... plus this absolute error.
    pub atol: f64,
    /// Largest number of steps before the integration fails.
    pub most_steps: usize,
}

/// States along a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Requested times, up to the event.
    pub times: Vec<f64>,
    /// States at these times, by dense output.
    pub states: Vec<Vec<f64>>,
    /// Time and state of the event.
    pub event: Option<(f64, Vec<f64>)>,
    /// Number of accepted steps.
    pub steps: usize,
    /// Number of steps rejected by the error control.
    pub rejected: usize,
    /// Number of evaluations of the field, those for derivatives included.
    pub evaluations: usize,
    /// Drift of each conserved quantity, over all steps.
    pub drifts: Vec<Drift>,
}

/// Largest distance of a quantity from its value at the start, over all steps. The distance is absolute;
/// the caller knows the scale to compare it with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Value of the quantity at the start.
    pub start: f64,
    /// Largest distance from the start value.
    pub largest: f64,
    /// Time of the largest distance.
    pub at: f64,
}

impl Path {
    /// Returns the last state: at the event, otherwise at the last time.
    pub fn end(&self) -> &[f64] {
        match (&self.event, self.states.last()) {
            (Some((_, state)), _) => state,
            (None, Some(state)) => state,
            (None, None) => &[],
        }
    }
}

/// Function of the state, `&[f64]` of length [`VectorField::dim`].
pub type Level<'a> = &'a dyn Fn(&[f64]) -> f64;
/// Several functions of the state.
pub type Quantities<'a> = &'a dyn Fn(&[f64]) -> Vec<f64>;
/// Observer of time and state.
pub type Look<'a> = &'a mut dyn FnMut(f64, &[f64]);

/// Events and quantities to watch during an integration.
///
/// ```
/// use attnlab_theory::dynamics::flow::{Flow, Method, VectorField, Watch};
/// /// x' = -y, y' = x: a circle.
/// struct Turn;
/// impl VectorField for Turn {
///     fn dim(&self) -> usize { 2 }
///     fn rate(&self, x: &[f64], out: &mut [f64]) { (out[0], out[1]) = (-x[1], x[0]); }
/// }
/// let radius = |x: &[f64]| vec![x[0] * x[0] + x[1] * x[1]];
/// let crossing = |x: &[f64]| x[0]; // stops where x = 0, at t = π/2
/// let watch = Watch { event: Some(&crossing), conserved: Some(&radius), step: None };
/// let path = Flow::new(Method::Tsit45).watched(&Turn, &[1.0, 0.0], &[10.0], watch)?;
/// let (t, _) = path.event.clone().unwrap();
/// assert!((t - std::f64::consts::FRAC_PI_2).abs() < 1e-8);
/// assert!(path.drifts[0].start == 1.0 && path.drifts[0].largest < 1e-8);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Default)]
pub struct Watch<'a> {
    /// Function at whose change of sign the flow stops.
    pub event: Option<Level<'a>>,
    /// Quantities that the flow should conserve; [`Path::drifts`] reports the drift of each.
    pub conserved: Option<Quantities<'a>>,
    /// Observer of time and state at the start and after every step, as the method computed them, without
    /// interpolation. The last step may end beyond the event.
    pub step: Option<Look<'a>>,
}

impl<'a> Watch<'a> {
    /// Makes a watch that only observes the steps.
    pub fn steps(step: &'a mut dyn FnMut(f64, &[f64])) -> Self {
        Watch { step: Some(step), ..Watch::default() }
    }

    /// Makes a watch that only stops at a change of sign of `event`.
    pub fn until(event: &'a dyn Fn(&[f64]) -> f64) -> Self {
        Watch { event: Some(event), ..Watch::default() }
    }
}

/// A watch with its observations.
struct Watching<'a> {
    watch: Watch<'a>,
    drifts: Vec<Drift>,
    started: bool,
}

impl<'a> Watching<'a> {
    fn new(watch: Watch<'a>) -> Self {
        Watching { watch, drifts: vec![], started: false }
    }

    /// Observes a state; returns `false` if it is not finite.
    fn look(&mut self, t: f64, x: &[f64]) -> bool {
        if let Some(step) = self.watch.step.as_mut() {
            step(t, x);
        }
        if let Some(conserved) = self.watch.conserved {
            let values = conserved(x);
            if !self.started {
                self.drifts = values.iter().map(|start| Drift { start: *start, largest: 0.0, at: t }).collect();
            }
            for (drift, value) in self.drifts.iter_mut().zip(&values) {
                let distance = (value - drift.start).abs();
                if distance > drift.largest || distance.is_nan() {
                    (drift.largest, drift.at) = (distance, t);
                }
            }
        }
        self.started = true;
        x.iter().all(|x| x.is_finite())
    }
}

impl Flow {
    /// Makes a flow with tolerances of 1e-10 relative and 1e-13 absolute: a thousand steps then stay
    /// within 1e-7 of the exact flow, and conserved quantities drift by less.
    pub fn new(method: Method) -> Self {
        Flow {
            method,
            rtol: 1e-10,
            atol: 1e-13,
            // The largest explicit flows take some minutes; a stiff flow under an explicit method exceeds any limit.
            most_steps: 1_000_000,
        }
    }

    /// Sets another relative tolerance `rtol`, and the absolute one to a thousandth of it.
    pub fn within(mut self, rtol: f64) -> Self {
        (self.rtol, self.atol) = (rtol, 1e-3 * rtol);
        self
    }

    /// Integrates from `start` at time 0 to the last of the `times`.
    ///
    /// # Errors
    /// As [`Flow::watched`].
    pub fn run(&self, field: &dyn VectorField, start: &[f64], times: &[f64]) -> Result<Path> {
        self.watched(field, start, times, Watch::default())
    }

    /// Integrates from `start` at time 0 to the last of the `times`, or to the event.
    ///
    /// # Errors
    /// If times are not positive and ascending, the start has the wrong length, tolerances are out of
    /// range, or the flow diverges or needs more than `most_steps` steps.
    pub fn watched(&self, field: &dyn VectorField, start: &[f64], times: &[f64], watch: Watch) -> Result<Path> {
        self.validate(field, start, times)?;
        if self.method == Method::Chebyshev {
            return chebyshev::run(self, field, start, times, watch);
        }
        let calls = Cell::new(0_usize);
        let count = |n| calls.set(calls.get() + n);
        let event = watch.event;
        let mut problem = OdeBuilder::<NalgebraMat<f64>>::new()
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
            .root(|x, _, _, out| out[0] = event.map_or(1.0, |event| event(x)), 1)
            .init(|_, _, x| x.copy_from_slice(start), start.len())
            .build()
            .map_err(failed)?;
        // diffsol counts every Newton iteration that asks for a new Jacobian, over the whole run, and gives up
        // at 50. A long stiff flow has some in a hundred steps.
        problem.ode_options.max_nonlinear_solver_failures = self.most_steps;
        // Its least step is 1e-13, whatever the unit of time in which the flow moves.
        problem.ode_options.min_timestep *= self.unit_of_time(field, start).min(1.0);
        let watching = Watching::new(watch);
        type Lu = NalgebraLU<f64>;
        let path = match self.method {
            Method::Tsit45 => self.drive(times, watching, problem.tsit45().map_err(failed)?),
            Method::Bdf => self.drive(times, watching, problem.bdf::<Lu>().map_err(failed)?),
            Method::Esdirk34 | Method::Chebyshev => {
                self.drive(times, watching, problem.esdirk34::<Lu>().map_err(failed)?)
            }
        }?;
        Ok(Path { evaluations: calls.get(), ..path })
    }

    /// Returns |x|/|x'| at the start.
    fn unit_of_time(&self, field: &dyn VectorField, start: &[f64]) -> f64 {
        let mut rate = vec![0.0; start.len()];
        field.rate(start, &mut rate);
        let norm = |x: &[f64]| x.iter().fold(0.0_f64, |norm, x| norm.hypot(*x));
        norm(start).max(self.atol) / norm(&rate)
    }

    fn validate(&self, field: &dyn VectorField, start: &[f64], times: &[f64]) -> Result<()> {
        for (name, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            require(value > 0.0 && value < 1.0, name, value, "must be a number in (0, 1)")?;
        }
        let fits = start.len() == field.dim() && !start.is_empty();
        let expected = format!("{} coordinates, as the field has", field.dim());
        require_shape(fits, "start of the flow", start.len(), expected)?;
        let finite = |x: &f64| require(x.is_finite(), "start of the flow", x, "must be finite numbers");
        start.iter().try_for_each(finite)?;
        let ascending = times.windows(2).all(|w| w[0] < w[1]);
        let finite = times.iter().all(|t| *t > 0.0 && t.is_finite());
        let allowed = "must be at least one, each finite, > 0 and larger than the one before";
        require(!times.is_empty() && ascending && finite, "times", format_args!("{times:?}"), allowed)
    }

    /// Runs the steps of a method of diffsol.
    fn drive<'p, Eqn, S>(&self, times: &[f64], mut watching: Watching, mut solver: S) -> Result<Path>
    where
        Eqn: OdeEquations<T = f64, V = NalgebraVec<f64>> + 'p,
        S: OdeSolverMethod<'p, Eqn>,
    {
        let until = times[times.len() - 1];
        let (mut reached, mut states, mut event) = (vec![], vec![], None);
        let mut look = |solver: &S| {
            let state = solver.state();
            watching.look(state.t, state.y.inner().as_slice())
        };
        look(&solver);
        match solver.set_stop_time(until) {
            // For times below the resolution of the solver, about 1e-14 of its first step, the path is the tangent at
            // the start: what the flow bends in them is far below a rounding error.
            Err(DiffsolError::OdeSolverError(OdeSolverError::StopTimeAtCurrentTime)) => {
                let start = solver.state();
                let (x, rate) = (start.y.inner().as_slice(), start.dy.inner().as_slice());
                let states = times.iter().map(|t| x.iter().zip(rate).map(|(x, v)| x + t * v).collect()).collect();
                return Ok(Path { times: times.to_vec(), states, drifts: watching.drifts, ..Path::default() });
            }
            done => done.map_err(failed)?,
        }
        let mut steps = 0;
        loop {
            let reason = solver.step().map_err(failed)?;
            steps += 1;
            let (now, finite) = (solver.state().t, look(&solver));
            if !finite {
                return Err(unbounded(now));
            }
            let end = match reason {
                OdeSolverStopReason::RootFound(t, _) => t,
                // The method may stop a rounding error before the end.
                OdeSolverStopReason::TstopReached => until.max(now),
                OdeSolverStopReason::InternalTimestep => now,
            };
            while let Some(t) = times.get(reached.len()).filter(|t| **t <= end) {
                let state = solver.interpolate(t.min(now)).map_err(failed)?;
                reached.push(*t);
                states.push(state.inner().as_slice().to_vec());
            }
            match reason {
                OdeSolverStopReason::InternalTimestep => (),
                OdeSolverStopReason::TstopReached => break,
                OdeSolverStopReason::RootFound(t, _) => {
                    event = Some((t, solver.interpolate(t).map_err(failed)?.inner().as_slice().to_vec()));
                    break;
                }
            }
            if steps >= self.most_steps {
                return Err(too_long(now, until, steps));
            }
        }
        let rejected = solver.get_statistics().number_of_error_test_failures;
        Ok(Path { times: reached, states, event, steps, rejected, evaluations: 0, drifts: watching.drifts })
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn failed(error: DiffsolError) -> Error {
    Error::not_converged(format!("the flow could not be integrated: {error}"))
}

/// Makes the error of a flow that diverges in finite time.
fn unbounded(t: f64) -> Error {
    Error::diverged(format!("the flow diverges near t = {t:.6e}"))
}

/// Makes the error of a flow with more steps than allowed.
fn too_long(now: f64, until: f64, steps: usize) -> Error {
    Error::not_converged(format!(
        "the flow is at t = {now:.6e} of {until:.6e} after {steps} steps: choose an implicit \
         method, a looser tolerance or a shorter time"
    ))
}
