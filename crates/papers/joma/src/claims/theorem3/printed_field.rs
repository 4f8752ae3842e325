//! The field (50) as printed, and the layer's own, for two components with any centres.

use crate::claims::setting::*;

/// Two components of one law with the weights 1 and -a_-, under slopes (c_-, c_+).
pub(super) struct Pair<'a> {
    pub law: Isotropic,
    pub slopes: (f64, f64),
    pub weight: f64,
    /// Centres x̄_+ and x̄_-.
    pub centres: [&'a [f64]; 2],
    /// Flag: θ stands at r and is divided by |v| and |v|³, as (50) prints; otherwise it stands at ρ = r/|v|.
    pub printed: bool,
}

impl Pair<'_> {
    /// The rates (v̇, ξ̇).
    pub fn rate(&self, v: &[f64], xi: f64) -> (Vec<f64>, f64) {
        let length = dot(v, v).sqrt();
        let (unit, first, second) = match self.printed {
            true => (1.0, 1.0 / length, length.powi(-3)),
            false => (1.0 / length, 1.0, 1.0 / length),
        };
        let (mut rate, mut bias) = (vec![0.0; v.len()], 0.0);
        for (centre, a) in self.centres.iter().zip([1.0, -self.weight]) {
            let r = unit * (dot(v, centre) + xi);
            let on_centre = a * first * self.law.theta1(self.slopes, r);
            let on_weight = a * second * self.law.theta2(self.slopes, r);
            for ((rate, x), v) in rate.iter_mut().zip(*centre).zip(v) {
                *rate += on_centre * x + on_weight * v;
            }
            bias += on_centre;
        }
        (rate, bias)
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The field (50) with x̄_- = 0 and x̄_+ along the first of two axes, its θ by their definitions (40), (41).
pub(super) struct Printed {
    pub law: Isotropic,
    pub phi: Activation,
    /// Weight a_-, for a_+ = 1.
    pub weight: f64,
    /// Signed length s_μ |x̄_+|.
    pub distance: f64,
    /// Length |μ| of the critical point.
    pub length: f64,
    /// Its r_+ and r_- = ξ*.
    pub r: [f64; 2],
}

impl Printed {
    /// The field with the critical point of this pair of r at any length |μ|: |x̄_+| = |r_+ - r_-|/|μ|.
    pub fn new(point: &CriticalPoint, phi: Activation) -> Self {
        let CriticalPoint { law, weight, length, plus, minus, .. } = *point;
        Printed { law, phi, weight, distance: point.distance() / length, length, r: [plus, minus] }
    }

    /// The rate v̇ at ξ = ξ*.
    pub fn rate(&self, v: [f64; 2]) -> [f64; 2] {
        let length = f64::hypot(v[0], v[1]);
        let (xi, r) = (self.r[1], v[0] * self.distance + self.r[1]);
        let (theta1, theta2) = self.law.thetas(self.phi, r, 1.0);
        let (_, theta2_m) = self.law.thetas(self.phi, xi, 1.0);
        let along = (theta2 - self.weight * theta2_m) / length.powi(3);
        [theta1 * self.distance / length + along * v[0], along * v[1]]
    }

    /// The coefficients β_1 and β_2 of (73) and (74).
    pub fn betas(&self, slopes: (f64, f64)) -> [f64; 2] {
        let theta1 = self.law.theta1(slopes, self.r[0]);
        let slope = (slopes.1 - slopes.0) * self.law.density(self.r[0]);
        let (x, square) = (self.distance, self.length.powi(2));
        [x / square * theta1, x / square.powi(2) * (self.r[1] * slope - 2.0 * theta1)]
    }
}

/// The hypothesis of Theorem 3 on the law: Gaussian and Student densities are smooth, the ball's jumps to 0.
pub(super) fn smooth_density(params: &Params) -> Hypothesis {
    met("smooth density", "the radial density function has bounded derivative", params.get(LAW) != "ball")
}
