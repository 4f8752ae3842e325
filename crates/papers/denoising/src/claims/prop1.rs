//! The posterior mean is optimal: Denoising, Proposition 1.

use super::setting::*;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// (2) for a random law on a few points of the line, with both sides by quadrature.
#[derive(Default, Serialize, Deserialize)]
pub struct Prop1 {
    /// The bound is the prior variance.
    prior_variance: bool,
    /// The bound is met by the most probable point.
    mode: bool,
    /// Relative excess of the bound.
    larger: f64,
}

/// Largest K/σ_Z: a trial then takes some 3e6 exponentials.
const MOST_POINTS: f64 = 1e4;

/// Both sides are sums over the same nodes, of at most a few thousand terms of order one.
const ROUNDING: f64 = 1e-10;

impl Claim for Prop1 {
    from_sheet!("denoise.prop1");

    fn schema(&self) -> Schema {
        vec![CLUSTERS.or(4), NOISE_VARIANCE.or(0.5)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        // The quadrature takes some 300 / sigma_Z steps over K points.
        let (k, s) = (params.get(CLUSTERS), params.get(NOISE_VARIANCE));
        let least = (k as f64 / MOST_POINTS).powi(2).max(1e-6);
        let allowed = format!("must be at least {least:e} with K = {k}; the quadrature takes steps of sigma_Z / 40");
        require(s >= least, NOISE_VARIANCE.name, s, allowed)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (k, s) = (params.get(CLUSTERS), params.get(NOISE_VARIANCE));
        let mut rng = streams.part("law", 0);
        let points: Vec<f64> = (0..k).map(|_| StandardNormal.sample(&mut rng)).collect();
        let mut weights: Vec<f64> = (0..k).map(|_| rng.random::<f64>() + 0.05).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        let c: [f64; 4] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        // A random predictor: affine plus a bounded nonlinearity.
        let f = |y: f64| c[0] + c[1] * y + c[2] * (c[3].clamp(-1.5, 1.5) * y).tanh();

        let sigma = s.sqrt();
        let low = points.iter().copied().fold(f64::INFINITY, f64::min) - 12.0 * sigma;
        let high = points.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 12.0 * sigma;
        // Where points of distance g share the weight, the posterior mean has poles pi sigma_Z^2 / g
        // off the real line, and the density is e^{-g^2 / 8 sigma_Z^2}: with steps of sigma_Z / 40 the
        // error, e^{-80 pi^2 sigma_Z / g} times the density, is below e^-80 for every g.
        let step = sigma / 40.0;
        let (mut loss, mut tight, mut bound) = (0.0, 0.0, 0.0);
        for i in 0..=((high - low) / step).ceil() as usize {
            let y = low + step * i as f64;
            let joint: Vec<f64> =
                points.iter().zip(&weights).map(|(x, w)| w * (-(y - x).powi(2) / (2.0 * s)).exp()).collect();
            let p: f64 = joint.iter().sum();
            if p == 0.0 {
                continue;
            }
            let moment = |g: &dyn Fn(f64) -> f64| -> f64 { joint.iter().zip(&points).map(|(p, x)| p * g(*x)).sum() };
            let mean = moment(&|x| x) / p;
            let most = (0..k).max_by(|a, b| joint[*a].total_cmp(&joint[*b])).unwrap_or(0);
            let best = if self.mode { points[most] } else { mean };
            loss += moment(&|x| (x - f(y)).powi(2));
            tight += moment(&|x| (x - best).powi(2));
            bound += moment(&|x| x * x) - p * mean * mean;
        }
        let scale = step / (2.0 * std::f64::consts::PI * s).sqrt();
        let (loss, tight, mut bound) = (loss * scale, tight * scale, bound * scale);
        if self.prior_variance {
            let mean: f64 = points.iter().zip(&weights).map(|(x, w)| w * x).sum();
            bound = points.iter().zip(&weights).map(|(x, w)| w * (x - mean).powi(2)).sum();
        }
        bound *= 1.0 + self.larger;
        Ok(Outcome::Event {
            holds: loss >= bound - ROUNDING && (tight - bound).abs() <= ROUNDING,
            witness: witness! {
                "bound" => bound, "loss_of_a_random_predictor" => loss, "loss_of_the_optimum" => tight
            },
        })
    }
}
