//! Parts of the rows of an inspected array or network, where an estimate may be missing.

use attnlab_lab::figure::Measured;
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::as_number;
use std::path::Path;

/// Returns the first refusal where all of so many are refused: those that can be fitted go on beside others that cannot.
pub(super) fn ensure_some_are_left(count: usize, refusals: Vec<Error>) -> Result<()> {
    let none_is_left = refusals.len() == count;
    refusals.into_iter().next().filter(|_| none_is_left).map_or(Ok(()), Err)
}

/// Returns the refusal of a file that is not what its hash in the settings says.
pub(super) fn changed(path: &Path) -> Error {
    let problem =
        "must be what it was when the settings were written; its hash differs. Choose another folder with --out";
    Error::Content { path: path.to_path_buf(), problem: problem.into() }
}

/// A part of a row; of the empty name, the whole row.
pub(crate) fn within<'a>(row: &'a Row, name: &str) -> Option<&'a Map<String, Value>> {
    match name {
        "" => Some(&row.data),
        _ => row.data.get(name)?.as_object(),
    }
}

/// A finite number of a part.
pub(super) fn number(data: &Map<String, Value>, name: &str) -> Option<f64> {
    data.get(name).and_then(as_number).filter(|x| x.is_finite())
}

/// A finite number with its interval from NAME_low to NAME_high, if both are finite.
pub(super) fn measured(data: &Map<String, Value>, name: &str) -> Option<Measured> {
    let end = |end: &str| number(data, &format!("{name}_{end}"));
    Some(Measured { value: number(data, name)?, interval: end("low").zip(end("high")) })
}

/// A finite number with its interval; nothing without one.
pub(super) fn bounded(data: &Map<String, Value>, name: &str) -> Option<Measured> {
    measured(data, name).filter(|m| m.interval.is_some())
}

/// The noise at which hypothesis (11) ends, as far above δ as its margin says; δ counts as 0 where none was found.
pub(super) fn limit_11(row: &Row) -> Option<f64> {
    let margin = within(row, "hypotheses")?.get("delta (11)")?.get("margin")?;
    Some(number(&row.data, "delta").unwrap_or(0.0) + as_number(margin)?)
}
