//! Verdicts away from the defaults.

use super::catalogue;
use attnlab_lab::claim::VerdictKind::Supported;
use attnlab_lab::run::{CheckOptions, Silent, check};
use attnlab_lab::sheet_test::SheetTest;
use serde_json::Map;

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(attnlab_denoising::room()).assert_checked();
}

/// With power .99, all but two of these seeds give the verdict with probability .997 or more.
#[test]
#[ignore = "42 checks: .ci/full --only budgets"]
fn default_budgets_suffice() {
    let catalogue = catalogue();
    for (id, seeds) in [("denoise.a23_corrected", 30), ("denoise.softmax_any_beta", 12)] {
        let claim = catalogue.claim(id).unwrap();
        let verdict = |seed: u64| {
            let options = CheckOptions { seed, ..CheckOptions::default() };
            check(&**claim, &Map::new(), &options, &Silent).unwrap().verdict
        };
        let held = (100..100 + seeds).filter(|seed| verdict(*seed) == Supported).count();
        assert!(held as u64 >= seeds - 2, "{id}: {held} of {seeds}");
    }
}

/// Every mutant of a statement that is expected to hold is judged where the statement itself is not refuted.
#[test]
fn statements_hold_where_their_mutants_are_judged() {
    let catalogue = catalogue();
    for claim in catalogue.claims().filter(|c| c.sheet().expected == Supported) {
        for mutant in claim.mutants().iter().filter(|mutant| !mutant.set.is_empty()) {
            let set = mutant.set.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
            let report = check(&**claim, &set, &CheckOptions::default(), &Silent).unwrap();
            assert_eq!(report.verdict, Supported, "{} {}", report.claim, mutant.name);
        }
    }
}
