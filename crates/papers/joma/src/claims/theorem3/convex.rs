//! Section E.4: G is convex on its upper half.

use crate::claims::setting::*;
use crate::theory::Shell;

/// The statement that G is convex on y > 1/2, printed and from three dimensions on.
#[derive(Serialize, Deserialize)]
pub struct Convex {
    printed: bool,
    /// Factor by which the slope of G is said to grow between two chords; a mutant's is above 1.
    growth: f64,
    /// A dimension in place of the parameter, for a mutant.
    dim: Option<usize>,
}

impl Convex {
    /// Convex for every isotropic law, as printed.
    pub const PRINTED: Self = Convex { printed: true, growth: 1.0, dim: None };
    /// Convex in three dimensions or more.
    pub const CORRECTED: Self = Convex { printed: false, ..Self::PRINTED };
}

/// Least distance of the three points, in units of the law, and their range above 0, where θ_1 is 1/2.
const APART: f64 = 0.05;
const RANGE: f64 = 3.0;
/// Rounding of F and θ_1, 1e-12 for the quadratures among them, times differences of up to some units.
const TOLERANCE: f64 = 1e-11;
/// Share of blurred spheres among the laws that are drawn.
const SHELLS: f64 = 0.5;

/// One of the laws, with and without a second mode.
enum Law {
    Plain(Isotropic),
    Shell(Shell),
}

impl Law {
    fn draw(dim: usize, rng: &mut Generator) -> Result<Self> {
        if rng.random_bool(SHELLS) {
            let radius = rng.random_range(1.0..3.0);
            return Ok(Law::Shell(Shell::new(dim, radius, radius * rng.random_range(0.1..0.4))?));
        }
        Ok(Law::Plain(random_law(dim, rng)?))
    }

    /// θ_1 and F under ReLU.
    fn point(&self, x: f64) -> [f64; 2] {
        match self {
            Law::Plain(law) => [law.theta1((0.0, 1.0), x), law.f((0.0, 1.0), x)],
            Law::Shell(shell) => [shell.theta1(x), shell.f(x)],
        }
    }

    /// The end of the range of x: the edge of the ball, beyond which y = 1.
    fn end(&self) -> f64 {
        if matches!(self, Law::Plain(law) if law.radial() == Radial::Ball) { 1.0 } else { RANGE }
    }
}

impl Claim for Convex {
    from_sheet!(
        self,
        if self.printed { sheet!("joma.e4_convex") } else { sheet!("joma.e4_convex_corrected") },
        trials = 200
    );

    fn schema(&self) -> Schema {
        vec![DIM.or(if self.printed { 2 } else { 3 })]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let printed = "n >= 3: p_n falls on either side of 0 for every isotropic law";
        let dimensions = Hypothesis::new("three dimensions", printed, params.real(DIM) - 3.0);
        if self.printed { vec![] } else { vec![dimensions] }
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if params.get(DIM) >= 3 { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("convex", 0);
        let law = Law::draw(self.dim.unwrap_or(params.get(DIM)), &mut rng)?;
        let room = law.end() - 2.0 * APART;
        let mut shares: [f64; 3] = std::array::from_fn(|_| rng.random());
        shares.sort_by(f64::total_cmp);
        let x: [f64; 3] = std::array::from_fn(|i| room * shares[i] + APART * i as f64);
        let [a, b, c] = x.map(|x| law.point(x));
        // Slopes of two chords, multiplied out.
        let below = (b[1] - a[1]) * (c[0] - b[0]);
        let name = match &law {
            Law::Plain(law) => format!("{:?}", law.radial()),
            Law::Shell(shell) => format!("{shell:?}"),
        };
        let witness = witness! { "law" => name, "x" => x, "y" => [a[0], b[0], c[0]], "G" => [a[1], b[1], c[1]] };
        Ok(Outcome::at_most(self.growth * below, (c[1] - b[1]) * (b[0] - a[0]), TOLERANCE, witness))
    }
}
