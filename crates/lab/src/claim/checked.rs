//! Section "Checked at" of a sheet.

use super::VerdictKind;
use attnlab_core::error::Error;
use itertools::Itertools;
use serde_json::{Map, Value};

/// One setting of the section "Checked at" of a sheet, and what the check must find there.
///
/// ```text
/// - `{ tokens = 400, delta = 0 }`: supported. Without noise the statement holds.
/// - `{ dim = 40 }`, beyond its hypotheses, 20 trials, seed 3: inconclusive
/// - each of `{ dim = [1, 2], law = ["ball", "gaussian"] }`, seeds 5 to 8: supported
/// - `{ dim = 1 }`, beyond its hypotheses, expected supported: refuted; `witness.theta = 0.69` ± 0.01
/// ```
///
/// A line has the parameters that are set (after "each of" every array is a list of values, of which each is set with
/// each of the others), options in any order, the verdict, entries of the report as `check --json` prints it, and words.
/// Unless the line says another, the verdict is also the one that the claim expects there.
/// [`SheetTest::assert_checked`](crate::sheet_test::SheetTest::assert_checked) holds the check to it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedAt {
    /// Line of the sheet.
    pub line: String,
    /// Parameters that are set.
    pub set: Map<String, Value>,
    /// Seed of the check.
    pub seed: u64,
    /// Number of trials; the claim's own when None.
    pub trials: Option<u64>,
    /// Flag: the claim is judged even if a hypothesis fails.
    pub beyond_hypotheses: bool,
    /// Verdict that the check must reach.
    pub verdict: VerdictKind,
    /// Verdict that the claim must expect.
    pub expected: VerdictKind,
    /// Entries that the report must have, numbers to within the tolerance.
    pub entries: Vec<(Value, f64)>,
}

impl CheckedAt {
    /// Reads the lines of a section.
    pub(super) fn read(section: &str) -> Result<Vec<CheckedAt>, String> {
        let lines = section.lines().filter(|line| !line.is_empty());
        let read = lines.map(|line| settings(line).map_err(|problem| format!("{line}: {problem}")));
        Ok(read.collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// Returns the settings of one line.
fn settings(line: &str) -> Result<Vec<CheckedAt>, Box<dyn std::error::Error>> {
    let form = || "must be \"- `{ name = value }`, option: verdict. Words\"".to_string();
    let entry = line.strip_prefix("- ").ok_or_else(form)?;
    let (every, entry) = entry.strip_prefix("each of ").map_or((false, entry), |entry| (true, entry));
    let (set, entry) = entry.strip_prefix('`').and_then(|entry| entry.split_once('`')).ok_or_else(form)?;
    let (options, report) = entry.split_once(": ").ok_or_else(form)?;
    let report = report.split_once(". ").map_or(report, |(report, _)| report);
    let mut parts = report.strip_suffix('.').unwrap_or(report).split("; ");
    let set = table(&format!("set = {set}"))?.remove("set");
    let Some(Value::Object(set)) = set else { return Err(form().into()) };
    let verdict = VerdictKind::parse(parts.next().unwrap_or_default())?;
    let mut setting = CheckedAt {
        line: line.to_string(),
        set: Map::new(),
        seed: 0,
        trials: None,
        beyond_hypotheses: false,
        verdict,
        expected: verdict,
        entries: parts.map(reported).collect::<Result<_, _>>()?,
    };
    let mut seeds = 0..=0;
    let mut options = options.split(", ");
    if options.next() != Some("") {
        return Err(form().into());
    }
    for option in options {
        let number =
            |digits: &str| digits.parse::<u64>().map_err(|_| Error::invalid(option, digits, "must be a whole number"));
        match *option.split(' ').collect::<Vec<_>>() {
            ["beyond", "its", "hypotheses"] => setting.beyond_hypotheses = true,
            [count, "trial" | "trials"] => setting.trials = Some(number(count)?),
            ["seed", seed] => seeds = number(seed)?..=number(seed)?,
            ["seeds", first, "to", last] => seeds = number(first)?..=number(last)?,
            ["expected", name] => setting.expected = VerdictKind::parse(name)?,
            _ => {
                let known = ["beyond its hypotheses", "20 trials", "seed 3", "seeds 5 to 8", "expected supported"];
                return Err(Error::unknown("option", option, known).into());
            }
        }
    }
    let sets = if every { combinations(&set) } else { vec![set] };
    let of_set = |set: Map<String, Value>| seeds.clone().map(move |seed| (set.clone(), seed));
    let settings = sets.into_iter().flat_map(of_set).map(|(set, seed)| CheckedAt { set, seed, ..setting.clone() });
    match settings.collect::<Vec<_>>() {
        none if none.is_empty() => Err("must have a value in every array, and the first seed first".into()),
        settings => Ok(settings),
    }
}

/// Reads an entry "`path.of.keys = value`" of the report, or one with its tolerance, "`path.of.keys = 1.5` ± 0.1".
fn reported(text: &str) -> Result<(Value, f64), String> {
    let form = || format!("{text}: must be \"`name = value`\" or \"`name = number` ± tolerance\"");
    let (entry, rest) = text.strip_prefix('`').and_then(|text| text.split_once('`')).ok_or_else(form)?;
    let tolerance = match rest.strip_prefix(" ± ") {
        Some(tolerance) => tolerance.parse().map_err(|_| form())?,
        None if rest.is_empty() => 0.0,
        None => return Err(form()),
    };
    Ok((Value::Object(table(entry)?), tolerance))
}

fn table(text: &str) -> Result<Map<String, Value>, String> {
    toml::from_str(text).map_err(|error| error.message().to_string())
}

/// Returns every choice of one value from each array.
fn combinations(set: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let choices = set.iter().map(|(name, values)| {
        let values = values.as_array().map_or(std::slice::from_ref(values), Vec::as_slice);
        values.iter().map(move |value| (name.clone(), value.clone()))
    });
    choices.multi_cartesian_product().map(Map::from_iter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_gives_its_settings() {
        let line = "- `{ dim = 1 }`, beyond its hypotheses, 20 trials, seed 3, expected supported: refuted; \
                    `witness.theta = 0.69` ± 0.01; `failures = 2`. In words. Twice.";
        let [setting] = &CheckedAt::read(line).unwrap()[..] else { panic!("one setting") };
        assert_eq!((&setting.set, setting.seed, setting.trials), (json!({"dim": 1}).as_object().unwrap(), 3, Some(20)));
        assert!(setting.beyond_hypotheses);
        assert_eq!((setting.verdict, setting.expected), (VerdictKind::Refuted, VerdictKind::Supported));
        assert_eq!(setting.entries, [(json!({"witness": {"theta": 0.69}}), 0.01), (json!({"failures": 2}), 0.0)]);
        let settings =
            CheckedAt::read("- `{}`: vacuous\n- each of `{ a = [1, 2], b = 3, c = [4, 5] }`, seeds 5 to 8: supported.");
        let settings = settings.unwrap();
        assert_eq!(settings.len(), 1 + 2 * 2 * 4);
        assert_eq!((&settings[16].set, settings[16].seed), (json!({"a": 2, "b": 3, "c": 5}).as_object().unwrap(), 8));
    }

    #[test]
    fn what_is_wrong_in_a_line_is_named() {
        for (line, problem) in [
            ("`{}`: supported", "must be \"- `{ name = value }`, option: verdict"),
            ("- {}: supported", "must be \"- `{ name = value }`, option: verdict"),
            ("- `{}` 3 trials: supported", "must be \"- `{ name = value }`, option: verdict"),
            ("- `3`: supported", "must be \"- `{ name = value }`, option: verdict"),
            ("- `{ a = 1, a = 2 }`: supported", "duplicate key"),
            ("- `{}`: holds", "unknown verdict 'holds'"),
            ("- `{}`, 3 tosses: supported", "unknown option '3 tosses'"),
            ("- `{}`, seeds 5 to 4: supported", "the first seed first"),
            ("- each of `{ a = [] }`: supported", "must have a value in every array"),
            ("- `{}`, few trials: supported", "few trials = few: must be a whole number"),
            ("- `{}`: supported; failures = 2", "must be \"`name = value`\" or"),
            ("- `{}`: supported; `failures = 2` ± some", "must be \"`name = value`\" or"),
        ] {
            let error = CheckedAt::read(line).unwrap_err();
            assert!(error.starts_with(&format!("{line}: ")) && error.contains(problem), "{error}");
        }
    }
}
