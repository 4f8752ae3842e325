//! Keys of a sweep file. The parser refuses every other key, and `--print-schema` prints these.

use attnlab_core::error::{Error, Result};
use serde_json::{Map, Value};

/// A key of a sweep file.
#[derive(Debug)]
pub struct Key {
    /// Table of the key: "" for the top level, "axes.dim" for the range of an axis.
    pub table: &'static str,
    /// Name of the key; `NAME` stands for any parameter.
    pub name: &'static str,
    /// Example in TOML.
    pub example: &'static str,
    /// Flag: the printed example is commented out, because it excludes another.
    pub instead: bool,
    /// Meaning, range and default.
    pub doc: &'static str,
}

const fn key(table: &'static str, name: &'static str, example: &'static str, doc: &'static str) -> Key {
    Key { table, name, example, instead: false, doc }
}

const fn instead(table: &'static str, name: &'static str, example: &'static str, doc: &'static str) -> Key {
    Key { instead: true, ..key(table, name, example, doc) }
}

/// Placeholder for the name of a parameter, or of an axis that only expressions use.
const ANY: &str = "NAME";

/// Every key, in the order in which they are printed.
pub const KEYS: &[Key] = &[
    key(
        "",
        "claim",
        "claim = \"aot.theorem1_bounded\"",
        "The claim to sweep, as `attnlab list` shows it. Either this or `experiment` is required.",
    ),
    instead(
        "",
        "experiment",
        "experiment = \"theorem1_horizon\"",
        "Or the experiment, as `attnlab list experiments` shows it; every cell is a run of it with \
         other settings.",
    ),
    key(
        "",
        "trials",
        "trials = 50",
        "Trials per cell, 1 to 100000. Without it: the claim's own number for the cell's \
         parameters, or the experiment's. Under [stop] it is the most that a cell may take.",
    ),
    key("", "seed", "seed = 5", "Seed of every random stream, a whole number; default 0."),
    key("", "level", "level = 0.95", "Confidence level of each cell's interval, in (0, 1); default 0.95. Claims only."),
    key(
        "",
        "beyond_hypotheses",
        "beyond_hypotheses = \"mark\"",
        "What to do with cells in which a hypothesis of the claim fails: \"mark\" (the default) \
         simulates them and marks them out-of-scope, \"judge\" judges them all the same, \"skip\" \
         spends no trials on them. Claims only.",
    ),
    key(
        "axes",
        ANY,
        "tokens = [200, 400]",
        "Every combination of the axes is a cell; the last axis varies fastest. A list of values \
         (for a setting of an experiment that is itself a list, each value alone or as a list).",
    ),
    key("axes", ANY, "c = [0.03, 0.125, 0.5]", "An axis may also be a name that only expressions use."),
    key(
        "axes",
        ANY,
        "delta = \"c * sqrt(log(tokens) / dim)\"",
        "A text is an expression in other axes, in what [set] sets and in fixed defaults. It has \
         numbers, names, pi, + - * / ^, brackets, sqrt log (natural) ln log2 log10 exp abs floor \
         ceil round min max.",
    ),
    key(
        "axes.dim",
        "from",
        "from = 40",
        "A range: the first number. On one line: dim = { from = 40, to = 160, steps = 3 }.",
    ),
    key("axes.dim", "to", "to = 160", "The last number, included in the values."),
    key("axes.dim", "steps", "steps = 3", "Number of values, at least 2."),
    key(
        "axes.dim",
        "scale",
        "scale = \"log\"",
        "\"linear\" (equal differences, the default) or \"log\" (equal ratios; both ends > 0).",
    ),
    key(
        "axes.dim",
        "multiple_of",
        "multiple_of = 1",
        "Whole number to whose nearest multiple each value is rounded; default: no rounding.",
    ),
    key(
        "set",
        ANY,
        "clusters = 2",
        "Parameters (or settings) that are the same in every cell. What neither [axes] nor [set] \
         names has its default.",
    ),
    key(
        "stop",
        "width",
        "width = 0.2",
        "Lets a cell stop before its `trials` are done, once the interval of its probability is no \
         wider than this, in (0, 1). Only for claims whose trials hold or fail. The interval is \
         then a confidence sequence, which stays right under such stopping; it is wider than one \
         for a number of trials fixed in advance, which is what cells have without [stop].",
    ),
    instead(
        "stop",
        "until",
        "until = \"decided\"",
        "Or: lets a cell stop once that interval lies on one side of what is promised, so that the cell is \
         supported or refuted; a promise about every trial can only be refuted early.",
    ),
    key("stop", "every", "every = 10", "A cell may stop after this many trials and after every multiple; default 10."),
    key(
        "stop",
        "rule",
        "rule = \"beta-binomial\"",
        "Confidence sequence; \"beta-binomial\" (the default) is the only one.",
    ),
];

/// Refuses keys of `table` that are not in [`KEYS`]; "axes.dim" stands for the range of any axis.
///
/// # Errors
/// [`Error::Unknown`] with the nearest known keys.
pub fn refuse_unknown(table: &str, given: &Map<String, Value>) -> Result<()> {
    let mut known: Vec<&str> = KEYS.iter().filter(|k| k.table == table).map(|k| k.name).collect();
    if table.is_empty() {
        known.extend(["axes", "set", "stop"]);
    }
    match given.keys().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(Error::unknown("key", unknown, known)),
        None => Ok(()),
    }
}

/// Returns a sweep file that can be run, with every key and its meaning.
pub fn schema() -> String {
    let mut text = String::from(
        "# A sweep file with every key. Other keys are refused.\n\
         #   attnlab sweep FILE --out DIR\n",
    );
    let mut table = "";
    for key in KEYS {
        if key.table != table {
            table = key.table;
            text.push_str(&format!("\n[{table}]\n"));
        } else {
            text.push('\n');
        }
        for line in attnlab_core::format::wrapped(key.doc, 0, 96) {
            text.push_str(&format!("# {line}\n"));
        }
        let comment = if key.instead { "# " } else { "" };
        text.push_str(&format!("{comment}{}\n", key.example));
    }
    text
}
