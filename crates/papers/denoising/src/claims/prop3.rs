//! Spheres: Denoising, Proposition 3, (A.3) and (A.4), as printed and corrected.

use super::setting::*;
use attnlab_core::special::{bessel_ratio, bessel_ratio_complement};
use std::f64::consts::PI;

/// The posterior mean on a sphere against its definition.
#[derive(Serialize, Deserialize)]
pub struct Prop3 {
    form: Form,
    /// σ_Z in the exponent of (A.3).
    deviation: bool,
    /// The orders d - 1/2 and d - 3/2 of the authors' baseline.
    code_orders: bool,
    /// Both orders one half lower, those of the sphere of dimension d - 1.
    lower_orders: bool,
    /// Relative excess of the noise in the formula.
    louder: f64,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// (A.3).
    Integral,
    /// (A.4) with σ_Z in the argument.
    Printed,
    /// (A.4) with σ_Z².
    Corrected,
}

impl Prop3 {
    /// (A.3).
    pub const INTEGRAL: Self =
        Prop3 { form: Form::Integral, deviation: false, code_orders: false, lower_orders: false, louder: 0.0 };
    /// (A.4) as printed.
    pub const PRINTED: Self = Prop3 { form: Form::Printed, ..Self::INTEGRAL };
    /// (A.4) as Appendix C.2 derives it.
    pub const CORRECTED: Self = Prop3 { form: Form::Corrected, ..Self::INTEGRAL };
}

impl Claim for Prop3 {
    from_sheet!(
        self,
        match self.form {
            Form::Integral => sheet!("denoise.prop3_integral"),
            Form::Printed => sheet!("denoise.prop3_bessel"),
            Form::Corrected => sheet!("denoise.prop3_bessel_corrected"),
        }
    );

    fn schema(&self) -> Schema {
        vec![AMBIENT.within(Domain::Whole(1, MOST_AMBIENT)).or(16), DIM.or(8), RADIUS.or(1.0), NOISE_VARIANCE.or(0.1)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = sphere_problem(params, 1);
        problem.validate()?;
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        // The rule holds its points (n,), two per angle.
        let n = params.get(AMBIENT) as u64;
        memory::total(&[&[sphere_problem(params, 1).memory(1)], &[16, ANGLES as u64, n]])
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        if self.form != Form::Printed {
            return vec![];
        }
        let s = params.get(NOISE_VARIANCE);
        let informative = |streams: &Streams| {
            let prompt = sphere_problem(params, 1).draw(streams)?;
            let projected = prompt.prior.project(prompt.query.view());
            Ok(telling(params, projected.dot(&projected).sqrt()))
        };
        vec![Hypothesis::new(
            "the argument matters",
            "R |X| / sigma_Z neither large nor small [here: the ratio differs by at least 1e-7 between the two at half of the queries, \
             or sigma_Z = 1]",
            if s == 1.0 { 0.5 } else { share(informative) - 0.5 },
        )]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        // With unit noise the printed and the corrected argument are the same.
        if self.form == Form::Printed && params.get(NOISE_VARIANCE) == 1.0 {
            return VerdictKind::Supported;
        }
        self.sheet().expected
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, r, s) = (params.get(DIM), params.get(RADIUS), params.get(NOISE_VARIANCE));
        let prompt = sphere_problem(params, 1).draw(streams)?;
        let query = &prompt.query;
        let projected = prompt.prior.project(query.view());
        let norm = projected.dot(&projected).sqrt();
        // By definition: weights exp(-|x - x~|^2 / (2 sigma_Z^2)), all n components of the query.
        let full = |x: ArrayView1<f64>| {
            let distance2: f64 = x.iter().zip(query).map(|(x, q)| (x - q).powi(2)).sum();
            -distance2 / (2.0 * s)
        };
        let definition = integral(&prompt.prior, &projected, r, full);
        let noise = s * (1.0 + self.louder);
        let length = match self.form {
            Form::Integral => {
                let width = if self.deviation { s.sqrt() } else { noise };
                let mean = integral(&prompt.prior, &projected, r, |x| x.dot(&projected) / width);
                return Ok(same(&mean, &definition, r));
            }
            Form::Printed => sphere::shrinkage_printed(d, r, s, norm),
            Form::Corrected if self.code_orders => r * bessel_ratio(d as f64 - 1.5, r * norm / s),
            Form::Corrected if self.lower_orders => r * bessel_ratio(sphere::order(d) - 0.5, r * norm / s),
            Form::Corrected => sphere::shrinkage(d, r, noise, norm),
        };
        let formula = projected * (length / norm);
        let agree = relative(&formula, &definition, r) <= IDENTITY;
        if self.form == Form::Printed && agree && s != 1.0 && !telling(params, norm) {
            return Ok(Outcome::uninformative("both arguments give the same ratio to 1e-7", Witness::new()));
        }
        Ok(same(&formula, &definition, r))
    }
}

/// Least difference of the ratio of Bessel functions at the two arguments of (A.4): the coefficient then moves by
/// 1e-7 R, far more than the [`IDENTITY`] allows, 1e-9 of at most 2R.
const LEAST_TELLING: f64 = 1e-7;

/// Returns `true` if a projected query of this length tells the two arguments of (A.4) from each other.
fn telling(params: &Params, norm: f64) -> bool {
    let (r, s) = (params.get(RADIUS), params.get(NOISE_VARIANCE));
    let complement = |width: f64| bessel_ratio_complement(sphere::order(params.get(DIM)), r * norm / width);
    (complement(s) - complement(s.sqrt())).abs() >= LEAST_TELLING
}

/// Angles of the rule below.
const ANGLES: usize = 1000;

/// $\int e^{g(x)} x\, dS_x / \int e^{g(x)}\, dS_x$ over the sphere, for a g that depends on x only
/// through its component along the given direction of the subspace. All else in x then averages out,
/// which two mirrored points $R(\cos\theta\, e_1 \pm \sin\theta\, e_2)$ per angle do.
///
/// The trapezoidal rule in $\varphi$ with $\theta = \varphi - \sin(2\varphi)/2$: near the ends the
/// integrand then vanishes like $\varphi^{3d-1}$, so that the error is $O(h^6)$ at worst (d = 2).
fn integral(prior: &Prior, direction: &Array1<f64>, radius: f64, g: impl Fn(ArrayView1<f64>) -> f64) -> Array1<f64> {
    let Prior::Sphere { basis, .. } = prior else { return Array1::zeros(direction.len()) };
    let e1 = direction / direction.dot(direction).sqrt();
    let d = basis.ncols() - 1;
    let (mut logs, mut points) = (vec![], vec![]);
    let mut push = |ln_weight: f64, x: Array1<f64>| {
        logs.push(ln_weight + g(x.view()));
        points.push(x);
    };
    if d == 0 {
        push(0.0, &e1 * radius);
        push(0.0, &e1 * -radius);
        return average(&logs, &points);
    }
    let e2 = across(basis.view(), &e1);
    for i in 1..ANGLES {
        let phi = PI * i as f64 / ANGLES as f64;
        let theta = phi - 0.5 * (2.0 * phi).sin();
        let ln_weight = (d as f64 - 1.0) * theta.sin().ln() + 2.0 * phi.sin().ln();
        let (along, aside) = (&e1 * (radius * theta.cos()), &e2 * (radius * theta.sin()));
        push(ln_weight, &along + &aside);
        push(ln_weight, along - aside);
    }
    average(&logs, &points)
}

/// A unit vector in the span of the basis orthogonal to the unit vector `e1` of that span: the column
/// least aligned with it, made orthogonal.
fn across(basis: ArrayView2<f64>, e1: &Array1<f64>) -> Array1<f64> {
    let c = basis.t().dot(e1).mapv(f64::abs);
    let least = (0..c.len()).min_by(|a, b| c[*a].total_cmp(&c[*b])).unwrap_or(0);
    let column = basis.column(least);
    let e2 = &column - &(e1 * column.dot(e1));
    let norm = e2.dot(&e2).sqrt();
    e2 / norm
}
