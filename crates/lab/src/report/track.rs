//! Rows of a forest plot: estimate, interval and promise on one track, with the verdict as a shape.
//!
//! Places along a track are percentages, so that a track takes the width that the page gives it.

use super::{Checked, MutantResult, escape, put};
use crate::claim::evidence::Estimated;
use crate::claim::{Params, Promise, VerdictKind};
use crate::figure::ends;
use crate::run::CheckReport;
use attnlab_core::format::{number, significant};
use attnlab_core::stats::Estimate;
use std::fmt::Write;

/// Share of a track's width that stays free beyond its outermost marks.
const MARGIN: f64 = 0.06;

/// Scale of the estimates of a check, and the range that its statement promises.
pub struct Track<'a> {
    report: &'a CheckReport,
    /// Values at both ends.
    ends: [f64; 2],
    /// Range of the estimates that the statement promises; None where the promise is of another kind.
    promised: Option<[f64; 2]>,
    /// Flag: the estimate is the share of trials that hold, on a scale from 0 to 1.
    share: bool,
}

impl<'a> Track<'a> {
    pub fn new(checked: &'a Checked) -> Self {
        let report = &checked.report;
        let (promised, share) = range(checked);
        let ends = if share { [0.0, 1.0] } else { scale(&report.estimate, promised) };
        Track { report, ends, promised, share }
    }

    /// Returns the distance of the estimate from the edge of the promise in half-widths of its interval, negative
    /// inside, infinite for a computed estimate. None where the promise is of another kind or nothing was estimated.
    pub fn distance(&self) -> Option<f64> {
        let ([low, high], e) = (self.promised?, &self.report.estimate);
        let outside = (low - e.value).max(e.value - high);
        // The interval of a computed value is its rounding error, and no measure of distance.
        let half = if e.level >= 1.0 { 0.0 } else { 0.5 * (e.high - e.low) };
        match outside {
            x if x.is_nan() || half.is_nan() => None,
            0.0 => Some(0.0),
            x => Some(x / half),
        }
    }

    pub fn distance_in_words(&self) -> Option<String> {
        let distance = self.distance()?;
        let side = if distance > 0.0 { "outside" } else { "inside" };
        Some(match distance.abs() {
            0.0 => "at its edge".to_string(),
            x if x.is_finite() => format!("{} half-widths of the interval {side}", significant(x, 2)),
            _ => format!("{side}, computed or without spread"),
        })
    }

    /// Draws the track; small ticks mark the estimates of `mutants` that have the same scale.
    pub fn draw(&self, page: &mut String, mutants: &[&MutantResult]) {
        let (e, verdict) = (&self.report.estimate, self.report.verdict.name());
        let (value, low, high) = (number(e.value), number(e.low), number(e.high));
        put!(
            page,
            "<svg class=\"track {verdict}\" role=\"img\"><title>{verdict}: {value} [{low}, {high}]; promise: {}</title>",
            escape(&self.report.promise)
        );
        page.push_str("<line class=\"axis\" x2=\"100%\" y1=\"10\" y2=\"10\"/>");
        self.band(page);
        for mutant in mutants {
            let other = Track::new(&mutant.first);
            let value = other.report.estimate.value;
            if other.share && self.share && value.is_finite() {
                let x = self.percent(value);
                let _ = write!(page, "<line class=\"mutant\" x1=\"{x}\" x2=\"{x}\" y1=\"14\" y2=\"19\"/>");
            }
        }
        if e.value.is_finite() {
            let (a, b, x) = (self.percent(e.low), self.percent(e.high), self.percent(e.value));
            let _ = write!(
                page,
                "<line class=\"interval\" x1=\"{a}\" x2=\"{b}\" y1=\"10\" y2=\"10\"/>\
                 <svg x=\"{x}\" y=\"10\" class=\"estimated\">{}</svg>",
                shape(self.report.verdict)
            );
        }
        for end in self.ends {
            let _ = write!(page, "<text x=\"{}\" y=\"28\">{}</text>", self.percent(end), significant(end, 3));
        }
        page.push_str("</svg>\n");
    }

    fn band(&self, page: &mut String) {
        let Some(promised) = self.promised else { return };
        let last = if self.share { 1.0 } else { f64::INFINITY };
        let [a, b] = promised.map(|x| self.place(x.min(last)));
        let width = b - a;
        let _ = write!(page, "<rect class=\"promised\" x=\"{a:.2}%\" width=\"{width:.2}%\" y=\"3\" height=\"14\"/>");
        for edge in promised.into_iter().filter(|x| x.is_finite()) {
            let x = self.percent(edge);
            let _ = write!(page, "<line class=\"edge\" x1=\"{x}\" x2=\"{x}\" y1=\"1\" y2=\"19\"/>");
        }
    }

    /// Returns the place of a value in percent of the width; values beyond an end are placed at the end.
    fn place(&self, x: f64) -> f64 {
        let [low, high] = self.ends;
        let t = ((x - low) / (high - low)).clamp(-MARGIN, 1.0 + MARGIN);
        100.0 * (MARGIN + (1.0 - 2.0 * MARGIN) * t).clamp(0.0, 1.0)
    }

    fn percent(&self, x: f64) -> String {
        format!("{:.2}%", self.place(x))
    }
}

/// Returns the range of estimates that the statement promises, and `true` if they are shares of trials that hold.
fn range(checked: &Checked) -> (Option<[f64; 2]>, bool) {
    let claim = &*checked.claim;
    let Ok(params) = Params::resolve(&claim.schema(), &checked.report.parameters) else { return (None, false) };
    let promised = match claim.promise(&params) {
        Promise::MeanIn(low, high) => Some([low, high]),
        // No promise bounds a share from above: 1 is the end of its scale.
        Promise::Always => Some([1.0, f64::INFINITY]),
        Promise::AtLeast(q) if q > 0.0 => Some([q, f64::INFINITY]),
        Promise::FailsAtMost(e) if e < 1.0 => Some([1.0 - e, f64::INFINITY]),
        _ => None,
    };
    match Estimated::by(claim, &params) {
        Estimated::Mean => (promised, false),
        Estimated::Share => (promised, true),
        Estimated::Other => (None, false),
    }
}

/// Returns the ends of a scale that shows estimate, interval and promise.
fn scale(e: &Estimate, promised: Option<[f64; 2]>) -> [f64; 2] {
    let values = promised.into_iter().flatten().chain([e.value, e.low, e.high]);
    let (low, high) = ends(values.filter(|x| x.is_finite()));
    if low < high {
        return [low, high];
    }
    // One value, or none.
    let middle = if low.is_finite() { low } else { 0.0 };
    let half = if middle == 0.0 { 1.0 } else { 0.5 * middle.abs() };
    [middle - half, middle + half]
}

/// Returns the shape of a verdict around the origin, within 12 pixels.
fn shape(verdict: VerdictKind) -> &'static str {
    match verdict {
        VerdictKind::Supported => "<circle class=\"solid\" r=\"4.5\"/>",
        VerdictKind::Refuted => "<path class=\"solid\" d=\"M-5.8 0 0-5.8 5.8 0 0 5.8z\"/>",
        VerdictKind::Inconclusive => "<path class=\"hollow\" d=\"M-5 4.2 0-5 5 4.2z\"/>",
        VerdictKind::OutOfScope => "<circle class=\"hollow\" r=\"4.2\"/>",
        VerdictKind::Vacuous => "<path class=\"hollow\" d=\"M-5-1.6h10v3.2h-10z\"/>",
        VerdictKind::Failed => "<path class=\"hollow\" d=\"M-4-4 4 4M-4 4 4-4\"/>",
    }
}

/// Writes `text` in the colour of a verdict, after its shape.
pub fn marked(verdict: VerdictKind, text: &str) -> String {
    format!(
        "<span class=\"verdict {0}\" title=\"{0}\"><svg class=\"mark\" width=\"12\" height=\"12\" \
         viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">{1}</svg>{text}</span>",
        verdict.name(),
        shape(verdict)
    )
}

/// Writes the word of a verdict after its shape.
pub fn badge(verdict: VerdictKind) -> String {
    marked(verdict, verdict.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{CheckOptions, Silent, check};
    use crate::toy;

    fn checked() -> Checked {
        let claim = toy::fair_coin();
        let report = check(&*claim, &Default::default(), &CheckOptions::default(), &Silent).unwrap();
        Checked::here(&claim, report)
    }

    #[test]
    fn distances_are_half_widths_from_the_promise() {
        let mut checked = checked();
        let distance = |checked: &Checked, value: f64, half: f64| {
            let mut checked = checked.clone();
            checked.report.estimate = Estimate { value, low: value - half, high: value + half, level: 0.95 };
            Track::new(&checked).distance()
        };
        // The coin promises a mean in [.45, .55].
        let close = |x: Option<f64>, expected: f64| (x.unwrap() - expected).abs() < 1e-9;
        assert!(close(distance(&checked, 0.5, 0.01), -5.0));
        assert!(close(distance(&checked, 0.57, 0.01), 2.0));
        assert_eq!(distance(&checked, 0.6, 0.0), Some(f64::INFINITY));
        assert_eq!(distance(&checked, f64::NAN, 0.1), None);
        checked.report.parameters.insert("unknown".into(), 1.into());
        assert_eq!(distance(&checked, 0.5, 0.1), None);
    }

    #[test]
    fn marks_stay_on_the_track() {
        let mut page = String::new();
        let mut checked = checked();
        checked.report.estimate.high = f64::INFINITY;
        Track::new(&checked).draw(&mut page, &[]);
        assert!(page.contains("class=\"promised\"") && page.ends_with("</svg>\n"), "{page}");
        for percent in page.split('"').filter_map(|word| word.strip_suffix('%')) {
            let place: f64 = percent.parse().unwrap();
            assert!((0.0..=100.0).contains(&place), "{page}");
        }
    }
}
