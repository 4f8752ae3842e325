//! The one error type of the library: every message names the wrong value and what to write instead.

use std::path::{Path, PathBuf};

/// What can go wrong because of what a user gave us.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter outside its range, or of the wrong type.
    #[error("{name} = {value} is not allowed: {allowed}")]
    Invalid {
        /// The parameter as the user writes it.
        name: String,
        /// The value that was given.
        value: String,
        /// What to write instead.
        allowed: String,
    },
    /// Arrays whose shapes do not fit together.
    #[error("{name} has shape {found}, expected {expected}")]
    Shape {
        /// The array as the user knows it.
        name: String,
        /// Its shape.
        found: String,
        /// The shape it must have, and why.
        expected: String,
    },
    /// A name that is in no registry.
    #[error("unknown {what} '{name}'{}", suggest(nearest))]
    Unknown {
        /// "claim", "parameter", "formula", ...
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The closest known names, best first.
        nearest: Vec<String>,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}. {advice}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// How to go on.
        advice: String,
    },
    /// A file whose content is not what it should be.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong in it, and where.
        problem: String,
    },
    /// Work that does not fit into memory, refused before it begins.
    #[error(
        "{work} needs {needed} of memory and {available} is available: write smaller parameters, \
         or use a larger machine"
    )]
    Memory {
        /// What was asked for.
        work: String,
        /// What it needs at its peak.
        needed: String,
        /// What there is.
        available: String,
    },
    /// Work that the user stopped; what is done is kept.
    #[error(
        "stopped after {done} of {all} trials. Their rows are kept: give the same command again, it \
         goes on where it stopped"
    )]
    Stopped {
        /// Trials that are done, those of earlier runs included.
        done: u64,
        /// Trials of the whole work.
        all: u64,
    },
    /// A GPU that is not there, or failed.
    #[error("{0}")]
    Gpu(String),
    /// A computation that cannot give an accurate answer.
    #[error("{0}")]
    Numerical(String),
}

/// The result of everything in this crate that a user's input can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A value that is not allowed, with what is.
    pub fn invalid(
        name: impl Into<String>,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Error::Invalid {
            name: name.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }

    /// A shape that does not fit, with the one that would.
    pub fn shape(
        name: impl Into<String>,
        found: impl std::fmt::Debug,
        expected: impl Into<String>,
    ) -> Self {
        Error::Shape {
            name: name.into(),
            found: format!("{found:?}"),
            expected: expected.into(),
        }
    }

    /// An unknown name, with the nearest of the `known` ones.
    pub fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Error::Unknown {
            what,
            name: name.to_string(),
            nearest: nearest(name, known),
        }
    }

    /// An input/output error at `path`, with advice on how to go on.
    pub fn io(path: &Path, source: std::io::Error, advice: impl Into<String>) -> Self {
        Error::Io {
            path: path.to_path_buf(),
            source,
            advice: advice.into(),
        }
    }
}

/// Refuses anything but a finite number > 0.
pub(crate) fn positive(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::invalid(name, value, "a finite number > 0"))
}

/// Refuses anything but a finite number >= 0.
pub(crate) fn non_negative(name: &str, value: f64) -> Result<()> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::invalid(name, value, "a finite number >= 0"))
}

fn suggest(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

/// The up to three of `known` closest to `name`: names that contain it first, then by edit distance.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .map(|k| {
            let contained = !name.is_empty() && k.contains(name);
            (if contained { 0 } else { edit_distance(name, k) }, k)
        })
        // Farther than half the name is noise, not a suggestion.
        .filter(|(distance, k)| *distance <= name.len().max(k.len()) / 2)
        .collect();
    scored.sort();
    scored
        .into_iter()
        .take(3)
        .map(|(_, k)| k.to_string())
        .collect()
}

/// Levenshtein distance by the usual two-row recursion.
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
        let e = Error::invalid("delta", -1.0, "a number >= 0");
        assert_eq!(e.to_string(), "delta = -1 is not allowed: a number >= 0");
        let e = Error::unknown(
            "claim",
            "aot.theorm1",
            ["aot.theorem1", "aot.lemma1", "joma.x"],
        );
        assert_eq!(
            e.to_string(),
            "unknown claim 'aot.theorm1'; did you mean aot.theorem1, aot.lemma1?"
        );
    }
}
