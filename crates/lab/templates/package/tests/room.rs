//! The room is complete, its claims hold, and its mutants are refuted.

use attnlab::run::{CheckOptions, Silent, check, mutants};
use my_theorem::room;

/// Seeds under which every mutant must be refuted.
const SEEDS: u64 = 5;

#[test]
fn sheets_claims_and_experiments_fit_together() {
    room().validate().unwrap();
}

#[test]
fn every_claim_is_as_expected_and_its_mutants_are_refuted() {
    let options = CheckOptions::default();
    for claim in &room().claims {
        let report = check(&**claim, &Default::default(), &options, &Silent).unwrap();
        assert!(report.as_expected(), "{report:#?}");
        for found in mutants(&**claim, &options, SEEDS, &Silent).unwrap() {
            assert!(found.killed(), "{}: {found:#?}", found.mutant);
        }
    }
}
