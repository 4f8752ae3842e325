//! [`Phi`]: a shared handle to any nonlinearity, as layers store it.

use super::{BUILT_IN, Nonlinearity};
use attnlab_core::error::{Error, Result};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Shared handle to any [`Nonlinearity`], cheap to clone. It derefs to the trait's methods.
///
/// ```
/// use attnlab_theory::attention::{Phi, Softmax, ThresholdedSoftmax};
/// let phi = Phi::parse("thresholded-softmax", 0.6)?;
/// assert_eq!(phi, ThresholdedSoftmax { tau: 0.6 }.into());
/// assert_eq!(phi.to_string(), "thresholded-softmax (tau = 0.6)");
/// assert_eq!(Phi::from(Softmax).name(), "softmax");
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Phi(Arc<dyn Nonlinearity>);

/// A nonlinearity that users choose by name, with the parameter of the command line and settings.
#[derive(Clone, Copy, Debug)]
pub struct Constructor {
    /// Name of the nonlinearity.
    pub name: &'static str,
    /// Constructor from the threshold τ, which nonlinearities without threshold ignore. It does not validate τ.
    pub with_tau: fn(tau: f64) -> Phi,
}

impl Phi {
    /// Names that [`Phi::parse`] accepts.
    pub const NAMES: [&'static str; BUILT_IN.len()] = {
        let mut names = [""; BUILT_IN.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = BUILT_IN[i].name;
            i += 1;
        }
        names
    };

    /// Returns the built-in nonlinearities.
    pub fn builtin() -> &'static [Constructor] {
        &BUILT_IN
    }

    /// Returns the built-in nonlinearity of this name; `tau` is ignored by those without a threshold.
    ///
    /// # Errors
    /// If the name is unknown or τ is out of range.
    pub fn parse(name: &str, tau: f64) -> Result<Phi> {
        Phi::parse_among(Phi::builtin(), name, tau)
    }

    /// Returns the nonlinearity of this name among `constructors`, which may include those of other packages.
    ///
    /// # Errors
    /// As [`Phi::parse`].
    ///
    /// ```
    /// use attnlab_theory::attention::{Constructor, Hardmax, Phi};
    /// let hardmax = Constructor { name: "top-1", with_tau: |_| Hardmax.into() };
    /// let constructors: Vec<_> = Phi::builtin().iter().copied().chain([hardmax]).collect();
    /// assert_eq!(Phi::parse_among(&constructors, "top-1", 0.5)?, Hardmax.into());
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn parse_among(constructors: &[Constructor], name: &str, tau: f64) -> Result<Phi> {
        let Some(constructor) = constructors.iter().find(|c| c.name == name) else {
            return Err(Error::unknown("phi", name, constructors.iter().map(|c| c.name)));
        };
        let phi = (constructor.with_tau)(tau);
        phi.validate()?;
        Ok(phi)
    }
}

impl<N: Nonlinearity + 'static> From<N> for Phi {
    fn from(nonlinearity: N) -> Phi {
        Phi(Arc::new(nonlinearity))
    }
}

impl Deref for Phi {
    type Target = dyn Nonlinearity;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Phi {
    fn eq(&self, other: &Phi) -> bool {
        (self.name(), self.parameters()) == (other.name(), other.parameters())
    }
}

impl fmt::Display for Phi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.parameters().iter().map(|(n, x)| format!("{n} = {x}")).collect();
        if texts.is_empty() { f.write_str(self.name()) } else { write!(f, "{} ({})", self.name(), texts.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{HardThreshold, Hardmax, Softmax, ThresholdedSoftmax};

    #[test]
    fn every_built_in_one_is_found_by_its_own_name() {
        for (constructor, name) in Phi::builtin().iter().zip(Phi::NAMES) {
            let phi = Phi::parse(name, 0.5).unwrap();
            assert_eq!((constructor.name, phi.name()), (name, name));
            assert_eq!(phi, (constructor.with_tau)(0.5));
        }
    }

    #[test]
    fn refusals_name_the_value_and_the_range() {
        let text = |name, tau| Phi::parse(name, tau).unwrap_err().to_string();
        assert_eq!(text("softmaxx", 0.5), "unknown phi 'softmaxx'; did you mean softmax?");
        assert_eq!(text("thresholded-softmax", 1.5), "tau = 1.5: must be a number in (0, 1]");
        assert_eq!(text("hard-threshold", 0.0), "tau = 0: must be a finite number > 0");
    }

    #[test]
    fn equal_are_name_and_parameters() {
        let phi = |tau| Phi::from(ThresholdedSoftmax { tau });
        assert!(phi(0.5) == phi(0.5) && phi(0.5) != phi(0.6));
        assert!(Phi::from(Softmax) != Hardmax.into());
        assert!(phi(0.5) != HardThreshold { tau: 0.5 }.into());
        assert_eq!(Phi::from(Hardmax).to_string(), "hardmax");
    }
}
