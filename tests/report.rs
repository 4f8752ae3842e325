//! The report is one file that shows every verdict with its evidence and needs nothing else.

use attnlab::claim::{VerdictKind, registry};
use attnlab::figure::{Axis, Figure, Panel, Point, Series, Width};
use attnlab::report::{MutantResult, Report, html};
use attnlab::run::{CheckOptions, CheckReport, Silent, check};

fn checked() -> CheckReport {
    let claim = registry::find("aot.mssa_is_mhsa").unwrap();
    let options = CheckOptions {
        trials: Some(3),
        seed: 9,
        ..CheckOptions::default()
    };
    check(&*claim, &Default::default(), &options, &Silent).unwrap()
}

fn page(checks: &[CheckReport]) -> String {
    let mutants = [MutantResult {
        claim: "aot.mssa_is_mhsa".into(),
        name: "scaled".into(),
        says: "a < b".into(),
        verdict: VerdictKind::Refuted,
    }];
    let panel = Panel {
        x: Axis::linear("x"),
        y: Axis::linear("y"),
        series: vec![Series::measured(
            "s",
            0,
            vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)],
        )],
        ..Panel::default()
    };
    let figure = Figure {
        name: "line".into(),
        title: "A line".into(),
        caption: "of *two* points, 10^{2}".into(),
        width: Width::Column,
        columns: 1,
        panels: vec![panel],
    };
    let command = "attnlab check 'a' && echo <b>";
    html(&Report {
        command,
        seed: 9,
        checks,
        mutants: &mutants,
        figures: &[figure],
    })
    .unwrap()
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
        "<dt>Seed</dt><dd>9</dd>",
        env!("CARGO_PKG_VERSION"),
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
    let mut report = checked();
    report.verdict = VerdictKind::Refuted;
    let page = page(&[report]);
    assert!(page.contains("class=\"surprise\"") && page.contains("0 of 1 verdicts"));
}
