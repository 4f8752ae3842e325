//! Sweeps a claim over two parameters, opens the folder again, draws the map, and puts a verdict and a figure
//! on one page: `cargo run --example sweep_a_claim`.

use attnlab::figure;
use attnlab::folder::RunFolder;
use attnlab::prelude::*;
use attnlab::reproduce::{Event, Options, reproduce};
use attnlab::run::{Silent, grid::GridOptions};
use attnlab::sweep::{self, Sweep};
use std::path::Path;

const DEPTH: &str = r#"
claim = "aot.theorem1"
trials = 12
beyond_hypotheses = "judge"
[axes]
layers = [4, 8, 12]
delta = [0.01, 0.03, 0.09]
[set]
tokens = 400
dim = 100
"#;

fn main() -> Result<()> {
    let catalogue = attnlab::catalogue();

    // Rows that are there already are kept: started again, it computes only what is missing.
    let folder = Path::new("runs/rust");
    let sweep = Sweep::parse(DEPTH, Path::new("depth.toml"))?;
    let report = sweep::run(&sweep, &catalogue, folder, GridOptions::default(), &Silent)?;
    println!("{} trials computed, {} were there", report.computed, report.resumed);

    // Any folder of rows can be opened, also one that the command line wrote.
    let run = RunFolder::open(folder, &catalogue)?;
    for cell in sweep::summarise(&run.plan, &run.stored)? {
        let (layers, delta) = (&cell.parameters["layers"], &cell.parameters["delta"]);
        let held = cell.trials - cell.failures;
        println!("{layers} layers, delta {delta}: {held:>2} of {} hold", cell.trials);
    }
    for path in figure::write_all(&run.figures()?, Path::new("plots"))? {
        println!("{}", path.display());
    }

    // The main job on one claim: what `attnlab reproduce --only aot.mssa_is_mhsa` does.
    let options =
        Options { out: "runs/reproduce-rust".into(), only: vec!["aot.mssa_is_mhsa".into()], ..Options::default() };
    let summary = reproduce(&catalogue, &options, &Silent, &mut |event| {
        if let Event::Written(path) = event {
            println!("{}", path.display());
        }
        Ok(())
    })?;
    println!("{} of {} verdicts as expected", summary.expected, summary.verdicts);
    Ok(())
}
