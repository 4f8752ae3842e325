//! Strong Rényi centres: Lemma C.1 of the causal paper and its values in two and three dimensions.

use crate::quantities::{DELTA, DIM};
use crate::setting::uniform;
use crate::theory::caps;
use attnlab_lab::prelude::*;
use std::f64::consts::PI;

/// The mean number of strong centres.
#[derive(Serialize, Deserialize)]
pub struct Centres {
    form: Form,
    /// Factor of the value.
    factor: f64,
    /// Radius of the cap over δ.
    radius: f64,
    /// Flag of a mutant: 1/tan² in place of 1/sin².
    tangent: bool,
    /// Flag of a mutant: centres that are far from earlier centres alone are counted.
    not_strong: bool,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// The inverse of the share of a cap, at any d.
    Lemma,
    /// π/δ at d = 2.
    Circle,
    /// 1/(3 sin²(δ/2)) at d = 3, as printed.
    Sphere,
    /// 1/sin²(δ/2) at d = 3.
    Corrected,
}

impl Centres {
    /// Lemma C.1.
    pub const LEMMA: Self = Centres { form: Form::Lemma, factor: 1.0, radius: 1.0, tangent: false, not_strong: false };
    /// Its printed value at d = 2.
    pub const CIRCLE: Self = Centres { form: Form::Circle, ..Self::LEMMA };
    /// Its printed value at d = 3.
    pub const SPHERE: Self = Centres { form: Form::Sphere, ..Self::LEMMA };
    /// The value at d = 3.
    pub const CORRECTED: Self = Centres { form: Form::Corrected, ..Self::LEMMA };

    fn dim(&self, params: &Params) -> usize {
        match self.form {
            Form::Lemma => params.get(DIM),
            Form::Circle => 2,
            Form::Sphere | Form::Corrected => 3,
        }
    }

    fn mean(&self, params: &Params) -> f64 {
        1.0 / caps::share(self.dim(params), params.get(DELTA))
    }

    fn claimed(&self, params: &Params) -> f64 {
        let radius = self.radius * params.get(DELTA);
        let half = if self.tangent { (0.5 * radius).tan() } else { (0.5 * radius).sin() };
        let value = match self.form {
            Form::Lemma => 1.0 / caps::share(self.dim(params), radius),
            Form::Circle => PI / radius,
            Form::Sphere => 1.0 / (3.0 * half * half),
            Form::Corrected => 1.0 / (half * half),
        };
        self.factor * value
    }
}

/// Share of the mean by which it may differ: 4.3 standard errors of the default trials for a Poisson number, and more for the
/// number of centres, which scatters less. What the later tokens of an infinite sequence add is e^{−40} of it.
const BAND: f64 = 0.04;

/// Tokens of a trial in units of the mean number of centres.
const LONG: f64 = 40.0;

impl Claim for Centres {
    from_sheet!(
        self,
        match self.form {
            Form::Lemma => sheet!("cluster.lemma_c1"),
            Form::Circle => sheet!("cluster.renyi_circle"),
            Form::Sphere => sheet!("cluster.renyi_sphere"),
            Form::Corrected => sheet!("cluster.renyi_sphere_corrected"),
        }
    );

    fn schema(&self) -> Schema {
        let delta = DELTA.within(Domain::closed(0.2, 3.0)).or(0.6);
        match self.form {
            Form::Lemma => vec![DIM.within(Domain::Whole(2, 8)).or(3), delta],
            _ => vec![delta],
        }
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let mean = self.mean(params);
        let allowed = format!("must leave at most 3000 centres; at d = {} there are {mean:.0}", self.dim(params));
        require(mean <= 3000.0, DELTA.name, params.get(DELTA), allowed)
    }

    fn promise(&self, params: &Params) -> Promise {
        let mean = self.claimed(params);
        Promise::MeanIn((1.0 - BAND) * mean, (1.0 + BAND) * mean)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // The number scatters less than a Poisson number.
        ((4.3 / BAND).powi(2) / self.mean(params)).ceil().clamp(20.0, 12_000.0) as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        let mean = self.mean(params);
        let d = self.dim(params) as f64;
        LONG * mean * (mean * d * 1.5e-9 + d * 2e-8)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, delta) = (self.dim(params), params.get(DELTA));
        let n = (LONG * self.mean(params)).ceil() as usize;
        // One token a column of memory, so that a comparison reads d numbers in a row.
        let tokens = uniform(d, n, &mut streams.part("tokens", 0))?;
        let flat: Vec<f64> = tokens.t().iter().copied().collect();
        let (near, mut centres) = (delta.cos(), vec![]);
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() >= near;
        for (i, token) in flat.chunks_exact(d).enumerate() {
            let far = match self.not_strong {
                true => centres.iter().all(|c: &usize| !close(&flat[c * d..(c + 1) * d], token)),
                false => flat.chunks_exact(d).take(i).all(|earlier| !close(earlier, token)),
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
}
