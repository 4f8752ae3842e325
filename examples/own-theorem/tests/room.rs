//! The room is complete, its claims hold, its mutants are refuted, and layers take its nonlinearity.

use attnlab::attention::Mssa;
use attnlab::run::{CheckOptions, Silent, check};
use attnlab::sheet_test::SheetTest;
use ndarray::array;
use own_theorem::room;
use own_theorem::sparsemax::Sparsemax;

/// Seeds under which every mutant must be refuted.
const SEEDS: u64 = 5;

#[test]
fn sheets_claims_and_experiments_fit_together() {
    room().validate().unwrap();
}

#[test]
fn every_claim_is_as_expected_and_its_mutants_are_refuted() {
    for claim in &room().claims {
        let report = check(&**claim, &Default::default(), &CheckOptions::default(), &Silent).unwrap();
        assert!(report.as_expected(), "{report:#?}");
    }
    let sheets = SheetTest::new(room());
    sheets.assert_checked();
    sheets.assert_mutants_fall(SEEDS);
}

/// A layer computes it on the streaming path, though it brings no pass over tiles of its own.
#[test]
fn a_layer_streams_sparsemax() {
    let y = array![[1.0_f32, 0.5, -1.0]];
    let streamed = Mssa::new(Sparsemax, 0.5).stream_head(y.view()).unwrap();
    // Scores of the first token: 1, 1/2, -1; weights 3/4, 1/4, 0.
    assert_eq!(streamed.output[[0, 0]], 0.875);
}
