//! The error type of the library. Every message names the wrong value and states what to write instead.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Characters of the longest number that a message shows with all its digits: -2.2250738585072014e-308.
const LONGEST_NUMBER: usize = 24;

/// Failure caused by a user's input or by the machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter outside its range, or of the wrong type.
    #[error("{name} = {value}: {allowed}")]
    Invalid {
        /// The parameter as the user writes it.
        name: String,
        /// The value that was given.
        value: String,
        /// The requirement, why it is there, and what to write instead.
        allowed: String,
    },
    /// Required parameters that were not set.
    #[error("{} required: add {}", verb(names), set.join(" "))]
    Missing {
        /// Names of the parameters.
        names: Vec<String>,
        /// Options to add to the command, such as `--set tokens=N`.
        set: Vec<String>,
    },
    /// Arrays whose shapes do not fit together.
    #[error("{name} has shape {found}, expected {expected}")]
    Shape {
        /// The array as the user knows it.
        name: String,
        /// Shape that was found.
        found: String,
        /// The shape it must have, and why.
        expected: String,
    },
    /// A name that is in no registry.
    #[error("unknown {what} '{name}'{}", suggest(name, known, see))]
    Unknown {
        /// Kind of the name: "claim", "parameter", "formula", ...
        what: &'static str,
        /// The name that was given.
        name: String,
        /// Known names, each once.
        known: Vec<String>,
        /// Place where the known names are listed, used when they are too many for a message; may be empty.
        see: &'static str,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}. {advice}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error reported by the operating system.
        source: std::io::Error,
        /// Advice on how to continue.
        advice: String,
    },
    /// A file with invalid content.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The defect and its place.
        problem: String,
    },
    /// Work that does not fit into memory, refused before it begins.
    #[error(
        "{work} needs {needed} of memory and {available} is available: write smaller parameters, \
         or use a larger machine"
    )]
    Memory {
        /// The work that was asked for.
        work: String,
        /// Memory that it needs at its peak.
        needed: String,
        /// Memory that is available.
        available: String,
    },
    /// Work that would take more time than anybody waits, refused before it begins.
    #[error("a check of {work} would take {needed} on one core: write smaller parameters, or fewer trials")]
    Time {
        /// The work that was asked for.
        work: String,
        /// Estimated processor time.
        needed: String,
    },
    /// Work that the user stopped.
    #[error("stopped after {done} of {all} {what}. {}", go_on(*kept))]
    Stopped {
        /// Number of finished pieces, those of earlier runs included.
        done: u64,
        /// Number of pieces of the whole work.
        all: u64,
        /// Name of the pieces: "trials", "steps".
        what: &'static str,
        /// Flag: the finished pieces are stored, so that the same command continues after them.
        kept: bool,
    },
    /// A missing or failing GPU.
    #[error("{0}")]
    Gpu(String),
    /// A computation whose numbers grow without bound.
    #[error("{0}")]
    Diverged(String),
    /// An iteration that did not reach its accuracy within its budget.
    #[error("{0}")]
    NotConverged(String),
    /// A quantity that has no value at these parameters.
    #[error("{0}")]
    Undefined(String),
    /// Two independent computations of the same thing that disagree beyond their error bounds.
    #[error("{0}")]
    Contradiction(String),
    /// A result that the format of a file cannot hold.
    #[error("{what} cannot be written: {problem}")]
    Unwritable {
        /// Name of the result and its format.
        what: &'static str,
        /// Error reported by the writer of that format.
        problem: String,
    },
}

/// Result of a function that can fail on a user's input.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Builds [`Error::Invalid`]: `name` and `value` of the parameter, and the requirement `allowed`.
    pub fn invalid(name: impl Into<String>, value: impl std::fmt::Display, allowed: impl Into<String>) -> Self {
        let value = match value.to_string() {
            // An empty value is shown as "", so that the message still shows a value.
            empty if empty.is_empty() => "\"\"".to_string(),
            // 1e300 and 1e-300 come with all their zeros.
            long if long.len() > LONGEST_NUMBER => long.parse::<f64>().map_or(long, |x| format!("{x:e}")),
            value => value,
        };
        Error::Invalid { name: name.into(), value, allowed: allowed.into() }
    }

    /// Builds [`Error::Shape`]: name of the array, shape `found`, and the shape `expected`.
    pub fn shape(name: impl Into<String>, found: impl std::fmt::Debug, expected: impl Into<String>) -> Self {
        Error::Shape { name: name.into(), found: format!("{found:?}"), expected: expected.into() }
    }

    /// Builds [`Error::Unknown`]; its message suggests the nearest of the `known` names.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = HashSet::new();
        let known = known.into_iter().filter(|known| names.insert(*known)).map(str::to_string).collect();
        Error::Unknown { what, name: name.to_string(), known, see: "" }
    }

    /// Adds the `place` where the known names are listed to [`Error::Unknown`]. The message refers to it
    /// when the names are too many to print and none is close. Other errors are returned unchanged.
    pub fn listed_by(mut self, place: &'static str) -> Self {
        if let Error::Unknown { see, .. } = &mut self {
            *see = place;
        }
        self
    }

    /// Builds [`Error::Diverged`] with this message.
    pub fn diverged(message: impl Into<String>) -> Self {
        Error::Diverged(message.into())
    }

    /// Builds [`Error::NotConverged`] with this message.
    pub fn not_converged(message: impl Into<String>) -> Self {
        Error::NotConverged(message.into())
    }

    /// Builds [`Error::Undefined`] with this message.
    pub fn undefined(message: impl Into<String>) -> Self {
        Error::Undefined(message.into())
    }

    /// Builds [`Error::Contradiction`] with this message.
    pub fn contradiction(message: impl Into<String>) -> Self {
        Error::Contradiction(message.into())
    }

    /// Builds [`Error::Unwritable`]: `what` names result and format, `problem` is the error of the writer.
    pub fn unwritable(what: &'static str, problem: impl std::fmt::Display) -> Self {
        Error::Unwritable { what, problem: problem.to_string() }
    }

    /// Returns `true` for a failed computation, as opposed to a wrong input or file. The command exits
    /// with status 3 on such an error.
    pub fn is_numerical(&self) -> bool {
        matches!(self, Error::Diverged(_) | Error::NotConverged(_) | Error::Undefined(_) | Error::Contradiction(_))
    }

    /// Prefixes the message of a numerical error with the work during which it arose. Other errors are
    /// returned unchanged.
    ///
    /// ```
    /// use attnlab_core::Error;
    /// let error = Error::not_converged("the flow stays at 0").during("toy_flow (eta = 0.3)");
    /// assert_eq!(error.to_string(), "toy_flow (eta = 0.3): the flow stays at 0");
    /// ```
    pub fn during(mut self, work: impl std::fmt::Display) -> Self {
        if let Error::Diverged(message)
        | Error::NotConverged(message)
        | Error::Undefined(message)
        | Error::Contradiction(message) = &mut self
        {
            *message = format!("{work}: {message}");
        }
        self
    }

    /// Builds [`Error::Io`]: an input/output error at `path`, with advice on how to continue.
    pub fn io(path: &Path, source: std::io::Error, advice: impl Into<String>) -> Self {
        Error::Io { path: path.to_path_buf(), source, advice: advice.into() }
    }
}

/// Accepts a parameter whose `value` meets the requirement `allowed`, which `holds` tells.
///
/// # Errors
/// [`Error::Invalid`] where it does not hold.
///
/// ```
/// use attnlab_core::error::require;
/// let tau = 1.5;
/// let refused = require(tau > 0.0 && tau <= 1.0, "tau", tau, "must be a number in (0, 1]");
/// assert_eq!(refused.unwrap_err().to_string(), "tau = 1.5: must be a number in (0, 1]");
/// ```
pub fn require(
    holds: bool,
    name: impl Into<String>,
    value: impl std::fmt::Display,
    allowed: impl Into<String>,
) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::invalid(name, value, allowed)) }
}

/// Accepts an array that `fits` the others: `found` is its shape, and `expected` the shape it must have.
///
/// # Errors
/// [`Error::Shape`] where it does not fit.
pub fn require_shape(
    fits: bool,
    name: impl Into<String>,
    found: impl std::fmt::Debug,
    expected: impl Into<String>,
) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::shape(name, found, expected)) }
}

/// Accepts a finite number > 0.
///
/// # Errors
/// [`Error::Invalid`] for every other value.
pub fn positive(name: &str, value: f64) -> Result<()> {
    require(value > 0.0 && value.is_finite(), name, value, "must be a finite number > 0")
}

/// Accepts a whole number >= `least`.
///
/// # Errors
/// [`Error::Invalid`] for every other value.
pub fn at_least(name: &str, value: usize, least: usize) -> Result<()> {
    require(value >= least, name, value, format!("must be a whole number >= {least}"))
}

/// Accepts a finite number >= 0.
///
/// # Errors
/// [`Error::Invalid`] for every other value.
pub fn non_negative(name: &str, value: f64) -> Result<()> {
    require(value >= 0.0 && value.is_finite(), name, value, "must be a finite number >= 0")
}

/// Returns the advice after an interruption.
fn go_on(kept: bool) -> &'static str {
    match kept {
        true => "What is done is kept: give the same command again, it goes on where it stopped",
        false => "Nothing is kept: write --trials N for a shorter check, or sweep it to keep its rows",
    }
}

/// Joins names and verb: "tokens is", "tokens and dim are".
fn verb(names: &[String]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

/// Largest number of names that a message lists: the length of the longest lists of settings and of
/// experiments. They fill two or three lines of a terminal; the list of all claims would fill dozens.
const FEW: usize = 30;

/// Suggests what to write instead of `name`: the names close to it, otherwise all known names, and if
/// those are too many, the place where they are listed.
fn suggest(name: &str, known: &[String], see: &str) -> String {
    let near = nearest(name, known.iter().map(String::as_str));
    match known {
        _ if !near.is_empty() => format!("; did you mean {}?", near.join(", ")),
        [] => String::new(),
        [only] => format!("; write {only}"),
        few if few.len() <= FEW => format!("; write one of {}", few.join(", ")),
        many if see.is_empty() => format!("; there are {}, such as {}", many.len(), many[..3].join(", ")),
        _ => format!("; see {see}"),
    }
}

/// Returns at most three of the `known` names closest to `name`: names that contain it first, the others
/// by edit distance.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .map(|k| {
            // A single letter occurs in too many names to be a hint.
            let contained = name.len() > 1 && k.contains(name);
            (if contained { 0 } else { edit_distance(name, k) }, k)
        })
        // A name at more than half its length in edits is not similar.
        .filter(|(distance, k)| *distance <= name.len().max(k.len()) / 2)
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, k)| k.to_string()).collect()
}

/// Computes the Levenshtein distance with the two-row recursion.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_to_write_instead() {
        let e = Error::invalid("delta", -1.0, "must be >= 0");
        assert_eq!(e.to_string(), "delta = -1: must be >= 0");
        let e = Error::unknown("claim", "aot.theorm1", ["aot.theorem1", "aot.lemma1", "joma.x"]);
        assert_eq!(e.to_string(), "unknown claim 'aot.theorm1'; did you mean aot.theorem1, aot.lemma1?");
    }

    #[test]
    fn every_unknown_name_is_answered_with_names_to_write() {
        let names = |count| (0..count).map(|i| format!("name{i:03}")).collect::<Vec<_>>();
        let text = |known: &[String]| {
            let known = known.iter().map(String::as_str);
            Error::unknown("backend", "x", known).listed_by("`attnlab list`").to_string()
        };
        assert_eq!(text(&[]), "unknown backend 'x'");
        assert_eq!(text(&names(1)), "unknown backend 'x'; write name000");
        assert_eq!(text(&names(3)), "unknown backend 'x'; write one of name000, name001, name002");
        assert!(text(&names(FEW)).ends_with("name028, name029"));
        assert_eq!(text(&names(FEW + 1)), "unknown backend 'x'; see `attnlab list`");
        let many = names(FEW + 1);
        let many = Error::unknown("parameter", "x", many.iter().map(String::as_str));
        assert_eq!(many.to_string(), "unknown parameter 'x'; there are 31, such as name000, name001, name002");
        // Of many claims that share a parameter, its name is said once.
        let twice = Error::unknown("parameter", "token", ["tokens", "tokens"]);
        assert_eq!(twice.to_string(), "unknown parameter 'token'; did you mean tokens?");
        let empty = Error::invalid("trials", "", "must be a whole number >= 1").to_string();
        assert_eq!(empty, "trials = \"\": must be a whole number >= 1");
        for (x, shown) in [(1e300, "1e300"), (5e-324, "5e-324"), (-1.25e-300, "-1.25e-300")] {
            assert_eq!(Error::invalid("tau", x, "must be").to_string(), format!("tau = {shown}: must be"));
        }
    }
}
