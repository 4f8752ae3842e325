//! Checks Theorem 1 of the attention-only transformer at parameters of one's own, then a corrected form of it
//! together with its mutants: `cargo run --example check_a_claim`.

use attnlab::papers::aot::quantities::{DIM, TOKENS};
use attnlab::prelude::*;
use attnlab::run::{CheckOptions, Silent, check, mutants};

fn main() -> Result<()> {
    let catalogue = attnlab::catalogue();
    for room in catalogue.rooms() {
        println!("{}: {} claims", room.name, room.claims.len());
    }

    // The hypotheses ask for more tokens; we want the verdict all the same.
    let options = CheckOptions { trials: Some(5), beyond_hypotheses: true, ..CheckOptions::default() };
    let claim = catalogue.claim("aot.theorem1")?;
    let set = Map::from_iter([TOKENS.is(1000), DIM.is(200)]);
    let report = check(&**claim, &set, &options, &Silent)?;
    println!("\n{}: {}", claim.sheet().title, report.verdict.name());
    println!("  {} of {} trials failed", report.failures, report.trials);
    println!("  first wrong layer: {}", report.witness["layer"]);
    for hypothesis in report.hypotheses.iter().filter(|h| !h.holds) {
        println!("  fails: {} (margin {:.1})", hypothesis.printed, hypothesis.margin);
    }

    // Can the check of the corrected form fail? Its false variants must be refuted.
    let claim = catalogue.claim("aot.theorem1_bounded")?;
    println!("\n{}", claim.sheet().title);
    for report in mutants(&**claim, &CheckOptions::default(), 1, &Silent)? {
        println!("  mutant {}: {}", report.mutant, report.first.verdict.name());
    }
    Ok(())
}
