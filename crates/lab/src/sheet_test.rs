//! Numbers and verdicts in sheets, held to those that the program computes, and experiments that must be reproducible: for
//! the tests of a package.
//!
//! ```should_panic
//! use attnlab_lab::catalogue::Room;
//! use attnlab_lab::sheet_test::{SheetTest, setting};
//! use attnlab_lab::toy;
//! use serde_json::json;
//!
//! let claim = SheetTest::new(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()])).claim("toy.fair");
//! let report = claim.check(json!({ "heads": 0.6 }), Some(400));
//! let phrases = [format!("at p = {}", setting(&report, "heads"))];
//! // Panics here, since the sheet of the coin prints no numbers:
//! // "sheets/toy.fair.md: at p = 0.6 is not in".
//! claim.assert_printed(&phrases);
//! ```

use crate::catalogue::{Catalogue, Room};
use crate::claim::{CheckedAt, Claim, Outcome, Params, Sheet, Witness};
use crate::experiment::{self, Experiment, RunOptions};
use crate::figure::{self, Figure};
use crate::report::{Found, latest, restore};
use crate::run::check::outcomes;
use crate::run::{CheckOptions, CheckReport, MutantReport, Row, Silent, check, mutant, mutants, store};
use rayon::ThreadPoolBuilder;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

/// Largest number of claims that are checked at the same time. Their trials share all cores anyway.
const MAX_CLAIMS_AT_ONCE: usize = 4;

/// The sheets, claims and closed forms of one room, for tests: every method panics where production code
/// would return an error.
pub struct SheetTest {
    catalogue: Catalogue,
}

impl SheetTest {
    /// A test of the sheets of `room`.
    pub fn new(room: Room) -> Self {
        SheetTest { catalogue: Catalogue::new().with(room) }
    }

    /// Returns the claim with this id.
    ///
    /// # Panics
    /// When the room has none.
    pub fn claim(&self, id: &str) -> ClaimTest {
        ClaimTest(self.catalogue.claim(id).unwrap_or_else(|error| panic!("{error}")).clone())
    }

    /// Checks every claim at the settings in the section [Checked at](CheckedAt) of its sheet, several claims at a time.
    ///
    /// # Panics
    /// Names every line that its check contradicts, and of each sheet the first line that is wrong.
    pub fn assert_checked(&self) {
        assert_each(self.catalogue.claims(), |claim| match claim.sheet().checked() {
            Ok(settings) => settings.iter().filter_map(|setting| contradiction(claim, setting)).collect(),
            Err(error) => vec![error.to_string()],
        });
    }

    /// Requires that every mutant of every claim is refuted under each of `seeds` seeds, several claims at a time.
    ///
    /// # Panics
    /// Names every mutant that is not refuted.
    pub fn assert_mutants_fall(&self, seeds: u64) {
        assert_each(self.catalogue.claims(), |claim| {
            let reports = mutants(claim, &CheckOptions::default(), seeds, &Silent);
            let reports = reports.unwrap_or_else(|error| panic!("mutants of {}: {error}", claim.sheet().id));
            let standing = reports.iter().filter(|report| !report.killed());
            standing.map(|report| format!("{}, mutant {}: {:?}", report.claim, report.mutant, report.first)).collect()
        });
    }

    /// Evaluates a closed form that is one number; `set` is a JSON object.
    ///
    /// # Panics
    /// When the room has no such formula, `set` is no object, or the value is an error or no number.
    pub fn formula(&self, id: &str, set: Value) -> f64 {
        let evaluation = self.catalogue.formula(id).and_then(|formula| formula.evaluate(&object(set)));
        let evaluation = evaluation.unwrap_or_else(|error| panic!("eval {id}: {error}"));
        real(&evaluation.value, id)
    }
}

/// A claim with its sheet, for tests: every method panics where production code would return an error.
pub struct ClaimTest(Arc<dyn Claim>);

impl ClaimTest {
    fn id(&self) -> &'static str {
        &self.0.sheet().id
    }

    /// Requires every phrase in the sections Witness, Range and Holds of the sheet. A phrase is a number as
    /// the sheet writes it, best with the words beside it. In the sheet `.5` equals `0.5` and `−` equals
    /// `-`; a number must be found whole: `0.81` is not found in `0.815`, in `10.81` or in `0.81e3`.
    ///
    /// # Panics
    /// When a phrase is not in the sheet.
    pub fn assert_printed(&self, phrases: &[String]) {
        let Sheet { witness, range, holds, .. } = self.0.sheet();
        let texts: Vec<&str> = [witness, range, holds].into_iter().flatten().map(String::as_str).collect();
        let text = normalised(&texts.join("\n"));
        for phrase in phrases {
            let printed = contains_whole(&text, &normalised(phrase));
            assert!(printed, "sheets/{}.md: {phrase} is not in\n{text}", self.id());
        }
    }

    /// Checks the claim under seed 0, beyond its hypotheses too; `set` is a JSON object, and `trials` None
    /// stands for the claim's own number.
    ///
    /// # Panics
    /// When `set` is no object, or the check returns an error.
    pub fn check(&self, set: Value, trials: Option<u64>) -> CheckReport {
        let options = CheckOptions { trials, beyond_hypotheses: true, ..CheckOptions::default() };
        let report = check(&*self.0, &object(set), &options, &Silent);
        report.unwrap_or_else(|error| panic!("check {}: {error}", self.id()))
    }

    /// Returns the outcomes of the draws behind [`check`](ClaimTest::check), the first draw first.
    ///
    /// # Panics
    /// As [`check`](ClaimTest::check).
    pub fn draws(&self, set: Value, trials: Option<u64>) -> Vec<Outcome> {
        let claim = &*self.0;
        let params = Params::resolve(&claim.schema(), &object(set));
        let drawn = params.and_then(|params| {
            claim.validate(&params)?;
            let trials = trials.unwrap_or_else(|| claim.default_trials(&params));
            outcomes(claim, &params, &CheckOptions::default(), 0..trials, &Silent)
        });
        drawn.unwrap_or_else(|error| panic!("check {}: {error}", self.id()))
    }

    /// Checks a mutant of the claim under seed 0, at its own parameters and number of trials.
    ///
    /// # Panics
    /// When the claim has no such mutant, or the check returns an error.
    pub fn check_mutant(&self, name: &str) -> MutantReport {
        let (id, mutants) = (self.id(), self.0.mutants());
        let named = mutants.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("{id} has no mutant {name}"));
        let report = mutant(id, named, &CheckOptions::default(), 1, &Silent);
        report.unwrap_or_else(|error| panic!("mutant {name} of {id}: {error}"))
    }
}

/// Runs an experiment on 1 and on 2 threads, each time into a folder of its own in `out`, and requires that rows and
/// figures are the same, and that there are no figures without rows. Returns rows and figures.
///
/// # Panics
/// Names the experiment and what is not so, or the error of a run.
pub fn assert_reproducible(experiment: &dyn Experiment, seed: u64, out: &Path) -> (Vec<Row>, Vec<Figure>) {
    let name = experiment.name();
    let options = RunOptions { seed, ..RunOptions::default() };
    let [(rows, figures), (other_rows, other_figures)] = [1, 2].map(|threads| {
        let folder = out.join(threads.to_string());
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let run = pool.install(|| experiment::run(experiment, &folder, &options, &Silent));
        let rows = run.unwrap_or_else(|error| panic!("{name}: {error}")).rows;
        let figures = experiment.figures(&rows).unwrap_or_else(|error| panic!("{name}: {error}"));
        (rows, figures)
    });
    assert!(rows == other_rows, "{name}: rows of 1 and 2 threads differ");
    let text = |figure: &Figure| figure::svg(figure).unwrap() + &figure::to_csv(figure).unwrap();
    assert!(figures.iter().map(text).eq(other_figures.iter().map(text)), "{name}: figures differ");
    assert!(experiment.figures(&[]).is_err(), "{name}: figures without rows");
    (rows, figures)
}

/// Requires that `problems` finds none in any claim. The settings of one claim are checked one after another, so that
/// no more large trials run at the same time than there are claims.
fn assert_each<'a>(
    claims: impl Iterator<Item = &'a Arc<dyn Claim>> + Send,
    problems: impl Fn(&dyn Claim) -> Vec<String> + Sync,
) {
    let (claims, contradictions) = (Mutex::new(claims), Mutex::new(vec![]));
    let next = || claims.lock().unwrap().next();
    let work_off = || {
        while let Some(claim) = next() {
            let problems = problems(&**claim);
            contradictions.lock().unwrap().extend(problems);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_CLAIMS_AT_ONCE)) {
            scope.spawn(work_off);
        }
    });
    let contradictions = contradictions.into_inner().unwrap();
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
}

/// Checks a claim at one setting, and says what the report has instead of what the sheet says.
fn contradiction(claim: &dyn Claim, setting: &CheckedAt) -> Option<String> {
    let &CheckedAt { seed, trials, beyond_hypotheses, verdict, expected, .. } = setting;
    let place = || format!("sheets/{}.md: {}: {}", claim.sheet().id, setting.line, json!(setting.set));
    let options = CheckOptions { seed, trials, beyond_hypotheses, ..CheckOptions::default() };
    let report = match check(claim, &setting.set, &options, &Silent) {
        Ok(report) => report,
        Err(error) => return Some(format!("{}: {error}", place())),
    };
    let written = json!(report);
    let agrees = (report.verdict, report.expected) == (verdict, expected)
        && setting.entries.iter().all(|(entries, tolerance)| contains(&written, entries, *tolerance));
    (!agrees).then(|| format!("{}, seed {seed}: {report:?}", place()))
}

/// Decides whether every entry of `part` is in `whole`, numbers to within `tolerance`.
fn contains(whole: &Value, part: &Value, tolerance: f64) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part, tolerance)))
        }
        (Value::Number(whole), Value::Number(part)) => match (whole.as_f64(), part.as_f64()) {
            (Some(whole), Some(part)) => (whole - part).abs() <= tolerance,
            _ => false,
        },
        _ => whole == part,
    }
}

/// Returns the verdicts on the claims of `catalogue` in a run of `attnlab reproduce`, whose folder the environment
/// variable `ATTNLAB_REPRODUCED` names: for tests, ignored without such a run, that hold printed estimates to it. A
/// verdict of another version, which cannot be read, is left out, so that a test must look for each claim that it holds.
///
/// # Panics
/// When the variable is not set, the folder holds no run that can be read, or its seed is not 0.
pub fn reproduced(catalogue: &Catalogue) -> Vec<CheckReport> {
    let folder = std::env::var_os("ATTNLAB_REPRODUCED").expect("ATTNLAB_REPRODUCED must name the folder of a run");
    reports_in(Path::new(&folder), catalogue)
}

fn reports_in(folder: &Path, catalogue: &Catalogue) -> Vec<CheckReport> {
    let rows = store::read(folder).unwrap_or_else(|error| panic!("{error}")).rows;
    let reports = latest(&rows).into_iter().filter_map(|row| match restore(row, catalogue) {
        Ok(Found::Claim(checked)) => Some(checked.report),
        _ => None,
    });
    let of_seed_0 = |report: &CheckReport| assert_eq!(report.seed, 0, "{}: printed is seed 0", folder.display());
    reports.inspect(of_seed_0).collect()
}

/// Returns a number of a witness; `path` is a key, or keys and positions such as `energies/0/L`.
///
/// # Panics
/// When there is none, or it is no number.
pub fn number(witness: &Witness, path: &str) -> f64 {
    real(&entry(witness, path), path)
}

/// Returns an array of numbers of a witness; `path` as for [`number`].
///
/// # Panics
/// When there is none, or it is no array of numbers.
pub fn numbers(witness: &Witness, path: &str) -> Vec<f64> {
    let value = entry(witness, path);
    let array = value.as_array().unwrap_or_else(|| panic!("{path}: {value} is no array"));
    array.iter().map(|value| real(value, path)).collect()
}

/// Returns a parameter at which a check ran, set or default.
///
/// # Panics
/// When the claim has no such parameter, or it is no number.
pub fn setting(report: &CheckReport, name: &str) -> f64 {
    let value = report.parameters.get(name).unwrap_or_else(|| panic!("{} has no parameter {name}", report.claim));
    real(value, name)
}

/// Writes the estimate of a report with its interval as sheets do, such as `1.503 [1.498, 1.507]`.
pub fn estimate(report: &CheckReport, decimals: usize) -> String {
    let e = report.estimate;
    let [value, low, high] = [e.value, e.low, e.high].map(|x| format!("{x:.decimals$}"));
    format!("{value} [{low}, {high}]")
}

/// Writes a whole number as sheets do, in groups of three digits from five digits on, such as `177 515`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let width = if digits.len() < 5 { digits.len() } else { 3 };
    let groups = digits.as_bytes().rchunks(width).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(" ")
}

fn object(set: Value) -> Map<String, Value> {
    match set {
        Value::Object(map) => map,
        other => panic!("{other}: the parameters must be a JSON object"),
    }
}

fn real(value: &Value, name: &str) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{name}: {value} is no number"))
}

fn entry(witness: &Witness, path: &str) -> Value {
    let whole = Value::Object(witness.clone());
    whole.pointer(&format!("/{path}")).cloned().unwrap_or_else(|| panic!("{path} is not in the witness {whole}"))
}

/// The same text with `-` for `−`, and 0.5 for .5.
fn normalised(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let fraction = c == '.' && rest.peek().is_some_and(char::is_ascii_digit);
        if fraction && !out.ends_with(|before: char| before.is_ascii_digit()) {
            out.push('0');
        }
        out.push(if c == '−' { '-' } else { c });
    }
    out
}

/// Decides whether a phrase occurs in a text without cutting a number at either end.
fn contains_whole(text: &str, phrase: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    let whole = |(start, part): (usize, &str)| {
        let (before, after) = (&text[..start], &text[start + part.len()..]);
        let fraction = after.strip_prefix('.').is_some_and(|rest| rest.starts_with(digit));
        let exponent = after.strip_prefix('e').is_some_and(|rest| rest.starts_with(digit) || rest.starts_with('-'));
        let cut_before = part.starts_with(digit) && (before.ends_with(digit) || before.ends_with('.'));
        let cut_after = part.ends_with(digit) && (after.starts_with(digit) || fraction || exponent);
        !cut_before && !cut_after
    };
    text.match_indices(phrase).any(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::VerdictKind::Vacuous;
    use crate::reproduce::{Options, reproduce};

    #[test]
    fn numbers_are_found_whole() {
        let text = normalised("from .815 to 10.4, 2.53e-5 of −0.914; 7.");
        for phrase in ["0.815", "from 0.815 to", "10.4", "2.53e-5", "-0.914", "7"] {
            assert!(contains_whole(&text, phrase), "{phrase}");
        }
        for cut in ["0.81", "15", "0.4", "1.4", "2.53", "10", "5 of -0.91"] {
            assert!(!contains_whole(&text, cut), "{cut}");
        }
    }

    #[test]
    fn whole_numbers_are_grouped_by_three() {
        let written = [17, 4567, 17_731_392].map(grouped);
        assert_eq!(written, ["17", "4567", "17 731 392"]);
    }

    fn coin() -> SheetTest {
        let room = Room::new("toy", crate::toy::PAPERS);
        SheetTest::new(room.claims(vec![crate::toy::fair_coin()]))
    }

    #[test]
    fn the_settings_of_a_sheet_are_checked_and_its_mutants_fall() {
        coin().assert_checked();
        coin().assert_mutants_fall(1);
    }

    #[test]
    fn a_setting_that_the_check_contradicts_is_named() {
        let claim = crate::toy::fair_coin();
        let checked = claim.sheet().checked().unwrap();
        assert!(checked.iter().all(|setting| contradiction(&*claim, setting).is_none()));
        let with = |change: &dyn Fn(&mut CheckedAt)| {
            let mut setting = checked[0].clone();
            change(&mut setting);
            contradiction(&*claim, &setting).unwrap()
        };
        let named = format!("sheets/toy.fair.md: {}", checked[0].line);
        assert!(with(&|setting| setting.verdict = Vacuous).starts_with(&named));
        assert!(with(&|setting| setting.expected = Vacuous).starts_with(&named));
        assert!(with(&|setting| setting.entries = vec![(json!({"trials": 0}), 0.5)]).starts_with(&named));
        assert!(with(&|setting| setting.set = object(json!({"heds": 1}))).contains("did you mean heads?"));
    }

    /// The reports of a run of the coin under this seed.
    fn reproduced_with(seed: u64) -> Vec<CheckReport> {
        let (folder, SheetTest { catalogue }) = (tempfile::tempdir().unwrap(), coin());
        let options = Options { out: folder.path().into(), seed, ..Options::default() };
        reproduce(&catalogue, &options, &Silent, &mut |_| Ok(())).unwrap();
        reports_in(folder.path(), &catalogue)
    }

    #[test]
    fn the_reports_of_a_run_are_those_of_the_checks() {
        let reports = reproduced_with(0);
        assert_eq!(reports.len(), 1);
        let checked = coin().claim("toy.fair").check(json!({}), None);
        assert_eq!((reports[0].estimate, &reports[0].witness), (checked.estimate, &checked.witness));
    }

    #[test]
    #[should_panic(expected = "printed is seed 0")]
    fn a_run_of_another_seed_is_refused() {
        reproduced_with(1);
    }

    #[test]
    fn paths_lead_into_the_witness() {
        let mut report = coin().claim("toy.fair").check(Value::Object(Map::new()), Some(20));
        report.witness.insert("draws".into(), serde_json::json!([{"L": 3}]));
        assert_eq!(number(&report.witness, "draws/0/L"), 3.0);
        assert_eq!(setting(&report, "heads"), 0.5);
    }

    #[test]
    #[should_panic(expected = "sheets/toy.fair.md: 0.7 is not in")]
    fn a_number_that_is_not_printed_is_named() {
        coin().claim("toy.fair").assert_printed(&["0.7".to_string()]);
    }
}
