//! `attnlab check --array`: what claims about a layer say of files.

use super::check::{WIDTH, field};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::{pairs, wrapped};
use attnlab_core::npy::shape_text;
use attnlab_lab::claim::{Arrays, Claim, OnArrays};
use attnlab_lab::command::{Out, Status};
use attnlab_networks::{Checkpoint, npy};
use ndarray::Axis;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// Reads the arrays of `NAME=FILE` arguments: every matrix of a NumPy or safetensors file, and every index of the first
/// axis of a NumPy file of three dimensions.
///
/// # Errors
/// An argument of another form; a file that cannot be read, or has other than matrices.
pub fn read(arguments: &[String]) -> Result<Arrays> {
    let mut arrays = Arrays::default();
    for argument in arguments {
        let Some((name, path)) = argument.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty())
        else {
            return Err(Error::invalid("array", argument, "must be NAME=FILE, such as patterns=keys.npy"));
        };
        let path = Path::new(path);
        let file = Checkpoint::open(path)?;
        for tensor in file.matching(&["*"]) {
            let shape = file.shape(&tensor)?;
            let numpy = path.extension().is_some_and(|e| e == "npy");
            match shape.len() {
                2 => arrays.push(name, file.matrix(&tensor)?),
                3 if numpy => {
                    let stack = npy::stack(name, path)?;
                    stack.axis_iter(Axis(0)).for_each(|matrix| arrays.push(name, matrix.to_owned()));
                }
                _ => {
                    let expected = "a matrix, or in a NumPy file (heads, rows, columns); of one column (d, 1)";
                    return Err(Error::shape(format!("{name} in {}", path.display()), shape_text(&shape), expected));
                }
            }
        }
    }
    Ok(arrays)
}

/// A claim and the parameters that the user set.
type Chosen = (Arc<dyn Claim>, Map<String, Value>);

/// Judges claims on arrays and shows what they say.
///
/// # Errors
/// As [`OnArrays::judge`].
pub fn run(claims: &[Chosen], arrays: &Arrays, [mutants, json]: [bool; 2], out: &mut Out) -> Result<Status> {
    let mut status = Status::Expected;
    let judged = claims.iter().map(|(claim, set)| OnArrays::judge(&**claim, set, arrays, mutants));
    for ((claim, _), found) in claims.iter().zip(judged.collect::<Result<Vec<_>>>()?) {
        if found.fails > 0 {
            status = Status::Unexpected;
        } else if !found.failed.is_empty() && status == Status::Expected {
            status = Status::Failed;
        }
        match json {
            true => out.json(&found)?,
            false => block(&found, &claim.sheet().title).iter().try_for_each(|line| out.line(line))?,
        }
    }
    Ok(status)
}

/// Returns the text of what a claim says, with a blank line at its end.
fn block(found: &OnArrays, title: &str) -> Vec<String> {
    let counted = match found.cases() {
        1 => String::new(),
        cases => format!(" ({} of {cases} cases hold, {} fail)", found.holds, found.fails),
    };
    let mut lines = vec![format!("{}: {} on these arrays{counted}", found.claim, found.verdict)];
    lines.extend(wrapped(title, 2, WIDTH));
    lines.extend(wrapped(&found.source, 2, WIDTH));
    let of_name = |(name, shapes): (&String, &Vec<(usize, usize)>)| {
        let text = |(rows, columns): &(usize, usize)| format!("({rows}, {columns})");
        match shapes.as_slice() {
            [first, _, ..] if shapes.iter().all(|s| s == first) => format!("{name} {} x {}", shapes.len(), text(first)),
            _ => format!("{name} {}", shapes.iter().map(text).collect::<Vec<_>>().join(" ")),
        }
    };
    lines.extend(field("arrays", &found.arrays.iter().map(of_name).collect::<Vec<_>>().join(", ")));
    for (name, reasons) in [("silent", &found.silent), ("failed", &found.failed)] {
        for (reason, count) in reasons {
            lines.extend(field(name, &format!("{reason}: {count} of {}", found.cases())));
        }
    }
    if !found.parameters.is_empty() {
        lines.extend(field("parameters", &pairs(&found.parameters)));
    }
    if !found.unset.is_empty() {
        let names = found.unset.join(", ");
        lines.extend(field("not set", &format!("{names}: as in draws; set what is otherwise in your layer")));
    }
    if let Some(case) = &found.closest {
        lines.extend(field("closest", &format!("case {}: {}", case.number, case.sides)));
        lines.extend(field("witness", &pairs(&case.witness)));
    }
    for (name, verdict) in &found.mutants {
        let told = match *verdict {
            "fails" => "fails: these arrays tell it from the claim",
            _ => "does not fail: these arrays cannot tell it from the claim",
        };
        lines.extend(field("mutant", &format!("{name} {told}")));
    }
    lines.push(String::new());
    lines
}
