//! Minima of the energy: their basins of attraction and the tokens that they retrieve.

use super::DenseMemory;
use attnlab_core::error::{Error, Result, at_least, require, require_shape};
use attnlab_core::linalg::symmetric_eigen;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// One local minimum of the energy.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// State s (n,) of the minimum.
    pub state: Array1<f64>,
    /// Energy $\mathcal E(X, s)$.
    pub energy: f64,
    /// Least eigenvalue of the Hessian at the minimum.
    pub curvature: f64,
    /// Index of the token with more than half of the softmax weight: the minimum is then a retrieved
    /// context token. `None` for a spurious minimum, a mixture of several tokens.
    pub token: Option<usize>,
    /// Effective number of tokens that share the weight, $1/\sum_t g_t^2$: 1 for a retrieved token, L for
    /// the mean of the context.
    pub shared_by: f64,
    /// Number of starts that end in this minimum.
    pub starts: usize,
}

/// Minima that descent reaches from given starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Minima {
    /// Minima in ascending order of energy.
    pub minima: Vec<Minimum>,
    /// Index of the minimum that each start reaches: the basins of attraction.
    pub basin: Vec<usize>,
}

/// Largest number of steps of the concave-convex procedure from one start. It contracts by
/// $\alpha\beta\lambda_{\max}$ of the weighted covariance per step, which is close to 1 only near a
/// bifurcation; Newton's method takes over long before this number.
const MOST_STEPS: usize = 20_000;

/// Length of a step, as a share of the longest token, below which Newton's method is tried: the state is
/// then inside the basin, and Newton steps are short too.
const NEWTON_FROM: f64 = 0.02;

/// Length of the next step, as a share of the longest token, below which a state counts as a minimum:
/// some hundred rounding errors.
const CONVERGED: f64 = 1e-13;

/// Distance from a saddle at which descent continues, as a share of the longest token.
const ASIDE: f64 = 1e-3;

/// Distance, as a share of the longest token, below which two ends are the same minimum: the accuracy
/// that [`CONVERGED`] gives at a curvature of $10^{-6}/\alpha$.
const SAME: f64 = 1e-6;

impl DenseMemory {
    /// Finds the minima in which descent from `starts` (n, M) ends, and the basin of each start.
    ///
    /// Steps have γ = α. This is the concave-convex procedure, since the energy is a quadratic minus a convex function:
    /// the energy never rises, so every start ends in the minimum of its basin. If a start on the stable manifold of a
    /// saddle ends there, descent continues along the direction of negative curvature.
    ///
    /// # Errors
    /// If α is negative (the energy then has no lower bound), β is negative (steps may then overshoot), a
    /// start has the wrong length or is not finite, or descent does not converge.
    ///
    /// ```
    /// use attnlab_theory::attention::memory::DenseMemory;
    /// use ndarray::array;
    /// // Three tokens, cold: each is a minimum.
    /// let tokens = array![[1.0, -0.5, -0.5], [0.0, 0.8, -0.8]];
    /// let cold = DenseMemory::new(tokens.view(), 1.0, 20.0)?.minima_from(tokens.view())?;
    /// assert_eq!(cold.basin.len(), 3);
    /// assert!(cold.minima.iter().all(|m| m.token.is_some()));
    /// // Warm: they merge into one, which is spurious.
    /// let warm = DenseMemory::new(tokens.view(), 1.0, 0.5)?.minima_from(tokens.view())?;
    /// assert_eq!((warm.minima.len(), warm.minima[0].token), (1, None));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn minima_from(&self, starts: ArrayView2<f64>) -> Result<Minima> {
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            let allowed = "must be a number > 0; minima are found where both scales are positive";
            require(value > 0.0, name, value, allowed)?;
        }
        let scale = self.scale();
        let (mut minima, mut basin): (Vec<Minimum>, Vec<usize>) = (vec![], vec![]);
        for start in starts.columns() {
            self.check_state(start)?;
            let end = self.relax(start, scale)?;
            let near = |m: &Minimum| distance(m.state.view(), end.view()) <= SAME * scale;
            let index = minima.iter().position(near).unwrap_or(minima.len());
            if index == minima.len() {
                minima.push(self.describe(end)?);
            }
            minima[index].starts += 1;
            basin.push(index);
        }
        Ok(sorted(minima, basin))
    }

    /// Finds the minima of a memory in two dimensions from the points of a `side` × `side` grid over the
    /// smallest rectangle that contains all of them: a stationary state is α times a weighted mean of the
    /// tokens. The points are ordered as in [`DenseMemory::grid`], row by row from the bottom; the share
    /// of the starts is the share of the rectangle in a basin.
    ///
    /// # Errors
    /// As [`DenseMemory::minima_from`], or if tokens do not have two components or `side` < 2.
    pub fn minima_on_grid(&self, side: usize) -> Result<Minima> {
        self.minima_from(self.grid(side)?.view())
    }

    /// Returns the points of the grid of [`DenseMemory::minima_on_grid`], as columns (2, `side`²).
    ///
    /// # Errors
    /// If tokens do not have two components, or `side` < 2.
    pub fn grid(&self, side: usize) -> Result<Array2<f64>> {
        let expected = "(2, L): a grid is for two dimensions, use minima_from in more";
        require_shape(self.context.nrows() == 2, "context", self.context.dim(), expected)?;
        at_least("side", side, 2)?;
        let ends = |row: usize| {
            let values = self.context.row(row);
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (low * self.alpha, high * self.alpha)
        };
        let (x, y) = (ends(0), ends(1));
        let coordinate = |(low, high): (f64, f64), i: usize| low + (high - low) * i as f64 / (side - 1) as f64;
        Ok(Array2::from_shape_fn((2, side * side), |(row, i)| {
            if row == 0 { coordinate(x, i % side) } else { coordinate(y, i / side) }
        }))
    }

    /// Returns the length of the longest token times α, a bound on the length of stationary states.
    fn scale(&self) -> f64 {
        let norm2 = self.context.map_axis(Axis(0), |x| x.dot(&x));
        let longest = norm2.iter().copied().fold(0.0, f64::max).sqrt();
        // If all tokens are zero the minimum is zero, and any scale works.
        (longest * self.alpha.abs()).max(f64::MIN_POSITIVE)
    }

    /// Descends to a minimum.
    ///
    /// # Errors
    /// If the largest number of steps is not enough.
    fn relax(&self, start: ArrayView1<f64>, scale: f64) -> Result<Array1<f64>> {
        let mut s = start.to_owned();
        let mut newton_below = NEWTON_FROM * scale;
        for _ in 0..MOST_STEPS {
            let next = self.attend(s.view());
            let moved = distance(next.view(), s.view());
            if !moved.is_finite() {
                return Err(Error::diverged("descent on the energy left the range of numbers: scale the tokens"));
            }
            s = next;
            if moved > newton_below {
                continue;
            }
            if let Some(end) = self.newton(&s, scale)? {
                return Ok(end);
            }
            newton_below *= 0.1;
            if moved <= CONVERGED * scale {
                // The state is stationary but not a minimum: a saddle, with lower energy beside it.
                let (_, vectors) = symmetric_eigen(self.hessian(s.view()).view())?;
                s += &(&vectors.column(0) * (ASIDE * scale));
                newton_below = NEWTON_FROM * ASIDE * scale;
            }
        }
        let message = format!(
            "descent on the energy did not converge in {MOST_STEPS} steps (alpha = {}, beta = {}): these \
             parameters are at a bifurcation, change beta a little",
            self.alpha, self.beta
        );
        Err(Error::not_converged(message))
    }

    /// Finds a minimum by Newton's method from a state close to it. `None` if the method finds none or
    /// leaves the neighbourhood, so that more steps of descent are needed.
    fn newton(&self, start: &Array1<f64>, scale: f64) -> Result<Option<Array1<f64>>> {
        let mut s = start.clone();
        for _ in 0..30 {
            let gradient = self.gradient(s.view());
            let (values, vectors) = symmetric_eigen(self.hessian(s.view()).view())?;
            // Curvatures are at most 1/alpha, and rounding turns 0 into some 1e-16 of that.
            if values[0] * self.alpha <= 1e-12 {
                return Ok(None);
            }
            if gradient.dot(&gradient).sqrt() * self.alpha <= CONVERGED * scale {
                return Ok(Some(s));
            }
            let c = vectors.t().dot(&gradient) / &values;
            s -= &vectors.dot(&c);
            // The state moved as far as the last steps of descent were long, possibly into another basin.
            if distance(s.view(), start.view()) > 5.0 * NEWTON_FROM * scale {
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn describe(&self, state: Array1<f64>) -> Result<Minimum> {
        let (values, _) = symmetric_eigen(self.hessian(state.view()).view())?;
        let g = self.weights(state.view());
        Ok(Minimum {
            energy: self.energy(state.view()),
            curvature: values[0],
            token: g.iter().position(|g| *g > 0.5),
            shared_by: 1.0 / g.dot(&g),
            starts: 0,
            state,
        })
    }
}

fn distance(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

/// Sorts the minima by energy, lowest first.
fn sorted(minima: Vec<Minimum>, basin: Vec<usize>) -> Minima {
    let mut order: Vec<usize> = (0..minima.len()).collect();
    order.sort_by(|a, b| minima[*a].energy.total_cmp(&minima[*b].energy));
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
    Minima {
        minima: order.iter().map(|old| minima[*old].clone()).collect(),
        basin: basin.into_iter().map(|old| place[old]).collect(),
    }
}
