//! From what the pass kept of a token to bounds on its first break.
//!
//! For a noise column let F(θ) = log Σ_{i∈C_k} e^{θ s_i}, B = Σ_{others} e^{s_i}, s the largest signal
//! score. Its weight exceeds τ iff  T(θ) = log(e^{F(θ)} + B) - θ s + log τ < 0, and for s > 0 T falls
//! strictly, so the break is the root of T. F is convex, hence between two nodes it lies
//!
//! - below the chord: an upper bound of T, whose root is an upper bound of θ_j;
//! - above the continued chords of the two neighbouring cells: a lower bound;
//! - and close to the polynomial through the six nearest nodes: the estimate.
//!
//! Beyond the last node the last chord, and that of R = e^{F - θ s} - 1 (a sum of exponentials, log R
//! is convex too), still bound F from below; from above only F's slope ≤ s remains.
//!
//! *Rounding.* A product of p terms in any order errs by at most γ_p |a||e|, γ_p = p u/(1 - p u), u = 2^-24
//! (Higham, Accuracy and Stability of Numerical Algorithms, Eq. 3.5); each s_i in F, s and B is charged
//! with that, at the largest signal and noise lengths of the head. The sums themselves: 2^x errs by
//! 2e-7 and its argument (at most 20 where a term matters) by 20 u, raised to the twelfth power
//! 12 (2e-7 + 1.2e-6) plus 12 u for the powers; a tile adds up to 256 numbers in f32, 256 u = 1.6e-5.
//! Together below 4e-5 in the logarithm; [`SUMS`] is twice that and more. A continued chord starts
//! from the ends of its errors that make it lowest.

use super::state::{Grid, NODES, Tokens};
use crate::attention::horizon::Bracket;

/// Bound on the error of log Σ by the inner loops (derived above).
const SUMS: f64 = 1e-4;

/// Sums outside this range have lost terms to underflow or overflow and say nothing.
const USABLE: std::ops::Range<f64> = 1e-28..1e30;

/// What bounds need to know of the head.
pub(super) struct Context {
    /// τ in (0, 1].
    pub tau: f64,
    /// n = |C_k|.
    pub signals: usize,
    /// N - n.
    pub noises: usize,
    /// γ_p.
    pub gamma: f64,
    /// The largest |a_i|.
    pub longest_signal: f64,
    /// The largest |e_j|.
    pub longest_noise: f64,
}

const NEVER: Bracket = Bracket {
    low: f64::INFINITY,
    value: f64::INFINITY,
    high: f64::INFINITY,
};
/// Nothing is known: the estimate is the lower end, so that such columns count as broken early.
const UNKNOWN: Bracket = Bracket {
    low: 1.0,
    value: 1.0,
    high: f64::INFINITY,
};

impl Context {
    /// A token of C_k of length `length`: never breaks, or must be decided in f64.
    ///
    /// With x = s - s_jj the exponents are θ² x for keys of C_k and θ s - θ² s_jj for the others. If
    /// every x ≤ 0 and every foreign s ≤ 2 s_jj, none of them rises for θ ≥ 1, so the token's own weight
    /// never falls below that at θ = 1. If that is above max(τ, 1 - τ), the pattern holds for ever.
    pub fn signal(&self, tokens: &Tokens, j: usize, length: f64) -> Bracket {
        let own = length * length;
        let error = self.gamma * length * self.longest_signal.max(self.longest_noise);
        let top = f64::from(tokens.top[j]) + error;
        let other = f64::from(tokens.other[j]) + error;
        let inverse = 1.0
            + (self.signals - 1) as f64 * (top - own).exp()
            + self.noises as f64 * (other - own).exp();
        let monotone = !(top > own) && !(other > 2.0 * own);
        // The relative 1e-6 covers the rounding of this very formula and of the lengths.
        if monotone && inverse * self.tau.max(1.0 - self.tau) < 1.0 - 1e-6 {
            NEVER
        } else {
            UNKNOWN
        }
    }

    /// A noise column of length 0: all its scores are 0 and all its weights 1/N, whatever θ.
    pub fn zero_column(&self) -> Bracket {
        if 1.0 / (self.signals + self.noises) as f64 > self.tau {
            Bracket::exact(1.0)
        } else {
            NEVER
        }
    }

    /// Any other noise column.
    pub fn noise(&self, tokens: &Tokens, j: usize, grid: &Grid) -> Bracket {
        if self.tau >= 1.0 {
            return NEVER; // a weight is never above 1
        }
        let column = Noise::new(self, tokens, j, grid);
        let signal = column.signal_bracket();
        column.with_noise_keys(signal)
    }
}

/// Which side of F is wanted.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Below,
    Near,
    Above,
}

struct Noise<'a> {
    context: &'a Context,
    /// F at the nodes 0..=J.
    f: [f64; NODES + 1],
    /// F - θ s at the nodes.
    d: [f64; NODES + 1],
    /// Node g is at θ = g · node.
    node: f64,
    log_b: f64,
    /// Largest signal score and largest noise score.
    top: f64,
    other: f64,
    /// Bounds on the errors of a signal score, and of log B and the largest noise score.
    signal_error: f64,
    noise_error: f64,
    /// Whether no sum has lost terms.
    usable: bool,
}

impl<'a> Noise<'a> {
    fn new(context: &'a Context, tokens: &Tokens, j: usize, grid: &'a Grid) -> Self {
        let top = f64::from(tokens.top[j]);
        let mut f = [(context.signals as f64).ln(); NODES + 1];
        let mut d = f;
        for g in 1..=NODES {
            f[g] = grid.log_sum(g, tokens.sums[j][g - 1]);
            d[g] = f[g] - grid.node(g) * top;
        }
        let usable = |sum: &f64| USABLE.contains(sum);
        Noise {
            context,
            f,
            d,
            node: grid.node(1),
            log_b: tokens.fixed[j].ln(),
            top,
            other: f64::from(tokens.other[j]),
            signal_error: context.gamma * context.longest_signal * grid.sigma,
            noise_error: context.gamma * context.longest_noise * grid.sigma + SUMS,
            usable: tokens.sums[j].iter().all(usable) && USABLE.contains(&tokens.fixed[j]),
        }
    }

    /// Bound on the error of F at node g (node 0 is exact).
    fn node_error(&self, g: usize) -> f64 {
        if g == 0 {
            0.0
        } else {
            g as f64 * self.node * self.signal_error + SUMS
        }
    }

    /// A lower bound of F at θ outside the cell of nodes a and b, b the nearer: the chord continued.
    fn continued(&self, a: usize, b: usize, theta: f64) -> f64 {
        let (far, near) = (
            self.f[a] + self.node_error(a),
            self.f[b] - self.node_error(b),
        );
        near + (theta / self.node - b as f64) / (b as f64 - a as f64) * (near - far)
    }

    /// log R, R = e^{F - θ s} - 1, at θ beyond the last node: the chord continued, a lower bound when
    /// the `errors` are charged (they count for F and for s), else an estimate; None if R is unknown.
    fn tail(&self, theta: f64, errors: f64) -> Option<f64> {
        let log_r = |g: usize, sign: f64| {
            (self.d[g] + sign * 2.0 * errors * self.node_error(g))
                .exp_m1()
                .ln()
        };
        let (far, near) = (log_r(NODES - 1, 1.0), log_r(NODES, -1.0));
        let log_r = near + (theta / self.node - NODES as f64) * (near - far);
        log_r.is_finite().then_some(log_r)
    }

    /// The cell that holds θ: 0..J, or J beyond the last node.
    fn cell(&self, theta: f64) -> usize {
        ((theta / self.node) as usize).min(NODES)
    }

    /// F at θ: a lower bound, an estimate or an upper bound.
    fn log_sum(&self, theta: f64, side: Side) -> f64 {
        let c = self.cell(theta);
        match side {
            Side::Above if c < NODES => {
                let (a, b) = (
                    self.f[c] + self.node_error(c),
                    self.f[c + 1] + self.node_error(c + 1),
                );
                a + (theta / self.node - c as f64) * (b - a)
            }
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
                if c == NODES
                    && let Some(log_r) = self.tail(theta, 1.0)
                {
                    let tail = theta * (self.top - self.signal_error) + log_r.exp().ln_1p();
                    below = below.max(tail);
                }
                below
            }
            Side::Near if c < NODES => self.interpolate(theta, c),
            Side::Near => {
                let r = self.tail(theta, 0.0).map_or(0.0, f64::exp);
                theta * self.top + r.ln_1p()
            }
        }
    }

    /// The polynomial of degree 5 through the six nodes nearest to cell c (Lagrange, equispaced).
    fn interpolate(&self, theta: f64, c: usize) -> f64 {
        const WEIGHTS: [f64; 6] = [-1.0, 5.0, -10.0, 10.0, -5.0, 1.0];
        let first = c.saturating_sub(2).min(NODES - 5);
        let x = theta / self.node - first as f64;
        let (mut top, mut bottom) = (0.0, 0.0);
        for (i, w) in WEIGHTS.iter().enumerate() {
            let distance = x - i as f64;
            if distance.abs() < 1e-12 {
                return self.f[first + i];
            }
            top += w / distance * self.f[first + i];
            bottom += w / distance;
        }
        top / bottom
    }

    /// T at θ from the wanted side, all rounding errors charged.
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

    /// The root of T from the wanted side: the first of θ = 1, the nodes after it, and what lies
    /// beyond the last node, at which T ≤ 0, then the root in the cell before it.
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

    /// Bisection, stopped on the safe side at a relative 1e-7, or near it for the estimate.
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

    /// Bounds on the first θ at which a signal key gets more than τ.
    fn signal_bracket(&self) -> Bracket {
        let top = self.top + self.signal_error;
        // Whatever F is: B e^{-θ s} < 1/τ - 1 is necessary.
        let ratio = self.log_b - self.noise_error - (1.0 / self.context.tau - 1.0).ln();
        let floor = if !(ratio > 0.0) {
            1.0
        } else if top <= 0.0 {
            return NEVER;
        } else {
            (ratio / top).max(1.0)
        };
        if !self.usable || self.top <= self.signal_error {
            return Bracket {
                low: floor,
                value: floor,
                high: f64::INFINITY,
            };
        }
        let low = self.root(Side::Below).max(floor);
        let value = self.root(Side::Near).max(low);
        let high = self.root(Side::Above).max(low);
        Bracket {
            low,
            value: value.min(high),
            high,
        }
    }

    /// The same when noise keys may get more than τ as well: e^{largest noise score} > τ (e^F + B).
    fn with_noise_keys(&self, signal: Bracket) -> Bracket {
        let need = self.other + self.noise_error - self.context.tau.ln();
        // Never, because even B alone is too much for it ..
        if need < self.log_b - self.noise_error {
            return signal;
        }
        if !self.usable {
            return UNKNOWN;
        }
        // .. or because e^F joins it, F being convex and rising before θ = 1 already.
        let g = self.cell(1.0);
        let rising =
            g > 0 && self.f[g] - self.f[g - 1] > self.node_error(g) + self.node_error(g - 1);
        let least = log_add(
            self.log_sum(1.0, Side::Below),
            self.log_b - self.noise_error,
        );
        if rising && need < least {
            return signal;
        }
        let most = log_add(
            self.log_sum(1.0, Side::Above),
            self.log_b + self.noise_error,
        );
        if self.other - self.noise_error - self.context.tau.ln() > most {
            return Bracket::exact(1.0);
        }
        Bracket { low: 1.0, ..signal }
    }
}

/// log(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    a.max(b) + (a.min(b) - a.max(b)).exp().ln_1p()
}
