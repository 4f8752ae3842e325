//! Claims away from their defaults, and their mutants.

use crate::catalogue;
use attnlab_lab::claim::VerdictKind::{Refuted, Supported};
use attnlab_lab::run::{CheckOptions, Silent, check};
use attnlab_lab::sheet_test::SheetTest;
use serde_json::json;

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(attnlab_aot::room()).assert_checked();
}

#[test]
fn every_value_of_phi_is_an_identity() {
    let catalogue = catalogue();
    let claim = catalogue.claim("aot.mssa_is_mhsa").unwrap();
    for phi in attnlab_theory::attention::Phi::NAMES {
        let set = json!({"phi": phi}).as_object().cloned().unwrap();
        assert_eq!(check(&**claim, &set, &CheckOptions::default(), &Silent).unwrap().verdict, Supported, "{phi}");
    }
}

/// No mutant is judged where its claim is refuted, so that a refuted mutant says something about the variant.
#[test]
fn claims_stand_where_their_mutants_fall() {
    for claim in attnlab_aot::claims::all() {
        for mutant in claim.mutants() {
            let set = mutant.set.iter().map(|(k, v)| (k.to_string(), v.clone()));
            let options = CheckOptions { trials: Some(2), beyond_hypotheses: true, ..CheckOptions::default() };
            let verdict = check(&*claim, &set.collect(), &options, &Silent).unwrap().verdict;
            assert_ne!(verdict, Refuted, "{}, mutant {}", claim.sheet().id, mutant.name);
        }
    }
}
