//! Films: points that move on the sphere, as one SVG that plays in a browser.

use super::canvas::{Canvas, Moment};
use super::draw;
use super::layout::{Layout, layout};
use super::model::{Figure, Panel};
use super::point::Point;
use super::style::{self, HAIRLINE, INK, MARKER, RULE};
use super::text;
use attnlab_core::error::{Error, Result};
use std::f64::consts::TAU;

/// Seconds that a film takes; it then begins again.
const SECONDS: f64 = 14.0;

/// Share of the film for which its last moment stays.
const REST: f64 = 0.12;

/// Angle by which the sphere turns during the film (radian), so that depth is seen.
const TURN: f64 = 0.4 * TAU;

/// Angle from which the equator is seen (radian).
const TILT: f64 = 0.35;

/// Opacity of a point at the far end of the sphere; at the near end it is 1.
const FAR: f64 = 0.25;

/// Points that move on the unit sphere, and a chart above them on which a mark moves along. It is written beside its
/// [`Figure`] as NAME_film.svg.
#[derive(Clone, Debug)]
pub struct Film {
    /// Chart above the sphere.
    pub chart: Panel,
    /// Place of the mark on the chart at each moment.
    pub marks: Vec<Point>,
    /// Points on the sphere.
    pub bodies: Vec<Body>,
}

/// A point that moves on the unit sphere.
#[derive(Clone, Debug)]
pub struct Body {
    /// Index of its colour.
    pub colour: usize,
    /// Its place at each moment, the third coordinate upwards.
    pub path: Vec<[f64; 3]>,
}

/// Draws a film as SVG text, animated by the elements `animate` of SVG; where these are unknown its first moment stands.
///
/// # Errors
/// When the chart has nothing to draw, or a body or the mark has not one finite place at each of two or more moments.
pub fn film(figure: &Figure, film: &Film) -> Result<String> {
    let moments = film.marks.len();
    let finite = film.bodies.iter().all(|body| body.path.iter().flatten().all(|x| x.is_finite()));
    if moments < 2 || !finite || film.bodies.iter().any(|body| body.path.len() != moments) {
        let needs = "needs one finite place of each point at each of 2 or more moments";
        return Err(Error::undefined(format!("the film of figure {} {needs}", figure.name)));
    }
    let chart = Figure::column(&figure.name, &figure.title, vec![film.chart.clone()]);
    let laid = layout(&chart)?;
    // Browsers play it, with the fonts that they have.
    let mut canvas = Canvas::in_page();
    draw::draw(&mut canvas, &laid);
    canvas.moving_disc(&on_chart(&laid, &film.marks), SECONDS, style::colour(INK));
    let (width, high) = laid.size;
    let sphere = Sphere { centre: (width / 2.0, high + width / 2.0), radius: 0.44 * width };
    sphere.draw(&mut canvas);
    for body in &film.bodies {
        let path = body.path.iter().enumerate().map(|(k, place)| {
            let ((x, y), depth) = sphere.project(*place, TURN * k as f64 / (moments - 1) as f64);
            let near = (1.0 + depth) / 2.0;
            Moment { centre: (x, y), radius: MARKER * (0.6 + 0.7 * near), opacity: FAR + (1.0 - FAR) * near }
        });
        canvas.moving_disc(&resting(path.collect()), SECONDS, style::colour(body.colour));
    }
    Ok(canvas.document((width, high + width), &text::plain(&figure.title), &text::plain(&figure.caption)))
}

/// Repeats the last moment, so that the end is seen.
fn resting(mut moments: Vec<Moment>) -> Vec<Moment> {
    if let Some(last) = moments.last().copied() {
        let more = (moments.len() as f64 * REST / (1.0 - REST)).ceil() as usize;
        moments.resize(moments.len() + more, last);
    }
    moments
}

fn on_chart(laid: &Layout, marks: &[Point]) -> Vec<Moment> {
    // `layout` refuses a figure without panels.
    let placed = &laid.panels[0];
    let frame = placed.frame;
    let place = |mark: &Point| {
        let x = frame.left + placed.x.place(mark.x).clamp(0.0, 1.0) * (frame.right - frame.left);
        let y = frame.bottom - placed.y.place(mark.y).clamp(0.0, 1.0) * (frame.bottom - frame.top);
        Moment { centre: (x, y), radius: 1.4 * MARKER, opacity: 1.0 }
    };
    resting(marks.iter().map(place).collect())
}

/// Place of the sphere on the paper (pt).
struct Sphere {
    centre: (f64, f64),
    radius: f64,
}

impl Sphere {
    /// Returns where a point is seen after a turn about the vertical axis, and its depth, 1 at the near end and −1 at the
    /// far one.
    fn project(&self, [x, y, z]: [f64; 3], turn: f64) -> ((f64, f64), f64) {
        let (along, into) = (x * turn.cos() - y * turn.sin(), x * turn.sin() + y * turn.cos());
        let (up, near) = (z * TILT.cos() + into * TILT.sin(), z * TILT.sin() - into * TILT.cos());
        ((self.centre.0 + self.radius * along, self.centre.1 - self.radius * up), near)
    }

    /// Draws the outline, and parallels, their hidden halves dashed.
    fn draw(&self, canvas: &mut Canvas) {
        let circle = |k: i32| TAU * f64::from(k) / 120.0;
        let (x, y) = self.centre;
        let outline = |k| (x + self.radius * circle(k).cos(), y - self.radius * circle(k).sin());
        canvas.line(&(0..=120).map(outline).collect::<Vec<_>>(), HAIRLINE, RULE);
        for latitude in [-0.5, 0.0, 0.5_f64] {
            let on_it = |k| {
                let angle = circle(k);
                self.project([latitude.cos() * angle.cos(), latitude.cos() * angle.sin(), latitude.sin()], 0.0)
            };
            for half in (0..=120).map(on_it).collect::<Vec<_>>().chunk_by(|a, b| (a.1 < 0.0) == (b.1 < 0.0)) {
                let places: Vec<(f64, f64)> = half.iter().map(|(place, _)| *place).collect();
                let dashes: &[f64] = if half[0].1 < 0.0 { &[1.0, 3.0] } else { &[] };
                canvas.dashes(&places, dashes, HAIRLINE, RULE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Series, draw, pdf};

    /// A point at rest at the pole, one on the equator, and a mark that falls from 10 to 1.
    fn picture() -> (Figure, Film) {
        let marks: Vec<Point> = (0..8).map(|k| Point::at(f64::from(k), [10.0, 1.0][usize::from(k > 3)])).collect();
        let chart = Panel::new("groups", Axis::linear("*t*"), Axis::log("number"));
        let chart = chart.with(Series::fitted("", INK, marks.clone()).unlisted());
        let body = |colour, place| Body { colour, path: vec![place; 8] };
        let bodies = vec![body(0, [0.0, 0.0, 1.0]), body(1, [0.0, 1.0, 0.0])];
        (Figure::column("a", "A < B", vec![chart.clone()]), Film { chart, marks, bodies })
    }

    #[test]
    fn points_move_with_the_sphere() {
        let (figure, moving) = picture();
        let svg = film(&figure, &moving).unwrap();
        assert!(svg.contains("<title>A &lt; B</title>"));
        assert!(draw::png_of(&pdf::tree(&svg).unwrap()).is_ok());
        let circles: Vec<&str> = svg.lines().filter(|line| line.starts_with("<circle")).collect();
        let [mark, pole, equator] = circles[..] else { panic!("{circles:?}") };
        // The mark moves, the axis about which the sphere turns does not.
        assert!(mark.contains("\"cx\"") && mark.contains("\"cy\"") && !mark.contains("\"r\""), "{mark}");
        assert!(!pole.contains("animate"), "{pole}");
        for name in ["cx", "cy", "r", "fill-opacity"] {
            let values = equator.split(&format!("attributeName=\"{name}\"")).nth(1).unwrap();
            let values: Vec<f64> =
                values.split('"').nth(5).unwrap().split(';').map(|value| value.parse().unwrap()).collect();
            // Eight moments, and two more of rest.
            assert!(values.len() == 10 && values[9] == values[7] && values[7] != values[0], "{name}: {values:?}");
        }
        // The far end of the equator is seen above the middle by sin(.35), at a depth of cos(.35).
        let sphere = Sphere { centre: (0.0, 0.0), radius: 1.0 };
        let ((x, y), depth) = sphere.project([0.0, 1.0, 0.0], 0.0);
        assert!(x == 0.0 && (y + 0.342_898).abs() < 1e-6 && (depth + 0.939_373).abs() < 1e-6);
    }

    #[test]
    fn films_without_places_are_refused() {
        for change in [
            |moving: &mut Film| moving.marks.truncate(1),
            |moving: &mut Film| moving.bodies[1].path.truncate(3),
            |moving: &mut Film| moving.bodies[0].path[2][1] = f64::NAN,
        ] {
            let (figure, mut moving) = picture();
            change(&mut moving);
            let message = film(&figure, &moving).unwrap_err().to_string();
            assert!(message.contains("the film of figure a"), "{message}");
        }
    }
}
