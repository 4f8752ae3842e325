//! The Runge-Kutta-Chebyshev method of order 2: explicit, for stiff gradient flows of any size.
//!
//! After Sommeijer, Shampine and Verwer, "RKC: an explicit solver for parabolic PDEs", J. Comput. Appl. Math. 88
//! (1998): s stages are stable for rates up to $0.653\,(s+1)^2/h$ on the negative real axis, where the eigenvalues of
//! the Jacobian of a gradient flow (minus a Hessian) lie. A step as long as accuracy allows then costs about
//! $\sqrt{h\rho}$ evaluations, with ρ the fastest rate, where Runge-Kutta pairs need $h\rho/3$ steps. Unlike implicit
//! methods the method stores a few vectors and no matrix.

use super::{Flow, Path, VectorField, Watch, Watching, norm, too_long, unbounded};
use attnlab_core::error::Result;

/// Largest number of stages of a step: beyond it the rounding error, which grows as s² ε, exceeds 1e-11.
const MOST_STAGES: usize = 300;
/// Number of steps after which the fastest rate is estimated anew, as in the authors' code.
const RATE_KEEPS: usize = 25;
/// Damping parameter of the authors.
const DAMPING: f64 = 2.0 / 13.0;

/// Coefficients of an s-stage step.
struct Coefficients {
    /// Coefficient of the first stage, $\tilde\mu_1$.
    first: f64,
    /// Coefficients $\mu_j, \nu_j, \tilde\mu_j, \tilde\gamma_j$ of the stages from the second on.
    stages: Vec<[f64; 4]>,
}

impl Coefficients {
    fn new(s: usize) -> Self {
        let w0 = 1.0 + DAMPING / (s * s) as f64;
        // T_j(w0) with its first and second derivatives, by the recurrence.
        let (mut t, mut d, mut dd) = (vec![1.0, w0], vec![0.0, 1.0], vec![0.0, 0.0]);
        for j in 2..=s {
            t.push(2.0 * w0 * t[j - 1] - t[j - 2]);
            d.push(2.0 * t[j - 1] + 2.0 * w0 * d[j - 1] - d[j - 2]);
            dd.push(4.0 * d[j - 1] + 2.0 * w0 * dd[j - 1] - dd[j - 2]);
        }
        let w1 = d[s] / dd[s];
        let b = |j: usize| dd[j.max(2)] / (d[j.max(2)] * d[j.max(2)]);
        let stage = |j: usize| {
            let tilde = 2.0 * b(j) * w1 / b(j - 1);
            let a = 1.0 - b(j - 1) * t[j - 1];
            [2.0 * b(j) * w0 / b(j - 1), -b(j) / b(j - 2), tilde, -a * tilde]
        };
        Coefficients { first: b(1) * w1, stages: (2..=s).map(stage).collect() }
    }
}

/// Computes the number of stages that are stable at the step `h` and the rate `rho`.
fn stages(h: f64, rho: f64) -> usize {
    ((1.0 + 1.54 * h * rho).sqrt().ceil() as usize).max(2)
}

/// Computes the longest step that [`MOST_STAGES`] allow.
fn longest(rho: f64) -> f64 {
    ((MOST_STAGES * MOST_STAGES - 1) as f64) / (1.54 * rho)
}

/// State with its rate and the memory of the method.
struct Stepper<'f> {
    flow: Flow,
    field: &'f dyn VectorField,
    evaluations: usize,
    t: f64,
    x: Vec<f64>,
    rate: Vec<f64>,
    /// Length of the step to try next.
    h: f64,
    /// Fastest rate, the direction in which it was found, and the number of steps since.
    rho: f64,
    direction: Vec<f64>,
    rate_age: usize,
    /// Error and length of the last step.
    before: Option<(f64, f64)>,
    coefficients: Vec<Option<Coefficients>>,
}

/// State at the start of a step.
struct Last {
    t: f64,
    x: Vec<f64>,
    rate: Vec<f64>,
}

impl<'f> Stepper<'f> {
    fn new(flow: Flow, field: &'f dyn VectorField, start: &[f64]) -> Self {
        let mut rate = vec![0.0; start.len()];
        field.rate(start, &mut rate);
        // The rate itself may vanish along fast directions, so it is not used as direction.
        let direction = (0..start.len()).map(|i| if i % 2 == 0 { 1.0 } else { -0.5 });
        let mut stepper = Stepper {
            flow,
            field,
            evaluations: 1,
            t: 0.0,
            direction: direction.collect(),
            x: start.to_vec(),
            rate,
            h: 0.0,
            rho: 0.0,
            rate_age: 0,
            before: None,
            coefficients: vec![],
        };
        stepper.estimate_rho();
        stepper.h = stepper.first_step();
        stepper
    }

    fn eval(&mut self, x: &[f64], out: &mut [f64]) {
        self.evaluations += 1;
        self.field.rate(x, out);
    }

    /// Estimates the fastest rate by power iteration on differences of the field, increased by a tenth.
    fn estimate_rho(&mut self) {
        let n = self.x.len();
        let (mut shifted, mut out) = (vec![0.0; n], vec![0.0; n]);
        // The square root of the rounding error balances it against the second derivative.
        let size = 1e-7 * norm(&self.x).max(1.0);
        let mut rho = 0.0;
        for round in 0..50 {
            let length = norm(&self.direction);
            if length == 0.0 {
                break;
            }
            for ((s, x), v) in shifted.iter_mut().zip(&self.x).zip(&self.direction) {
                *s = x + v * (size / length);
            }
            self.eval(&shifted, &mut out);
            for ((v, o), r) in self.direction.iter_mut().zip(&out).zip(&self.rate) {
                *v = (o - r) / size;
            }
            let estimate = norm(&self.direction);
            let settled = round > 2 && (estimate - rho).abs() < 0.02 * estimate;
            rho = estimate;
            if settled {
                break;
            }
        }
        if rho == 0.0 {
            // If the field does not change, any direction works next time.
            self.direction.fill(1.0);
        }
        (self.rho, self.rate_age) = (1.1 * rho, 0);
    }

    /// Chooses the first step as the authors do: a tenth of the length that the error of an Euler step allows.
    fn first_step(&mut self) -> f64 {
        let h = if self.rho > 0.0 { 1.0 / self.rho } else { 1.0 };
        let shifted: Vec<f64> = self.x.iter().zip(&self.rate).map(|(x, r)| x + h * r).collect();
        let mut out = vec![0.0; shifted.len()];
        self.eval(&shifted, &mut out);
        let error = |i: usize| h * (out[i] - self.rate[i]);
        let error = self.weighted(error, &self.x.clone());
        let allowed = if error > 0.0 { h / error.sqrt() } else { h };
        0.1 * allowed.min(h)
    }

    /// Computes the root mean square of an error relative to the allowed error.
    fn weighted(&self, error: impl Fn(usize) -> f64, y: &[f64]) -> f64 {
        let Flow { rtol, atol, .. } = self.flow;
        let square = |i: usize| (error(i) / (atol + rtol * self.x[i].abs().max(y[i].abs()))).powi(2);
        let n = self.x.len();
        ((0..n).map(square).sum::<f64>() / n as f64).sqrt()
    }

    /// Takes one accepted step, at most to `until`; returns the number of steps rejected before it.
    fn step(&mut self, until: f64) -> Result<(Last, usize)> {
        let mut rejected = 0;
        if self.rate_age >= RATE_KEEPS {
            self.estimate_rho();
        }
        loop {
            let mut h = self.h.min(longest(self.rho.max(f64::MIN_POSITIVE)));
            let last = self.t + h >= until * (1.0 - 4.0 * f64::EPSILON);
            if last {
                h = until - self.t;
            }
            let (y, rate) = self.tried(h);
            let estimate = |i: usize| 0.8 * (self.x[i] - y[i]) + 0.4 * h * (self.rate[i] + rate[i]);
            // A positive lower bound lets a field at rest grow the step by the largest factor.
            let error = self.weighted(estimate, &y).max(1e-10);
            if error <= 1.0 {
                let power = |e: f64| e.powf(-1.0 / 3.0);
                let growth = match self.before {
                    None => 0.8 * power(error),
                    // Predictive step-size controller of the authors.
                    Some((e, before)) => 0.8 * (h / before) * power(error) * power(error) / power(e),
                };
                self.before = Some((error, h));
                self.h = h * growth.clamp(0.1, 10.0);
                self.rate_age += 1;
                let from = Last {
                    t: self.t,
                    x: std::mem::replace(&mut self.x, y),
                    rate: std::mem::replace(&mut self.rate, rate),
                };
                self.t = if last { until } else { self.t + h };
                return Ok((from, rejected));
            }
            rejected += 1;
            let shrink = if error.is_finite() { 0.8 * error.powf(-1.0 / 3.0) } else { 0.1 };
            self.h = h * shrink.max(0.1);
            if self.h < 16.0 * f64::EPSILON * self.t.max(f64::MIN_POSITIVE) {
                return Err(unbounded(self.t));
            }
            if self.rate_age > 0 {
                self.estimate_rho();
            }
        }
    }

    /// Computes the state after a step, with its rate.
    fn tried(&mut self, h: f64) -> (Vec<f64>, Vec<f64>) {
        let s = stages(h, self.rho).min(MOST_STAGES);
        if self.coefficients.len() <= s {
            self.coefficients.resize_with(s + 1, || None);
        }
        let with = self.coefficients[s].take().unwrap_or_else(|| Coefficients::new(s));
        let (x, r) = (&self.x, &self.rate);
        let mut back = x.clone();
        let mut y: Vec<f64> = x.iter().zip(r).map(|(x, r)| x + with.first * h * r).collect();
        let mut slope = vec![0.0; y.len()];
        for [mu, nu, tilde, gamma] in &with.stages {
            self.field.rate(&y, &mut slope);
            self.evaluations += 1;
            let (rest, tilde, gamma) = (1.0 - mu - nu, tilde * h, gamma * h);
            for (i, back) in back.iter_mut().enumerate() {
                *back = rest * x[i] + mu * y[i] + nu * *back + tilde * slope[i] + gamma * r[i];
            }
            std::mem::swap(&mut y, &mut back);
        }
        self.coefficients[s] = Some(with);
        self.eval(&y, &mut slope);
        (y, slope)
    }
}

impl Last {
    /// Interpolates the state at a time within the step that led to `to`: the cubic through both states
    /// and rates, whose error has one order more than the method's.
    fn state_at(&self, to: &Stepper, t: f64) -> Vec<f64> {
        let h = to.t - self.t;
        let u = (t - self.t) / h;
        let (a, b) = ((1.0 + 2.0 * u) * (1.0 - u).powi(2), u * (1.0 - u).powi(2) * h);
        let (c, d) = (u * u * (3.0 - 2.0 * u), u * u * (u - 1.0) * h);
        (0..self.x.len()).map(|i| a * self.x[i] + b * self.rate[i] + c * to.x[i] + d * to.rate[i]).collect()
    }

    /// Finds time and state at which `event` changes sign in the step that led to `to`.
    fn event(&self, to: &Stepper, event: super::Level) -> Option<(f64, Vec<f64>)> {
        let before = event(&self.x).is_sign_positive();
        if event(&to.x).is_sign_positive() == before {
            return None;
        }
        let (mut low, mut high) = (self.t, to.t);
        // Bisection ends at the last bit of the time.
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if event(&self.state_at(to, middle)).is_sign_positive() == before { low = middle } else { high = middle }
        }
        Some((high, self.state_at(to, high)))
    }
}

pub(super) fn run(flow: &Flow, field: &dyn VectorField, start: &[f64], times: &[f64], watch: Watch) -> Result<Path> {
    let until = times[times.len() - 1];
    let event = watch.event;
    let mut watching = Watching::new(watch);
    watching.look(0.0, start);
    let mut stepper = Stepper::new(*flow, field, start);
    let (mut reached, mut states, mut crossing, mut steps, mut rejected) = (vec![], vec![], None, 0, 0);
    while stepper.t < until && crossing.is_none() {
        let (last, failed) = stepper.step(until)?;
        steps += 1;
        rejected += failed;
        if !watching.look(stepper.t, &stepper.x) {
            return Err(unbounded(stepper.t));
        }
        crossing = event.and_then(|event| last.event(&stepper, event));
        let now = crossing.as_ref().map_or(stepper.t, |(t, _)| *t);
        while let Some(t) = times.get(reached.len()).filter(|t| **t <= now) {
            reached.push(*t);
            states.push(if *t == stepper.t { stepper.x.clone() } else { last.state_at(&stepper, *t) });
        }
        if steps >= flow.most_steps && stepper.t < until {
            return Err(too_long(stepper.t, until, steps));
        }
    }
    let (evaluations, drifts) = (stepper.evaluations, watching.drifts);
    Ok(Path { times: reached, states, event: crossing, steps, rejected, evaluations, drifts })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R(z) of x' = λx with z = hλ.
    fn stability(s: usize, z: f64) -> f64 {
        let with = Coefficients::new(s);
        let (mut back, mut y) = (1.0, 1.0 + with.first * z);
        for [mu, nu, tilde, gamma] in with.stages {
            (back, y) = (y, 1.0 - mu - nu + mu * y + nu * back + tilde * z * y + gamma * z);
        }
        y
    }

    #[test]
    fn steps_have_order_two_and_are_stable_as_far_as_said() {
        for s in [2, 3, 7, 40, MOST_STAGES] {
            let h = 1e-3;
            let third = stability(s, h) - (1.0 + h + 0.5 * h * h);
            assert!(third.abs() < h.powi(3), "{s}: {third}");
            // Assumption of [`stages`]: s² = 1 + 1.54 hρ.
            let end = ((s * s - 1) as f64) / 1.54;
            for i in 0..=1000 {
                let z = -end * f64::from(i) / 1000.0;
                assert!(stability(s, z).abs() <= 1.0 + 1e-10, "{s} {z}");
            }
            assert!(stages(end, 1.0) <= s);
        }
    }
}
