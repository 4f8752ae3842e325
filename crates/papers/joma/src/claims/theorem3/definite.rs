//! Theorem 3, Eqs. (72) to (74): the condition s_μ > 0, and whether critical points attract.

use super::{AtCritical, Statement};
use crate::claims::setting::*;

/// A statement on whether C(μ) is positive definite.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Definite {
    /// Flag: C(μ) is that of (73), (74), not that of the corrected field.
    printed: bool,
    /// Flag: it is said not to be positive definite where s_μ = -1; otherwise that it is where s_μ = 1.
    necessary: bool,
    /// Flag of a mutant: it is even after a shift by -β_1, so that the rates are β_2 |μ|² and 0.
    shifted: bool,
}

impl Definite {
    /// The necessary condition for C(μ) by (73) and (74).
    pub const PRINTED: AtCritical<Self> = AtCritical(Definite { printed: true, necessary: true, shifted: false });
    /// C(μ) of the corrected field.
    pub const CORRECTED: AtCritical<Self> = AtCritical(Definite { printed: false, necessary: false, shifted: false });

    /// The rates across and along μ, the eigenvalues of C(μ), at a point with s_μ = 1.
    fn rates(self, point: CriticalPoint) -> [f64; 2] {
        // The printed field has its critical point with these r at |μ| = 1.
        let at_one = CriticalPoint { length: 1.0, ..point };
        let (betas, length) = match (self.printed, self.necessary) {
            (true, true) => (at_one.exchanged().betas_printed(), 1.0),
            (true, false) => (at_one.betas_printed(), 1.0),
            (false, _) => (point.betas(), point.length),
        };
        let along = betas.one + betas.two * length * length;
        if self.shifted { [0.0, along - betas.one] } else { [betas.one, along] }
    }
}

impl Statement for Definite {
    fn sheet(self) -> &'static Sheet {
        if self.printed { sheet!("joma.theorem3_definite") } else { sheet!("joma.theorem3_definite_corrected") }
    }

    fn outcome_at(self, point: CriticalPoint, _params: &Params) -> Result<Outcome> {
        let rates = self.rates(point);
        let witness = witness! {
            "across" => rates[0], "along" => rates[1], "rho" => [point.minus, point.plus],
            "s_mu" => if self.necessary { -1 } else { 1 },
        };
        Ok(Outcome::Event { holds: rates.iter().all(|r| *r > 0.0) != self.necessary, witness })
    }
}
