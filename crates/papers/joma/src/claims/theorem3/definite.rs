//! Theorem 3, Eqs. (72) to (74): the condition s_μ > 0, and whether critical points attract.

use super::{AtCritical, Statement};
use crate::theory::CriticalPoint;
use attnlab_lab::prelude::*;

/// A statement on whether C(μ) is positive definite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Definite {
    /// Flag: it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// By (73), (74) C(μ) is not positive definite where s_μ = -1.
    Necessary,
    /// The mutant: by (73), (74) it is where s_μ = 1.
    Sufficient,
    /// In the corrected field it is where s_μ = 1.
    Corrected,
    /// The mutant: it is even after a shift by -β_1, so that the rates are β_2 |μ|² and 0.
    Shifted,
}

impl Definite {
    /// The necessary condition for C(μ) by (73) and (74).
    pub const PRINTED: AtCritical<Self> = AtCritical(Definite { printed: true, says: Says::Necessary });
    /// C(μ) of the corrected field.
    pub const CORRECTED: AtCritical<Self> = AtCritical(Definite { printed: false, says: Says::Corrected });

    /// The rates across and along μ, the eigenvalues of C(μ), at a point with s_μ = 1.
    fn rates(self, point: CriticalPoint) -> [f64; 2] {
        // The printed field has its critical point with these r at |μ| = 1.
        let at_one = CriticalPoint { length: 1.0, ..point };
        let (betas, length) = match self.says {
            Says::Necessary => (at_one.exchanged().betas_printed(), 1.0),
            Says::Sufficient => (at_one.betas_printed(), 1.0),
            _ => (point.betas(), point.length),
        };
        let along = betas.one + betas.two * length * length;
        match self.says {
            Says::Shifted => [0.0, along - betas.one],
            _ => [betas.one, along],
        }
    }
}

impl Statement for Definite {
    fn sheet(self) -> &'static Sheet {
        match self.printed {
            true => sheet!("joma.theorem3_definite"),
            false => sheet!("joma.theorem3_definite_corrected"),
        }
    }

    fn outcome_at(self, point: CriticalPoint, _params: &Params) -> Result<Outcome> {
        let rates = self.rates(point);
        let positive = rates.iter().all(|r| *r > 0.0);
        let witness = witness! {
            "across" => rates[0], "along" => rates[1], "rho" => [point.minus, point.plus],
            "s_mu" => if self.says == Says::Necessary { -1 } else { 1 },
        };
        let holds = positive != (self.says == Says::Necessary);
        Ok(Outcome::Event { holds, witness })
    }

    fn variants(self) -> (Vec<(&'static str, Self)>, &'static str) {
        let variant = |name, says| vec![(name, Definite { says, ..self })];
        match self.printed {
            true => (variant("sufficient", Says::Sufficient), "joma.theorem3_definite"),
            false => (variant("shifted", Says::Shifted), "joma.theorem3_definite_corrected"),
        }
    }
}
