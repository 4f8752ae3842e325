//! Bounds on the first break of a token, computed from the state that the pass kept of it.
//!
//! For a noise column let F(θ) = log Σ_{i∈C_k} e^{θ s_i}, B = Σ_{others} e^{s_i}, s the largest signal
//! score. Its weight exceeds τ iff  T(θ) = log(e^{F(θ)} + B) - θ s + log τ < 0, and for s > 0 T falls
//! strictly, so the break is the root of T. F is convex, hence between two nodes it lies
//!
//! - below the chord: an upper bound of T, whose root is an upper bound of θ_j;
//! - above the continued chords of the two neighbouring cells: a lower bound.
//!
//! R(θ) = e^{F - θ s} - 1, the sum over the other signal keys relative to the largest, is log-convex too. It gives two
//! more bounds of each kind, which are tighter if few keys dominate. The estimate is the polynomial of degree 7 through
//! log R at the eight nearest nodes: log F itself has complex zeros right above the break (where the largest key
//! balances the rest), log R only beyond it. On Gaussian columns its error in θ is at most 1e-3, typically 1e-6. Beyond
//! the last node the last chord still bounds F and R from below; from above only the bound s on the slope of F remains.
//!
//! *Rounding.* A product of p terms in any order errs by at most γ_p |a||e|, γ_p = p u/(1 - p u), u =
//! 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, Eq. 3.5); this error is assumed for
//! each s_i in F, s and B, at the largest signal and noise lengths of the head. In the sums, 2^x errs by
//! 2e-7 and its argument (at most 20 where a term matters) by 20 u; raised to the twelfth power this
//! gives 12 (2e-7 + 1.2e-6), plus 12 u for the powers. A tile adds up to 256 numbers in f32: 256 u =
//! 1.6e-5. The total is below 4e-5 in the logarithm; [`SUMS`] is more than twice that. A continued chord
//! starts from those ends of the error intervals that make it lowest.

use super::state::{Grid, NODES, Tokens};
use crate::attention::horizon::Bracket;

/// Bound on the error of log Σ in the inner loops on the CPU (derived above).
pub(super) const SUMS: f64 = 1e-4;

/// Range of usable sums; sums outside it have lost terms to underflow or overflow.
const USABLE: std::ops::Range<f64> = 1e-28..1e30;

/// Data of the head that the bounds need.
pub(super) struct Context {
    /// Threshold τ in (0, 1].
    pub tau: f64,
    /// Number of signal keys, n = |C_k|.
    pub signals: usize,
    /// Number of noise keys, N - n.
    pub noises: usize,
    /// Rounding constant γ_p: a score errs by at most γ_p |y_i||y_j|.
    pub gamma: f64,
    /// Bound on the error of log Σ in the inner loops.
    pub sums: f64,
    /// Length of the longest signal column, max |a_i|.
    pub longest_signal: f64,
    /// Length of the longest noise column, max |e_j|.
    pub longest_noise: f64,
}

const NEVER: Bracket = Bracket { low: f64::INFINITY, value: f64::INFINITY, high: f64::INFINITY };
/// Bracket without information. Its estimate is the lower end, so that such columns count as broken early.
const UNKNOWN: Bracket = Bracket { low: 1.0, value: 1.0, high: f64::INFINITY };

impl Context {
    /// Bounds a token of C_k of length `length`: it never breaks, or must be decided in f64. A token whose own weight
    /// at θ = 1 is above τ and at least 1 - τ keeps the pattern for all θ (see `attention::horizon::column`).
    pub fn signal(&self, tokens: &Tokens, j: usize, length: f64) -> Bracket {
        let self_score = length * length;
        let error = self.gamma * length * self.longest_signal.max(self.longest_noise);
        let top = f64::from(tokens.top[j]) + error;
        let other = f64::from(tokens.other[j]) + error;
        let inverse = 1.0
            + (self.signals - 1) as f64 * (top - self_score).exp()
            + self.noises as f64 * (other - self_score).exp();
        // The relative 1e-6 covers the rounding of this formula and of the lengths.
        if inverse * self.tau.max(1.0 - self.tau) < 1.0 - 1e-6 { NEVER } else { UNKNOWN }
    }

    /// Bounds a noise column of length 0: all its scores are 0 and all its weights 1/N at every θ.
    pub fn zero_column(&self) -> Bracket {
        if 1.0 / (self.signals + self.noises) as f64 > self.tau { Bracket::exact(1.0) } else { NEVER }
    }

    /// Bounds a noise column of positive length.
    pub fn noise(&self, tokens: &Tokens, j: usize, grid: &Grid) -> Bracket {
        if self.tau >= 1.0 {
            return NEVER; // a weight is never above 1
        }
        if !USABLE.contains(&tokens.fixed[j]) {
            return UNKNOWN;
        }
        let column = Noise::new(self, tokens, j, grid);
        let signal = column.signal_bracket();
        column.with_noise_keys(signal)
    }
}

/// Requested value of F: lower bound, estimate or upper bound.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Below,
    Near,
    Above,
}

struct Noise<'a> {
    context: &'a Context,
    /// Values of F at the nodes 0..=J.
    f: [f64; NODES + 1],
    /// Values of log R at the nodes: lower bound, upper bound, and estimate.
    r: [[f64; NODES + 1]; 3],
    /// Distance of the nodes: node g is at θ = g · node.
    node: f64,
    log_b: f64,
    /// Largest signal score and largest noise score.
    top: f64,
    other: f64,
    /// Bounds on the errors of a signal score, and of log B and the largest noise score.
    signal_error: f64,
    noise_error: f64,
    /// Flag: no sum has lost terms.
    usable: bool,
}

impl<'a> Noise<'a> {
    fn new(context: &'a Context, tokens: &Tokens, j: usize, grid: &'a Grid) -> Self {
        let top = f64::from(tokens.top[j]);
        let signal_error = context.gamma * context.longest_signal * grid.sigma;
        let mut f = [(context.signals as f64).ln(); NODES + 1];
        let mut r = [[(context.signals as f64 - 1.0).ln(); NODES + 1]; 3];
        for g in 1..=NODES {
            f[g] = grid.log_sum(g, tokens.sums[j][g - 1]);
            let theta = grid.node(g);
            let d = f[g] - theta * top;
            // Sum of the errors of F and of θ s.
            let error = 2.0 * theta * signal_error + context.sums;
            for (r, error) in r.iter_mut().zip([-error, error, 0.0]) {
                r[g] = (d + error).exp_m1().max(0.0).ln();
            }
        }
        let usable = |sum: &f64| USABLE.contains(sum);
        Noise {
            context,
            f,
            r,
            node: grid.node(1),
            log_b: tokens.fixed[j].ln(),
            top,
            other: f64::from(tokens.other[j]),
            signal_error,
            noise_error: context.gamma * context.longest_noise * grid.sigma + context.sums,
            usable: tokens.sums[j].iter().all(usable),
        }
    }

    /// Bounds the error of F at node g (node 0 is exact).
    fn node_error(&self, g: usize) -> f64 {
        if g == 0 { 0.0 } else { g as f64 * self.node * self.signal_error + self.context.sums }
    }

    /// Computes F = θ s + log(1 + R) from log R and the given error of s.
    fn with_log_r(&self, theta: f64, log_r: f64, error: f64) -> f64 {
        theta * (self.top + error) + log_r.exp().ln_1p()
    }

    /// Computes a lower bound of F at θ from the cell of nodes a and b, b the nearer, by continuing the
    /// chords. NaN (log 0 - log 0) means no bound.
    fn continued(&self, a: usize, b: usize, theta: f64) -> f64 {
        let steps = (theta / self.node - b as f64) / (b as f64 - a as f64);
        let (far, near) = (self.f[a] + self.node_error(a), self.f[b] - self.node_error(b));
        let [low, high, _] = &self.r;
        let log_r = low[b] + steps * (low[b] - high[a]);
        let f = near + steps * (near - far);
        f.max(self.with_log_r(theta, log_r, -self.signal_error))
    }

    /// Computes an upper bound of F at θ in cell c: the lower of the chords.
    fn chord(&self, c: usize, theta: f64) -> f64 {
        let fraction = theta / self.node - c as f64;
        let (a, b) = (self.f[c] + self.node_error(c), self.f[c + 1] + self.node_error(c + 1));
        let high = &self.r[1];
        let log_r = high[c] + fraction * (high[c + 1] - high[c]);
        (a + fraction * (b - a)).min(self.with_log_r(theta, log_r, self.signal_error))
    }

    /// Returns the cell that contains θ: 0..J, or J beyond the last node.
    fn cell(&self, theta: f64) -> usize {
        ((theta / self.node) as usize).min(NODES)
    }

    /// Computes F at θ: a lower bound, an estimate or an upper bound.
    fn log_sum(&self, theta: f64, side: Side) -> f64 {
        let c = self.cell(theta);
        match side {
            Side::Above if c < NODES => self.chord(c, theta),
            Side::Above => {
                let rest = theta - NODES as f64 * self.node;
                self.f[NODES] + self.node_error(NODES) + rest * (self.top + self.signal_error)
            }
            Side::Below => {
                let mut below = theta * (self.top - self.signal_error);
                if c > 0 {
                    below = below.max(self.continued(c - 1, c, theta));
                }
                if c + 2 <= NODES {
                    below = below.max(self.continued(c + 2, c + 1, theta));
                }
                below
            }
            Side::Near => self.with_log_r(theta, self.interpolate(theta, c), 0.0),
        }
    }

    /// Estimates log R at θ by the polynomial of degree 7 through the eight nodes around cell c
    /// (Lagrange, equispaced); beyond the last node by continuing the last chord.
    fn interpolate(&self, theta: f64, c: usize) -> f64 {
        /// Barycentric weights of equispaced nodes: (-1)^i times the binomial coefficients of 7.
        const WEIGHTS: [f64; 8] = [1.0, -7.0, 21.0, -35.0, 35.0, -21.0, 7.0, -1.0];
        /// Least usable log R: below it R is no larger than the rounding errors of the sums.
        const LEAST: f64 = -11.5;
        let r = &self.r[2];
        if c == NODES {
            return r[c] + (theta / self.node - c as f64) * (r[c] - r[c - 1]);
        }
        let mut first = c.saturating_sub(3).min(NODES - 7);
        while first > 0 && r[first + 7] < LEAST && first + 7 > c + 1 {
            first -= 1;
        }
        let x = theta / self.node - first as f64;
        let (mut top, mut bottom) = (0.0, 0.0);
        for (i, w) in WEIGHTS.iter().enumerate() {
            let distance = x - i as f64;
            if distance.abs() < 1e-12 {
                return r[first + i];
            }
            top += w / distance * r[first + i].max(LEAST);
            bottom += w / distance;
        }
        top / bottom
    }

    /// Computes T at θ on the requested side, with all rounding errors included.
    fn excess(&self, theta: f64, side: Side) -> f64 {
        let sign = match side {
            Side::Below => -1.0,
            Side::Near => 0.0,
            Side::Above => 1.0,
        };
        let log_b = self.log_b + sign * self.noise_error;
        let top = self.top - sign * self.signal_error;
        log_add(self.log_sum(theta, side), log_b) - theta * top + self.context.tau.ln()
    }

    /// Computes the root of T on the requested side: finds the first of θ = 1, the nodes after it and
    /// points beyond the last node at which T ≤ 0, and bisects the interval before it.
    fn root(&self, side: Side) -> f64 {
        if self.excess(1.0, side) <= 0.0 {
            return 1.0;
        }
        let mut left = 1.0;
        for g in self.cell(1.0) + 1..=NODES {
            let right = g as f64 * self.node;
            // Just inside the cell: at a node itself the bounds of both cells meet.
            if right > left {
                if self.excess(right, side) <= 0.0 {
                    return self.root_between(left, right, side);
                }
                left = right;
            }
        }
        for _ in 0..60 {
            let right = 2.0 * left;
            if self.excess(right, side) <= 0.0 {
                return self.root_between(left, right, side);
            }
            left = right;
        }
        f64::INFINITY
    }

    /// Bisects [a, b] to a relative width of 1e-7 and returns the safe end, or the middle for the estimate.
    fn root_between(&self, mut a: f64, mut b: f64, side: Side) -> f64 {
        while b - a > 1e-7 * a {
            let middle = 0.5 * (a + b);
            if self.excess(middle, side) <= 0.0 {
                b = middle;
            } else {
                a = middle;
            }
        }
        match side {
            Side::Below => a,
            Side::Near => 0.5 * (a + b),
            Side::Above => b,
        }
    }

    /// Bounds the first θ at which a signal key gets more than τ.
    fn signal_bracket(&self) -> Bracket {
        let top = self.top + self.signal_error;
        // The condition B e^{-θ s} < 1/τ - 1 is necessary for every F.
        let ratio = self.log_b - self.noise_error - (1.0 / self.context.tau - 1.0).ln();
        let floor = if ratio <= 0.0 {
            1.0
        } else if top <= 0.0 {
            return NEVER;
        } else {
            (ratio / top).max(1.0)
        };
        if !self.usable || self.top <= self.signal_error {
            return Bracket { low: floor, value: floor, high: f64::INFINITY };
        }
        let low = self.root(Side::Below).max(floor);
        let value = self.root(Side::Near).max(low);
        let high = self.root(Side::Above).max(low);
        Bracket { low, value: value.min(high), high }
    }

    /// Extends the bounds to noise keys that get more than τ: e^{largest noise score} > τ (e^F + B).
    fn with_noise_keys(&self, signal: Bracket) -> Bracket {
        let need = self.other + self.noise_error - self.context.tau.ln();
        // No noise key gets more than τ if B alone is too large ..
        if need < self.log_b - self.noise_error {
            return signal;
        }
        if !self.usable {
            return UNKNOWN;
        }
        // .. or if e^F + B is too large; F is convex and rises before θ = 1 already.
        let g = self.cell(1.0);
        let rising = g > 0 && self.f[g] - self.f[g - 1] > self.node_error(g) + self.node_error(g - 1);
        let least = log_add(self.log_sum(1.0, Side::Below), self.log_b - self.noise_error);
        if rising && need < least {
            return signal;
        }
        let most = log_add(self.log_sum(1.0, Side::Above), self.log_b + self.noise_error);
        if self.other - self.noise_error - self.context.tau.ln() > most {
            return Bracket::exact(1.0);
        }
        Bracket { low: 1.0, ..signal }
    }
}

/// Computes log(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    a.max(b) + (a.min(b) - a.max(b)).exp().ln_1p()
}
