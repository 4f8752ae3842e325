//! Lemma 2: the rate of a node under uniform attention, against the layer on drawn inputs.
//!
//! A trial measures the rate twice, on independent inputs. With deviations d_1 and d_2 of both from the claimed rate,
//! $d_1^\top d_2$ has the mean $|d|^2$, d the deviation of the true rate: it sees every direction, and no noise.

use super::setting::*;
use ndarray::Array1;

/// The rate (42), (43) of a node on a mixture, printed and corrected.
#[derive(Serialize, Deserialize)]
pub struct Lemma2 {
    printed: bool,
    /// Flag: Lemma 1 is taken as printed, not corrected.
    at_r: bool,
    /// Factor of the term along the weight; a mutant's is not 1.
    second: f64,
}

impl Lemma2 {
    /// Eqs. (42), (43) as printed.
    pub const PRINTED: Self = Lemma2 { printed: true, at_r: true, second: 1.0 };
    /// Eqs. (42), (43) with Lemma 1 corrected.
    pub const CORRECTED: Self = Lemma2 { printed: false, at_r: false, second: 1.0 };

    /// The rate (v̇, ξ̇) as claimed, (dim + 1,).
    fn law(&self, case: &Case, phi: Activation) -> Vec<f64> {
        let length = case.v.dot(&case.v).sqrt();
        let mut said = vec![0.0; case.v.len() + 1];
        for j in 0..COMPONENTS {
            let centre = case.centres.column(j);
            let r = case.v.dot(&centre) + case.xi;
            let a = case.gradients[j] * case.shares[j];
            let (theta1, theta2) = match self.at_r {
                true => {
                    let (theta1, theta2) = case.law.thetas(phi, r, 1.0);
                    (theta1 / length, theta2 / length.powi(2))
                }
                false => case.law.thetas(phi, r, length),
            };
            for ((s, x), v) in said.iter_mut().zip(&centre).zip(&case.v) {
                *s += a * (theta1 * x + self.second * theta2 * v / length);
            }
            said[case.v.len()] += a * theta1;
        }
        said
    }
}

/// Number of components of the mixture.
const COMPONENTS: usize = 3;
/// Largest squared distance of the rate from the law, in units of the squared rate, that counts as agreement: a distance
/// of 5 %, and about five times the standard error of all trials at the defaults.
const BAND: f64 = 0.0025;
/// Least squared length of the true rate: a node that hardly any input reaches has no rate to compare.
const LEAST_RATE: f64 = 0.01;
/// Largest product of samples and dimensions.
const MOST_WORK: usize = 2_000_000;

/// A mixture, a node and its state.
struct Case {
    law: Isotropic,
    centres: Array2<f64>,
    /// P[c = j] and g in component j.
    shares: Vec<f64>,
    gradients: Vec<f64>,
    v: Array1<f64>,
    xi: f64,
}

impl Case {
    fn draw(dim: usize, size: f64, rng: &mut Generator) -> Result<Self> {
        let radial = match rng.random_range(0..3) {
            0 => Radial::Gaussian,
            1 => Radial::Ball,
            // With a finite variance, so that averages of drawn inputs converge.
            _ => Radial::Student { nu: 5.0 },
        };
        let shares = probabilities(COMPONENTS, 0.2, rng);
        let direction = normal_matrix(dim, 1, rng).column(0).to_owned();
        let length = direction.dot(&direction).sqrt();
        Ok(Case {
            law: Isotropic::new(radial, dim)?,
            centres: normal_matrix(dim, COMPONENTS, rng),
            shares,
            gradients: (0..COMPONENTS).map(|_| 0.5 + rng.random::<f64>()).collect(),
            v: direction * (size / length),
            xi: rng.random_range(-1.0..1.0),
        })
    }

    /// One input of component j.
    fn input(&self, j: usize, rng: &mut Generator) -> Array1<f64> {
        let n = self.law.dim();
        let x = normal_matrix(n, 1, rng).column(0).to_owned();
        let scale = match self.law.radial() {
            Radial::Gaussian => 1.0,
            Radial::Student { nu } => {
                // ν is whole here: χ² as a sum of squares.
                (nu / normal_matrix(nu as usize, 1, rng).iter().map(|x| x * x).sum::<f64>()).sqrt()
            }
            Radial::Ball => rng.random::<f64>().powf(1.0 / n as f64) / x.dot(&x).sqrt(),
        };
        x * scale + self.centres.column(j)
    }

    /// The rate (v̇, ξ̇) of the layer on drawn inputs, (dim + 1,).
    fn measured(&self, phi: Activation, samples: usize, rng: &mut Generator) -> Result<Vec<f64>> {
        let dim = self.law.dim();
        let (mut x, mut g) = (Array2::zeros((dim, samples)), Array2::zeros((1, samples)));
        for (i, mut column) in x.columns_mut().into_iter().enumerate() {
            let (mut u, mut j) = (rng.random::<f64>(), 0);
            while j + 1 < COMPONENTS && u >= self.shares[j] {
                u -= self.shares[j];
                j += 1;
            }
            column.assign(&self.input(j, rng));
            g[[0, i]] = self.gradients[j];
        }
        // Linear attention with z = 1 is uniform attention: b = x.
        let layer = Training::uniform(Attention::Linear, phi, 1, x, Backpropagated::Stationary(g))?;
        let mut state = self.v.to_vec();
        state.push(self.xi);
        state.resize(layer.dim(), 1.0);
        let mut rate = vec![0.0; layer.dim()];
        layer.rate(&state, &mut rate);
        rate.truncate(dim + 1);
        Ok(rate)
    }
}

/// A random case whose true rate is not next to 0, and that rate; None if a hundred cases have none.
fn informative(params: &Params, phi: Activation, rng: &mut Generator) -> Result<Option<(Case, Vec<f64>)>> {
    for _ in 0..100 {
        let case = Case::draw(params.get(INPUT_DIM), params.get(LENGTH), rng)?;
        let truth = Lemma2::CORRECTED.law(&case, phi);
        if truth.iter().map(|a| a * a).sum::<f64>() > LEAST_RATE {
            return Ok(Some((case, truth)));
        }
    }
    Ok(None)
}

impl Claim for Lemma2 {
    from_sheet!(self, if self.printed { sheet!("joma.lemma2") } else { sheet!("joma.lemma2_corrected") }, trials = 60);

    fn schema(&self) -> Schema {
        vec![INPUT_DIM.or(4), DRAWN_INPUTS.or(20_000), LENGTH.or(2.0), ACTIVATION.or("relu")]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        // At |v| = 1 print and correction are the same.
        if self.at_r && params.get(LENGTH) == 1.0 { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        match self.at_r {
            true => vec![],
            // The general θ_i depend on |v| too; the corrected statement is that of homogeneous φ.
            false => vec![super::lemma1::homogeneous(params)],
        }
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let (dim, samples) = (params.get(INPUT_DIM), params.get(DRAWN_INPUTS));
        let allowed = format!(
            "must keep samples x dim at {MOST_WORK} or fewer with dim = {dim}; a trial takes seconds there. Choose \
             smaller sizes, and more trials"
        );
        require(dim * samples <= MOST_WORK, DRAWN_INPUTS.name, samples, allowed)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let phi = activation(params)?;
        let mut rng = streams.part("mixture", 0);
        let Some((case, truth)) = informative(params, phi, &mut rng)? else {
            return Ok(Outcome::uninformative("the node has next to no rate", Witness::new()));
        };
        let said = self.law(&case, phi);
        let mut rng = streams.part("inputs", 0);
        let samples = params.get(DRAWN_INPUTS).div_ceil(2);
        let mut measured = || case.measured(phi, samples, &mut rng);
        let (first, second) = (measured()?, measured()?);
        let product = |i: usize| (first[i] - said[i]) * (second[i] - said[i]);
        Ok(Outcome::Value {
            value: (0..said.len()).map(product).sum::<f64>() / truth.iter().map(|t| t * t).sum::<f64>(),
            witness: witness! {
                "law" => format!("{:?}", case.law.radial()), "measured" => [first, second], "said" => said,
                "true" => truth,
            },
        })
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(-BAND, BAND)
    }

    fn memory(&self, params: &Params) -> u64 {
        // Inputs twice, and every sample's scores.
        memory::product(&[40, params.get(INPUT_DIM) as u64, params.get(DRAWN_INPUTS) as u64])
    }
}
