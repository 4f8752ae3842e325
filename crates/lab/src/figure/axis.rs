//! Positions and labels of ticks.

use super::model::{Axis, Scale};
use super::style::{NUMBERS, TICK};
use super::text;
use attnlab_core::error::{Error, Result, require};

/// An axis with its ends and ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    reversed: bool,
    /// Values and labels of the numbered ticks.
    pub major: Vec<(f64, String)>,
    /// Values of the small ticks.
    pub minor: Vec<f64>,
}

/// Space between the data and the frame, relative to the length of the axis.
const PADDING: f64 = 0.04;
/// Largest number of numbered ticks on an axis of the default size.
const MOST_TICKS: f64 = 8.0;
/// Least distance of two given tick labels, relative to the length of the axis: the height of a label on
/// the shortest axis, a third of a page wide.
const LEAST_GAP: f64 = 0.07;

impl Ruler {
    /// Chooses ends and ticks of `axis` for the data.
    ///
    /// # Errors
    /// When no value can be placed on the axis, or its given ends are not in order.
    pub fn new(axis: &Axis, data: impl Iterator<Item = f64>) -> Result<Ruler> {
        let log = axis.scale == Scale::Log;
        let (low, high) = axis.range.map_or_else(|| padded(axis, data), Ok)?;
        let (label, ends) = (text::plain(&axis.label), format!("[{low}, {high}]"));
        let allowed = "must be two finite numbers, low < high, both > 0 on a log axis";
        require(low < high && low.is_finite() && high.is_finite() && (!log || low > 0.0), label, ends, allowed)?;
        let mut ruler = Ruler { scale: axis.scale, low, high, reversed: axis.reversed, major: vec![], minor: vec![] };
        (ruler.major, ruler.minor) = if !axis.ticks.is_empty() {
            ruler.thinned(&axis.ticks)
        } else if log {
            log_ticks(low, high)
        } else {
            linear_ticks(low, high, axis.whole)
        };
        Ok(ruler)
    }

    /// Splits given ticks, ascending, into numbered and small ones: numbered are those at a distance to the
    /// one before, and the last.
    fn thinned(&self, ticks: &[(f64, String)]) -> (Vec<(f64, String)>, Vec<f64>) {
        let shown = ticks.iter().filter(|(v, _)| (self.low..=self.high).contains(v));
        let (mut major, mut minor): (Vec<(f64, String)>, _) = (vec![], vec![]);
        let apart = |a: f64, b: f64| (self.place(a) - self.place(b)).abs() >= LEAST_GAP;
        let last = shown.clone().next_back().map(|(v, _)| *v);
        for (v, label) in shown {
            let is_last = Some(*v) == last;
            match major.last() {
                Some((before, _)) if !apart(*v, *before) && !is_last => minor.push(*v),
                // The last tick is numbered instead of the one before it, unless that is the first.
                Some((before, _)) if !apart(*v, *before) && major.len() > 1 => {
                    minor.push(*before);
                    major.pop();
                    major.push((*v, label.clone()));
                }
                _ => major.push((*v, label.clone())),
            }
        }
        (major, minor)
    }

    /// Returns the width of the widest number at a tick (pt).
    pub fn numbers_width(&self) -> f64 {
        self.major.iter().map(|(_, number)| text::width(number, NUMBERS)).fold(0.0, f64::max)
    }

    /// Returns the values of the ticks with their lengths (pt) and, where they are numbered, labels: the numbered ones first.
    pub fn ticks(&self) -> impl Iterator<Item = (f64, f64, Option<&str>)> {
        let major = self.major.iter().map(|(value, label)| (*value, TICK, Some(label.as_str())));
        major.chain(self.minor.iter().map(|value| (*value, 0.6 * TICK, None)))
    }

    /// Returns the place of `value` on an axis that is drawn from `low` to `high`; not finite if the axis cannot show it.
    pub fn between(&self, value: f64, low: f64, high: f64) -> f64 {
        low + self.place(value) * (high - low)
    }

    /// Returns the position of `value`: 0 at the low end, 1 at the high end, the reverse on a reversed
    /// axis; not finite for a value outside the domain of a log axis.
    pub fn place(&self, value: f64) -> f64 {
        let (v, low, high) = match self.scale {
            Scale::Linear => (value, self.low, self.high),
            Scale::Log => (value.ln(), self.low.ln(), self.high.ln()),
        };
        let share = (v - low) / (high - low);
        if self.reversed { 1.0 - share } else { share }
    }
}

/// Returns the least and the largest of numbers; (∞, −∞) of none.
pub fn ends(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

/// Returns the least and the largest of the numbers that an axis can show; (∞, −∞) where it can show none.
pub fn shown(axis: &Axis, data: impl Iterator<Item = f64>) -> (f64, f64) {
    let log = axis.scale == Scale::Log;
    ends(data.filter(|x| x.is_finite() && (!log || *x > 0.0)))
}

/// Computes ends that contain all data, with some space around them.
fn padded(axis: &Axis, data: impl Iterator<Item = f64>) -> Result<(f64, f64)> {
    let (log, (low, high)) = (axis.scale == Scale::Log, shown(axis, data));
    if low > high {
        let (what, label) = (if log { "no positive number" } else { "no finite number" }, text::plain(&axis.label));
        return Err(Error::undefined(format!("nothing to draw on the axis '{label}': {what}")));
    }
    let (a, b) = if log { (low.ln(), high.ln()) } else { (low, high) };
    // A single value still needs an axis around it.
    let room = if b > a { PADDING * (b - a) } else { f64::max(0.5, 0.1 * a.abs()) };
    let (low, high) = (a - room, b + room);
    Ok(if log { (low.exp(), high.exp()) } else { (low, high) })
}

/// Returns the multiples of `step` in [low, high], with a tolerance for rounding.
fn multiples(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let slack = 1e-9 * (high - low) / step;
    let (from, to) = ((low / step - slack).ceil() as i64, (high / step + slack).floor() as i64);
    (from..=to).map(move |i| i as f64 * step)
}

fn linear_ticks(low: f64, high: f64, whole: bool) -> (Vec<(f64, String)>, Vec<f64>) {
    let rough = (high - low) / MOST_TICKS;
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|d| d * power >= rough * (1.0 - 1e-9)).unwrap_or(10.0);
    let least = if whole { 1.0 } else { 0.0 };
    let step = f64::max(digit * power, least);
    let small = f64::max(digit * power / if digit == 2.0 { 4.0 } else { 5.0 }, least);
    let write = decimal_writer(low.abs().max(high.abs()), step);
    let major: Vec<_> = multiples(low, high, step).map(|v| (v, write(v))).collect();
    let numbered = |v: f64| major.iter().any(|(m, _)| (m - v).abs() < 0.1 * small);
    let minor = multiples(low, high, small).filter(|v| !numbered(*v)).collect();
    (major, minor)
}

/// Chooses the format of numbers on a linear axis: plain where that is short, else with a power of ten.
fn decimal_writer(largest: f64, step: f64) -> impl Fn(f64) -> String {
    let exponent = largest.log10().floor() as i32;
    let scientific = !(-3..5).contains(&exponent);
    let unit = if scientific { 10_f64.powi(exponent) } else { 1.0 };
    let decimals = (-(step / unit).log10().floor()).max(0.0) as usize;
    move |v| {
        // A rounding error around zero is written as 0, without a sign.
        let v = if v.abs() < 1e-9 * step { 0.0 } else { v / unit };
        let number = minus(format!("{v:.decimals$}"));
        if scientific && v != 0.0 { format!("{number}×10^{{{}}}", minus(exponent.to_string())) } else { number }
    }
}

/// Replaces the hyphen of a number by the typographic minus sign.
fn minus(number: String) -> String {
    number.replace('-', "−")
}

fn log_ticks(low: f64, high: f64) -> (Vec<(f64, String)>, Vec<f64>) {
    let decades = (high / low).log10();
    let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let of_decade = |e: i32| (1..10).map(move |d| (d, e, f64::from(d) * 10_f64.powi(e)));
    let candidates: Vec<(i32, i32, f64)> = (from..=to)
        .flat_map(of_decade)
        .filter(|(_, _, v)| *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9))
        .collect();
    // Few decades: plain numbers at 1, 2, 5. Many: powers of ten, not more than fit.
    let every = (decades / MOST_TICKS).ceil().max(1.0) as i32;
    let numbered = |d: i32, e: i32| match decades {
        x if x <= 0.7 => [1, 2, 3, 5, 7].contains(&d),
        x if x <= 1.7 => [1, 2, 5].contains(&d),
        _ => d == 1 && e.rem_euclid(every) == 0,
    };
    let write = |d: i32, e: i32| match e {
        _ if decades > 1.7 => format!("10^{{{}}}", minus(e.to_string())),
        // 3 * 0.1 would be written as 0.30000000000000004: round to the digits of the decade.
        ..0 => format!("{:.*}", (-e) as usize, f64::from(d) * 10_f64.powi(e)),
        _ => format!("{}", f64::from(d) * 10_f64.powi(e)),
    };
    let major = candidates.iter().filter(|(d, e, _)| numbered(*d, *e)).map(|(d, e, v)| (*v, write(*d, *e))).collect();
    // With tens of decades the small ticks would run into each other.
    let small = |d: i32| every == 1 || d == 1;
    let minor = candidates.iter().filter(|(d, e, _)| !numbered(*d, *e) && small(*d));
    (major, minor.map(|(_, _, v)| *v).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, data: &[f64]) -> Vec<String> {
        Ruler::new(&axis, data.iter().copied()).unwrap().major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_the_numbers_that_a_person_would_choose() {
        assert_eq!(labels(Axis::linear("x"), &[0.0, 1.0]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Axis::whole("l"), &[0.0, 3.0]), ["0", "1", "2", "3"]);
        assert_eq!(labels(Axis::whole("l"), &[0.0, 14.0]), ["0", "2", "4", "6", "8", "10", "12", "14"]);
        assert_eq!(labels(Axis::log("y"), &[0.02, 300.0]), ["10^{−1}", "10^{0}", "10^{1}", "10^{2}"]);
        assert_eq!(labels(Axis::log("y"), &[0.03, 0.25]), ["0.05", "0.1", "0.2"]);
        assert_eq!(labels(Axis::linear("y"), &[-1e-6, 1e-6])[0], "−1.0×10^{−6}");
    }

    #[test]
    fn given_ticks_do_not_run_into_each_other() {
        let axis = Axis::linear("x").ticks_at(&[0.0, 0.02, 0.5, 0.97, 1.0]);
        assert_eq!(labels(axis, &[0.0, 1.0]), ["0", "0.5", "1"]);
        let two = Axis::linear("x").ticks_at(&[0.0, 0.02]);
        assert_eq!(labels(two, &[0.0, 1.0]), ["0", "0.02"]);
    }

    #[test]
    fn places_run_from_0_to_1() {
        let ruler = Ruler::new(&Axis::log("y").from_to(1.0, 100.0), std::iter::empty()).unwrap();
        assert!((ruler.place(10.0) - 0.5).abs() < 1e-15);
        assert!(!ruler.place(0.0).is_finite() && ruler.place(-1.0).is_nan());
        let down = Ruler::new(&Axis::linear("row").downwards(), [1.0, 3.0].into_iter()).unwrap();
        assert!(down.place(1.0) > down.place(3.0));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let error = Ruler::new(&Axis::log("*SNR*"), [0.0, -1.0].into_iter()).unwrap_err();
        assert!(error.to_string().contains("axis 'SNR': no positive number"), "{error}");
    }
}
