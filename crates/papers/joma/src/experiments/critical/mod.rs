//! JoMA Fig. 9: G(y), where critical points are, and where the dynamics go near one.

use crate::PAPERS;
use crate::dynamics::ByRate;
use crate::quantities::FIELD;
use crate::theory::{CriticalPoint, Isotropic, Radial, critical};
use attnlab_lab::experiment::draw::{cells, points, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Marker, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, Watch};

attnlab_lab::settings! {
    /// G and the mean residual life of several laws, and flows near a critical point.
    #[experiment("joma.critical", rows = "joma_critical",
        title = "Critical points of the nonlinear dynamics: G(y) and what is near one")]
    #[source(&PAPERS[0], "Figure 9, Lemma 4, Theorem 3")]
    pub struct JomaCritical {
        pub dim: usize = whole(1..),
        pub nu: Vec<f64>,
        pub points: usize = whole(10..),
        pub flow_nu: f64,
        pub minus: f64,
        pub away: f64 = within("(0, 1)"),
        pub until: f64 = positive,
    }
}

/// Palette colour and stroke of a curve.
type Look = (usize, Stroke);

/// Palette colour of the Student laws.
const STUDENT: usize = 2;
/// First palette colour of the flows.
const FLOWS: usize = 3;

impl JomaCritical {
    /// Label, law and look of each curve of panels (a) and (b). The Student laws share one colour.
    fn laws(&self) -> Result<Vec<(String, Isotropic, Look)>> {
        let of = |radial| Isotropic::new(radial, self.dim);
        let mut laws = vec![
            ("Gaussian".to_string(), of(Radial::Gaussian)?, (0, Stroke::Dotted)),
            (format!("ball, *n* = {}", self.dim), of(Radial::Ball)?, (1, Stroke::DashDotted)),
        ];
        for nu in &self.nu {
            let stroke = if *nu == self.flow_nu { Stroke::Solid } else { Stroke::Dashed };
            laws.push((format!("Student, *ν* = {nu}"), of(Radial::Student { nu: *nu })?, (STUDENT, stroke)));
        }
        Ok(laws)
    }

    fn point(&self) -> Result<CriticalPoint> {
        CriticalPoint::relu(Isotropic::new(Radial::Student { nu: self.flow_nu }, self.dim)?, self.minus, 1.0)
    }

    /// The starts of the flows: along μ, to either side, and across it.
    fn starts(&self) -> [(&'static str, [f64; 2]); 3] {
        let a = self.away;
        [("longer", [1.0 + a, 0.0]), ("shorter", [1.0 - a, 0.0]), ("across", [1.0, a])]
    }

    fn times(&self) -> Vec<f64> {
        (1..=100).map(|i| self.until * f64::from(i) / 100.0).collect()
    }

    fn curves(&self, point: &CriticalPoint) -> Result<Panel> {
        let ys: Vec<f64> = (1..self.points).map(|i| i as f64 / self.points as f64).collect();
        let slope = critical::residual_life(&point.law, point.minus);
        let line = vec![Point::at(0.0, 0.0), Point::at(1.0, slope)];
        let pair = [point.minus, point.plus].map(|rho| {
            let y = point.law.theta1(point.slopes, rho);
            Point::at(y, slope * y)
        });
        let (x, y) = (Axis::linear("*y*").from_to(0.0, 1.0), Axis::linear("*G*").from_to(0.0, 3.0));
        Ok(Panel::new("*G*(*y*)", x, y)
            .curves(self.laws()?, |_, (label, law, (colour, stroke))| {
                let g: Vec<f64> = ys.iter().map(|y| critical::g(&law, *y)).collect();
                Ok(Series::fitted(label, colour, points(&ys, &g)).drawn(stroke))
            })?
            .with(Series::fitted("line through a critical pair", INK, line))
            .with(Series::marks("critical pair", INK, Marker::Ring, pair.to_vec())))
    }

    fn lives(&self, point: &CriticalPoint) -> Result<Panel> {
        let slope = critical::residual_life(&point.law, point.minus);
        let pair = [point.minus, point.plus].map(|rho| Point::at(rho, slope));
        let rho = |i: u32| -6.0 + 10.0 * f64::from(i) / 300.0;
        let (x, y) = (Axis::linear("*ρ*").from_to(-6.0, 4.0), Axis::linear("*F*/*θ*_{1}").from_to(0.0, 5.0));
        Ok(Panel::new("mean residual life", x, y)
            .curves(self.laws()?, |_, (label, law, (colour, stroke))| {
                let life = |rho: f64| Point::at(rho, critical::residual_life(&law, rho));
                // A ball ends at -1: left of that there is no life.
                let lives = (0..=300).map(rho).map(life).filter(|p| p.y.is_finite()).collect();
                Ok(Series::fitted(label, colour, lives).drawn(stroke))
            })?
            .with(Series::marks("critical pair", INK, Marker::Ring, pair.to_vec())))
    }

    fn near(&self, cells: &[&[Row]], point: &CriticalPoint) -> Result<Panel> {
        let times = self.times();
        let distances = |cell: &[Row], name: &str| -> Result<_> { Ok(points(&times, &cell[0].series(name)?)) };
        // Space for the names of the curves that do not come back.
        let x = Axis::linear("time").from_to(-0.03 * self.until, 1.35 * self.until);
        let mut panel = Panel::new("near the critical point", x, Axis::log("distance from *μ*").from_to(1e-4, 3.0));
        for cell in with_word(cells, FIELD, "corrected") {
            panel = panel
                .curves(self.starts(), |i, (name, _)| Ok(Series::fitted(name, FLOWS + i, distances(cell, name)?)))?;
        }
        for cell in with_word(cells, FIELD, "printed") {
            panel = panel.curves(self.starts(), |i, (name, _)| {
                let series = Series::fitted(format!("{name}, as printed"), FLOWS + i, distances(cell, name)?);
                Ok(series.drawn(Stroke::Dotted).unlisted().tagged(name))
            })?;
        }
        let betas = point.betas();
        panel
            .with(Series::key("as printed", GREY, Stroke::Dotted))
            .ruled(Rule::horizontal("start", self.away).written())
            .curves([betas.one + betas.two, betas.one], |_, rate| {
                let law = times.iter().map(|t| Point::at(*t, self.away * (-rate * t).exp())).collect();
                Ok(Series::predicted("Theorem 3", GREY, law))
            })
    }
}

impl Experiment for JomaCritical {
    fn validate(&self) -> Result<()> {
        self.laws()?;
        self.point().map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        Ok(["corrected", "printed"].map(|field: &str| [FIELD.is(field)].into_iter().collect()).to_vec())
    }

    /// Series "NAME": the distance from the ray of μ at ξ fixed at ξ*, along the flow from each start;
    /// shorter where the flow reaches v = 0, at the time "NAME_event" (infinite where it does not); "NAME_steps".
    fn trial(&self, cell: &Params, _streams: &Streams) -> Result<Map<String, Value>> {
        let point = self.point()?;
        let lemma2 = if cell.get(FIELD) == "printed" { CriticalPoint::field_printed } else { CriticalPoint::field };
        // The field of Lemma 2 with ξ fixed, as the proof of Theorem 3 has it; the state is (v_1, v_2).
        let field = ByRate(2, |v: &[f64], out: &mut [f64]| out.copy_from_slice(&lemma2(&point, v, point.bias()).0));
        let mut data = Map::new();
        for (name, start) in self.starts() {
            let near_zero = |x: &[f64]| f64::hypot(x[0], x[1]) - 0.05;
            let path = Flow::new(Method::Tsit45).watched(&field, &start, &self.times(), Watch::until(&near_zero))?;
            let distances: Vec<f64> = path.states.iter().map(|x: &Vec<f64>| f64::hypot(x[0] - 1.0, x[1])).collect();
            data.insert(name.into(), store::series(&distances));
            data.insert(format!("{name}_steps"), path.steps.into());
            data.insert(format!("{name}_event"), store::number(path.event.as_ref().map_or(f64::INFINITY, |(t, _)| *t)));
        }
        Ok(data)
    }

    fn size(&self) -> String {
        format!("*n* = {}, {} points per curve", self.dim, self.points)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        let point = self.point()?;
        let panels = vec![self.curves(&point)?, self.lives(&point)?, self.near(&cells(Self::NAME, rows)?, &point)?];
        Ok(vec![Figure::page(Self::NAME, "Critical points of the nonlinear dynamics", 3, panels).captioned(format!(
            "ReLU on isotropic inputs. (a): *G*(*y*) = *F*(*θ*_{{1}}^{{−1}}(*y*)), Fig. 9 of the paper; straight: \
             the line through 0 that meets the curve of Student's law with *ν* = {nu} at *ρ*_{{−}} = {minus} and \
             again at *ρ*_{{+}} = {plus:.4}: a critical point. (b): the slope of that line, *F*/*θ*_{{1}}, the mean \
             residual life at −*ρ*: monotone for log-concave laws, which have no critical point. (c): distance from \
             the critical point *μ*, |*μ*| = 1, with *ξ* fixed, along the flow of Lemma 2; solid with Lemma 1 \
             corrected, dotted as printed, from {away} away along *μ* (longer or shorter) or across it; dashed: the \
             rates of the corrected Theorem 3.",
            nu = self.flow_nu,
            minus = self.minus,
            plus = point.plus,
            away = self.away,
        ))])
    }
}
