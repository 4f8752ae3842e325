//! Levels of significance of the verdicts of one page.

use super::Checked;
use crate::claim::VerdictKind;
use crate::run::CheckReport;
use attnlab_core::format::number;
use attnlab_core::stats::holm;

/// Level of significance of a verdict.
pub enum Level {
    /// p-value of the verdict, raw and adjusted for all sampled verdicts of the page (Holm).
    Sampled { raw: f64, adjusted: f64 },
    /// Reason why no level applies.
    None(&'static str),
}

/// Computes the level of every verdict.
pub fn levels(checks: &[Checked]) -> Vec<Level> {
    let raw: Vec<Option<f64>> = checks.iter().map(|c| c.report.p_value).collect();
    let mut adjusted = holm(&raw.iter().copied().flatten().collect::<Vec<_>>()).into_iter();
    let level = |(raw, check): (&Option<f64>, &Checked)| match raw.zip(raw.and_then(|_| adjusted.next())) {
        Some((raw, adjusted)) => Level::Sampled { raw, adjusted },
        None => Level::None(why_none(&check.report)),
    };
    raw.iter().zip(checks).map(level).collect()
}

fn why_none(check: &CheckReport) -> &'static str {
    match check.verdict {
        VerdictKind::Supported | VerdictKind::Refuted if check.estimate.level >= 1.0 => "computed",
        VerdictKind::Supported | VerdictKind::Refuted if !check.looks.is_empty() => "until decided",
        VerdictKind::Supported => "no trial failed",
        VerdictKind::Refuted => "counter-example",
        _ => "–",
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Level::Sampled { raw, adjusted } => write!(f, "{}, adjusted by Holm {}", short(*raw), short(*adjusted)),
            Level::None(why) => f.write_str(why),
        }
    }
}

/// Formats a level with two digits.
fn short(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if x < 1e-3 => format!("{x:.0e}").replace('-', "−"),
        x if x < 0.0995 => format!("{x:.3}"),
        x => format!("{x:.2}"),
    }
}

/// Formats the estimate with its interval and level.
pub fn estimate(check: &CheckReport) -> String {
    let e = &check.estimate;
    if check.informative == 0 && e.level < 1.0 {
        return "none: no trial was informative".into();
    }
    let how = if e.level == 1.0 { "computed".to_string() } else { format!("{} %", number(100.0 * e.level)) };
    let (value, low, high) = (number(e.value), number(e.low), number(e.high));
    format!("{value} <small class=\"number\">[{low}, {high}] {how}</small>")
}
