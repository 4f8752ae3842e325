//! Claims away from their defaults, and their mutants.

use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::VerdictKind::{Refuted, Supported};
use attnlab_lab::run::{CheckOptions, Silent, check};
use attnlab_lab::sheet_test::SheetTest;
use serde_json::json;

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(attnlab_aot::room()).assert_checked();
}

#[test]
fn every_mutant_falls_within_its_default_budget() {
    SheetTest::new(attnlab_aot::room()).assert_mutants_fall(1);
}

#[test]
fn every_value_of_phi_is_an_identity() {
    let catalogue = Catalogue::new().with(attnlab_aot::room());
    let claim = catalogue.claim("aot.mssa_is_mhsa").unwrap();
    for phi in attnlab_theory::attention::Phi::NAMES {
        let set = json!({"phi": phi});
        let report = check(&**claim, set.as_object().unwrap(), &CheckOptions::default(), &Silent);
        assert_eq!(report.unwrap().verdict, Supported, "{phi}");
    }
}

/// No mutant is judged where its claim is refuted, so that a refuted mutant says something about the variant.
#[test]
fn claims_stand_where_their_mutants_fall() {
    for claim in attnlab_aot::claims::all() {
        for mutant in claim.mutants() {
            let set = mutant.set.iter().map(|(k, v)| (k.to_string(), v.clone()));
            let options = CheckOptions { trials: Some(2), beyond_hypotheses: true, ..CheckOptions::default() };
            let report = check(&*claim, &set.collect(), &options, &Silent);
            let verdict = report.map(|r| r.verdict);
            let id = &claim.sheet().id;
            assert!(!matches!(verdict, Ok(Refuted)), "{id}, mutant {}", mutant.name);
        }
    }
}
