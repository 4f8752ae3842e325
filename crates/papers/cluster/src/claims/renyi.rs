//! Strong Rényi centres: Lemma C.1 of the causal paper and its values in two and three dimensions.

use crate::quantities::{DELTA, DIM, closed};
use crate::setting::uniform;
use crate::theory::caps;
use attnlab_lab::prelude::*;
use ndarray::Array2;
use std::f64::consts::PI;

/// The mean number of strong centres.
#[derive(Clone, Copy, Debug)]
pub struct Centres {
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// The inverse of the share of a cap, at any d.
    Lemma,
    /// The mutant: the cap of half the angle.
    Diameter,
    /// The mutant: centres that are far from earlier centres alone are counted.
    NotStrong,
    /// The mutant: larger by a tenth.
    Tenth,
    /// π/δ at d = 2.
    Circle,
    /// The mutant: 2π/δ.
    Twice,
    /// 1/(3 sin²(δ/2)) at d = 3, as printed.
    Sphere,
    /// The mutant of it: 1/(2 sin²(δ/2)).
    TwoSines,
    /// 1/sin²(δ/2) at d = 3.
    Corrected,
    /// The mutant of it: 1/tan²(δ/2).
    Tangent,
}

impl Centres {
    /// Lemma C.1.
    pub const LEMMA: Self = Centres { form: Form::Lemma };
    /// Its printed value at d = 2.
    pub const CIRCLE: Self = Centres { form: Form::Circle };
    /// Its printed value at d = 3.
    pub const SPHERE: Self = Centres { form: Form::Sphere };
    /// The value at d = 3.
    pub const CORRECTED: Self = Centres { form: Form::Corrected };

    fn dim(&self, params: &Params) -> usize {
        match self.form {
            Form::Circle | Form::Twice => 2,
            Form::Sphere | Form::TwoSines | Form::Corrected | Form::Tangent => 3,
            _ => params.get(DIM),
        }
    }

    fn predicted(&self, params: &Params) -> f64 {
        let (d, delta) = (self.dim(params), params.get(DELTA));
        let lemma = 1.0 / caps::share(d, delta);
        let half = (0.5 * delta).sin().powi(2);
        match self.form {
            Form::Lemma | Form::NotStrong => lemma,
            Form::Diameter => 1.0 / caps::share(d, 0.5 * delta),
            Form::Tenth => 1.1 * lemma,
            Form::Circle => PI / delta,
            Form::Twice => 2.0 * PI / delta,
            Form::Sphere => 1.0 / (3.0 * half),
            Form::TwoSines => 1.0 / (2.0 * half),
            Form::Corrected => 1.0 / half,
            Form::Tangent => 1.0 / (0.5 * delta).tan().powi(2),
        }
    }
}

/// Share of the mean by which it may differ: 4.3 standard errors of the default trials. What the later tokens of an infinite
/// sequence add is e^{−40} of it.
const BAND: f64 = 0.04;

/// Tokens of a trial in units of the mean number of centres.
const LONG: f64 = 40.0;

impl Claim for Centres {
    fn sheet(&self) -> &'static Sheet {
        match self.form {
            Form::Circle | Form::Twice => sheet!("cluster.renyi_circle"),
            Form::Sphere | Form::TwoSines => sheet!("cluster.renyi_sphere"),
            Form::Corrected | Form::Tangent => sheet!("cluster.renyi_sphere_corrected"),
            _ => sheet!("cluster.lemma_c1"),
        }
    }

    fn schema(&self) -> Schema {
        let delta = DELTA.within(closed(0.2, 3.0)).or(0.6);
        match self.form {
            Form::Lemma | Form::Diameter | Form::NotStrong | Form::Tenth => {
                vec![DIM.within(Domain::Whole(2, 8)).or(3), delta]
            }
            _ => vec![delta],
        }
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let mean = 1.0 / caps::share(self.dim(params), params.get(DELTA));
        if mean <= 3000.0 {
            return Ok(());
        }
        let allowed = format!("must leave 3000 centres at most at d = {}; it leaves {mean:.0}", self.dim(params));
        Err(Error::invalid(DELTA.name, params.get(DELTA), allowed))
    }

    fn promise(&self, params: &Params) -> Promise {
        let mean = self.predicted(params);
        Promise::MeanIn((1.0 - BAND) * mean, (1.0 + BAND) * mean)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // The number scatters like a Poisson number at most.
        let mean = 1.0 / caps::share(self.dim(params), params.get(DELTA));
        ((4.3 / BAND).powi(2) / mean).ceil().clamp(20.0, 12_000.0) as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        let mean = 1.0 / caps::share(self.dim(params), params.get(DELTA));
        let d = self.dim(params) as f64;
        LONG * mean * (mean * d * 1.5e-9 + d * 2e-8)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, delta) = (self.dim(params), params.get(DELTA));
        let share = caps::share(d, delta);
        let n = (LONG / share).ceil() as usize;
        // One token a column of memory, so that a comparison reads d numbers in a row.
        let tokens = uniform(d, n, &mut streams.part("tokens", 0))?;
        let flat: Vec<f64> = Array2::from(tokens.t().to_owned()).iter().copied().collect();
        let (near, mut centres) = (delta.cos(), vec![]);
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() >= near;
        for (i, token) in flat.chunks_exact(d).enumerate() {
            let far = match self.form {
                Form::NotStrong => centres.iter().all(|c: &usize| !close(&flat[c * d..(c + 1) * d], token)),
                _ => flat.chunks_exact(d).take(i).all(|earlier| !close(earlier, token)),
            };
            if far {
                centres.push(i);
            }
        }
        Ok(Outcome::Value {
            value: centres.len() as f64,
            witness: witness! { "tokens" => n, "last_centre" => centres.last().copied().unwrap_or(0) },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let form = |name, form| Mutant::new(name, Centres { form });
        match self.form {
            Form::Circle | Form::Twice => vec![form("twice", Form::Twice)],
            Form::Sphere | Form::TwoSines => vec![form("two-sines", Form::TwoSines)],
            Form::Corrected | Form::Tangent => vec![form("tangent", Form::Tangent)],
            _ => {
                vec![form("diameter", Form::Diameter), form("not-strong", Form::NotStrong), form("tenth", Form::Tenth)]
            }
        }
    }
}
