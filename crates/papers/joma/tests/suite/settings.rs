//! Verdicts away from the defaults.

use attnlab_joma::room;
use attnlab_joma::theory::Activation;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::VerdictKind::Supported;
use attnlab_lab::run::{CheckOptions, Silent, check};
use attnlab_lab::sheet_test::SheetTest;
use serde_json::Map;

#[test]
fn every_verdict_is_that_of_the_sheet() {
    SheetTest::new(room()).assert_checked();
}

/// Rounding, kinks and dead nodes: identities hold under every activation.
#[test]
fn identities_under_every_activation() {
    let catalogue = Catalogue::new().with(room());
    for activation in Activation::NAMES {
        for (id, trials) in [
            ("joma.eq9", 60),
            ("joma.eq60", 9),
            ("joma.eq17_corrected", 60),
            ("joma.theorem1_exp", 9),
            ("joma.theorem1_linear", 9),
        ] {
            let options = CheckOptions { trials: Some(trials), ..CheckOptions::default() };
            let set = Map::from_iter([("activation".to_string(), activation.into())]);
            let report = check(&**catalogue.claim(id).unwrap(), &set, &options, &Silent).unwrap();
            assert_eq!(report.verdict, Supported, "{id} {activation}: {:?}", report.witness);
        }
    }
}
