//! The room is complete, its claims hold, and its mutants are refuted.

use attnlab::run::{CheckOptions, Silent, check};
use attnlab::sheet_test::SheetTest;
use my_theorem::room;

/// Seeds under which every mutant must be refuted.
const SEEDS: u64 = 5;

#[test]
fn sheets_claims_and_experiments_fit_together() {
    room().validate().unwrap();
}

#[test]
fn every_claim_is_as_expected_and_its_mutants_are_refuted() {
    for claim in &room().claims {
        let options = CheckOptions::default();
        let report = check(&**claim, &Default::default(), &options, &Silent).unwrap();
        assert!(report.as_expected(), "{report:#?}");
    }
    let sheets = SheetTest::new(room());
    sheets.assert_checked();
    sheets.assert_mutants_fall(SEEDS);
}
