//! Activations φ of the MLP layer, Eq. (1).
//!
//! JoMA calls φ homogeneous when φ(x) = x φ'(x). By Lemma 5 the slope is then constant on either side
//! of 0: $\varphi(x) = x\,(c_- 1\[x < 0\] + c_+ 1\[x > 0\])$, which the print writes without the factor x.

use attnlab_core::error::{Error, Result};

/// An activation function φ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// Slope `minus` below 0 and `plus` above it: linear (1, 1), ReLU (0, 1), leaky ReLU, |x| (-1, 1).
    TwoSlopes {
        /// Slope c_- below 0.
        minus: f64,
        /// Slope c_+ above 0.
        plus: f64,
    },
    /// Hyperbolic tangent, tanh x.
    Tanh,
    /// Softplus, ln(1 + eˣ).
    Softplus,
    /// Half square, x²/2.
    Square,
}

impl Activation {
    /// Linear activation, φ(x) = x.
    pub const LINEAR: Activation = Activation::TwoSlopes { minus: 1.0, plus: 1.0 };
    /// Rectifier, φ(x) = max(x, 0).
    pub const RELU: Activation = Activation::TwoSlopes { minus: 0.0, plus: 1.0 };
    /// Names of the activations, in the order of `ALL`.
    pub const NAMES: [&'static str; 7] = ["linear", "relu", "leaky-relu", "absolute", "tanh", "softplus", "square"];
    const ALL: [Activation; 7] = [
        Activation::LINEAR,
        Activation::RELU,
        Activation::TwoSlopes { minus: 0.1, plus: 1.0 },
        Activation::TwoSlopes { minus: -1.0, plus: 1.0 },
        Activation::Tanh,
        Activation::Softplus,
        Activation::Square,
    ];

    /// The activation with this name; "leaky-relu" has slope 0.1 below 0.
    ///
    /// # Errors
    /// An unknown name, with the nearest known ones.
    ///
    /// ```
    /// use attnlab_joma::theory::Activation;
    /// let relu = Activation::parse("relu")?;
    /// assert_eq!((relu.value(-2.0), relu.slope(3.0)), (0.0, 1.0));
    /// assert!(Activation::parse("rely").unwrap_err().to_string().contains("did you mean relu"));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn parse(name: &str) -> Result<Activation> {
        let place = Self::NAMES.iter().position(|n| *n == name);
        place.map(|i| Self::ALL[i]).ok_or_else(|| Error::unknown("activation", name, Self::NAMES))
    }

    /// The value φ(x).
    pub fn value(self, x: f64) -> f64 {
        match self {
            Activation::TwoSlopes { .. } => x * self.slope(x),
            Activation::Tanh => x.tanh(),
            // Without overflow on either side.
            Activation::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
            Activation::Square => 0.5 * x * x,
        }
    }

    /// The slope φ'(x); at a kink the one above it.
    pub fn slope(self, x: f64) -> f64 {
        match self {
            Activation::TwoSlopes { minus, .. } if x < 0.0 => minus,
            Activation::TwoSlopes { plus, .. } => plus,
            Activation::Tanh => 1.0 - x.tanh().powi(2),
            Activation::Softplus => 1.0 / (1.0 + (-x).exp()),
            Activation::Square => x,
        }
    }

    /// The slopes (c_-, c_+) where φ(x) = x φ'(x); None for an activation that is not homogeneous in this sense.
    pub fn slopes(self) -> Option<(f64, f64)> {
        match self {
            Activation::TwoSlopes { minus, plus } => Some((minus, plus)),
            _ => None,
        }
    }

    /// Returns `true` if φ' is bounded.
    pub fn has_bounded_slope(self) -> bool {
        self != Activation::Square
    }

    /// The largest |φ(x) - x φ'(x)| over x in [-4, 4]: 0 exactly for homogeneous activations.
    pub fn defect(self) -> f64 {
        let defect = |i: i32| {
            let x = f64::from(i) / 64.0;
            (self.value(x) - x * self.slope(x)).abs()
        };
        (-256..=256).map(defect).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_derivatives() {
        for phi in Activation::ALL {
            for x in [-2.3, -0.4, 0.7, 3.1] {
                let h = 1e-5;
                let numeric = (phi.value(x + h) - phi.value(x - h)) / (2.0 * h);
                assert!((numeric - phi.slope(x)).abs() < 1e-9, "{phi:?} {x}");
            }
            assert_eq!(phi.slopes().is_some(), phi.defect() == 0.0, "{phi:?}");
        }
        assert!((Activation::Softplus.value(-800.0)).abs() < 1e-300);
        assert_eq!(Activation::Softplus.value(800.0), 800.0);
    }
}
