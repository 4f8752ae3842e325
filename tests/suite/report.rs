//! The report is one file that shows every verdict with its evidence and needs nothing else.

use crate::common::CATALOGUE;
use attnlab::claim::VerdictKind;
use attnlab::figure::{Axis, Figure, Panel, Point, Series};
use attnlab::report::{Checked, Found, MutantResult, Picture, Report, html, keep, restore};
use attnlab::run::store::Manifest;
use attnlab::run::{CheckOptions, Origin, Row, Silent, check, mutants};
use serde_json::{Map, json};

fn checked() -> Checked {
    let claim = crate::common::claim("aot.mssa_is_mhsa");
    let options = CheckOptions { trials: Some(8), seed: 9, ..CheckOptions::default() };
    let report = check(&*claim, &Default::default(), &options, &Silent).unwrap();
    Checked::here(&claim, report)
}

fn page(checks: &[Checked]) -> String {
    let mutants = [MutantResult {
        claim: "aot.mssa_is_mhsa".into(),
        name: "scaled".into(),
        says: "a < b".into(),
        seeds: 4,
        refuted: 4,
        first: checks[0].clone(),
    }];
    let line = Series::measured("s", 0, vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)]);
    let panel = Panel::new("", Axis::linear("x"), Axis::linear("y")).with(line);
    let figure = Figure::column("line", "A line", vec![panel]).captioned("of *two* points, 10^{2}");
    let command = "attnlab check 'a' && echo <b>";
    let picture = Picture { figure, seed: 11, origins: vec![Origin::here("attnlab run line --seed 11".into())] };
    html(&Report { command, checks, mutants: &mutants, tables: &[], pictures: &[picture], audit: None }).unwrap()
}

#[test]
fn verdicts_evidence_figures_and_command_are_there() {
    let report = checked();
    let page = page(std::slice::from_ref(&report));
    for part in [
        "aot.mssa_is_mhsa",
        "supported",
        "1 of 1 verdicts are the expected ones; 1 of 1 mutants",
        "largest_difference",
        "attnlab check 'a' &amp;&amp; echo &lt;b&gt;",
        "attnlab check aot.mssa_is_mhsa --seed 9 --trials 8",
        "<dt>Seed, time</dt><dd>9, ",
        "<dt>Seed</dt><dd>11</dd>",
        "attnlab run line --seed 11",
        "4 of 4 seeds <small>[0.40, 1.00]</small>", // scipy.stats.binomtest(4, 4).proportion_ci()
        "no trial failed",
        env!("CARGO_PKG_VERSION"),
        attnlab::run::machine().as_str(),
        "<math><msubsup><mi>W</mi><mi>Q</mi><mi>k</mi></msubsup>",
        "a &lt; b",
        "<svg ",
        "of <i>two</i> points, 10<sup>2</sup>",
        "line.csv",
    ] {
        assert!(page.contains(part), "no {part}");
    }
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let page = page(&[checked()]);
    let without_names = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!without_names.contains(outside), "{outside}");
    }
}

#[test]
fn a_surprise_is_marked() {
    let mut checked = checked();
    checked.report.verdict = VerdictKind::Refuted;
    let page = page(&[checked]);
    assert!(page.contains("class=\"surprise\"") && page.contains("0 of 1 verdicts"));
}

/// A row keeps enough to show the verdict again, with the command that makes it.
#[test]
fn verdicts_survive_their_rows() {
    let claim = crate::common::claim("aot.lemma1");
    let set = json!({"tokens": 120, "dim": 30});
    let options = CheckOptions { trials: Some(5), seed: 2, beyond_hypotheses: true, ..CheckOptions::default() };
    let set = match claim.schema().iter().any(|s| s.name == "tokens") {
        true => set.as_object().unwrap().clone(),
        false => Map::new(),
    };
    let report = check(&*claim, &set, &options, &Silent).unwrap();
    let manifest = Manifest::new("reproduce", 2, Map::new());
    let again = |verdict: &Found| {
        let (parameters, data) = keep(verdict);
        let row = Row::new(&manifest, 1, 0, parameters, data);
        let line = serde_json::to_string(&row).unwrap();
        restore(&serde_json::from_str(&line).unwrap(), &CATALOGUE).unwrap()
    };
    let before = Found::Claim(Checked::here(&claim, report));
    let after = again(&before);
    assert_eq!(json!(before.report()), json!(after.report()));
    let Found::Claim(checked) = &after else { panic!("a verdict of another kind") };
    let command = &checked.origin.command;
    assert!(command.starts_with("attnlab check aot.lemma1 --seed 2"), "{command}");
    assert!(command.ends_with("--trials 5 --beyond-hypotheses"), "{command}");

    let options = CheckOptions { seed: 2, ..CheckOptions::default() };
    let claim = crate::common::claim("aot.mssa_is_mhsa");
    let (variants, reports) = (claim.mutants(), mutants(&*claim, &options, 2, &Silent).unwrap());
    let before = MutantResult::here(&variants[0], reports.into_iter().next().unwrap());
    let after = again(&Found::Mutant(before.clone()));
    let Found::Mutant(after) = after else { panic!("a verdict of another kind") };
    assert_eq!((after.seeds, after.refuted), (2, 2));
    assert_eq!((after.name, after.says), (before.name, before.says));
    assert_eq!(after.first.origin, before.first.origin);

    let mut foreign = Row::new(&manifest, 1, 0, Map::new(), Map::new());
    foreign.parameters.insert("claim".into(), "aot.lemma9/".into());
    let error = restore(&foreign, &CATALOGUE).err().unwrap().to_string();
    assert!(error.contains("aot.lemma9"), "{error}");
}
