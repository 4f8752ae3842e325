//! `attnlab check --array`: what claims about a layer say of files.

use super::check::{Args, WIDTH, field};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::{pairs, wrapped};
use attnlab_core::npy::shape_text;
use attnlab_lab::claim::{Arrays, Case, Claim, OnArrays};
use attnlab_lab::command::{Out, Status};
use attnlab_lab::run::files;
use attnlab_networks::{Checkpoint, npy};
use ndarray::Axis;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// Reads the arrays of `NAME=FILE` arguments: every matrix of a NumPy or safetensors file, and every index of the first
/// axis of a NumPy file of three dimensions. `NAME=FILE:PATTERN` takes the tensors whose names fit, `*` being any characters.
///
/// # Errors
/// An argument of another form; a file that cannot be read, or has other than matrices; a pattern that fits no tensor.
pub fn read(arguments: &[String]) -> Result<Arrays> {
    let mut arrays = Arrays::default();
    for argument in arguments {
        let Some((name, path)) = argument.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty())
        else {
            return Err(Error::invalid("array", argument, "must be NAME=FILE, such as patterns=keys.npy"));
        };
        let (path, pattern) = match path.rsplit_once(':') {
            // A colon may be part of a name.
            Some((file, pattern)) if !Path::new(path).exists() && Path::new(file).exists() => (file, pattern),
            _ => (path, "*"),
        };
        let path = Path::new(path);
        let file = Checkpoint::open(path)?;
        let tensors = file.matching(&[pattern]);
        if tensors.is_empty() {
            return Err(Error::unknown("tensor", pattern, file.names()));
        }
        for tensor in tensors {
            let shape = file.shape(&tensor)?;
            let numpy = path.extension().is_some_and(|e| e == "npy");
            match shape.len() {
                2 => arrays.push(name, file.matrix(&tensor)?),
                3 if numpy => {
                    npy::stack(name, path)?.axis_iter(Axis(0)).for_each(|matrix| arrays.push(name, matrix.to_owned()));
                }
                _ => {
                    let expected = "a matrix, or in a NumPy file (heads, rows, columns); of one column (d, 1)";
                    let of = if numpy { "" } else { &format!("{tensor} ") };
                    let name = format!("{name}, {of}in {}", path.display());
                    return Err(Error::shape(name, format_args!("{}", shape_text(&shape)), expected));
                }
            }
        }
    }
    Ok(arrays)
}

/// A claim and the parameters that the user set.
type Chosen = (Arc<dyn Claim>, Map<String, Value>);

/// Line of the file of cases.
#[derive(Serialize)]
struct Line<'a> {
    claim: &'a str,
    #[serde(flatten)]
    case: &'a Case,
}

/// Judges claims on arrays and shows what they say.
///
/// # Errors
/// As [`OnArrays::judge`]; a file of cases that exists or cannot be written.
pub fn run(claims: &[Chosen], arrays: &Arrays, args: &Args, out: &mut Out) -> Result<Status> {
    args.cases.as_deref().map_or(Ok(()), |path| files::ensure_free(path, args.force))?;
    let judged = claims.iter().map(|(claim, set)| OnArrays::judge(&**claim, set, arrays, args.mutants));
    let judged = judged.collect::<Result<Vec<_>>>()?;
    if let Some(path) = &args.cases {
        files::write_whole(path, args.force, |to| {
            for judgement in &judged {
                for case in &judgement.each {
                    serde_json::to_writer(&mut *to, &Line { claim: &judgement.claim, case })?;
                    to.write_all(b"\n")?;
                }
            }
            Ok(())
        })?;
    }
    let mut status = Status::Expected;
    for ((claim, _), judgement) in claims.iter().zip(&judged) {
        status = status.max(match (judgement.failed.is_empty(), judgement.fails) {
            (false, _) => Status::Failed,
            (true, 0) => Status::Expected,
            (true, _) => Status::Unexpected,
        });
        match args.json {
            true => out.json(judgement)?,
            false => block(judgement, &claim.sheet().title).iter().try_for_each(|line| out.line(line))?,
        }
    }
    Ok(status)
}

/// Returns the text of what a claim says, with a blank line at its end.
fn block(judgement: &OnArrays, title: &str) -> Vec<String> {
    let counted = match judgement.cases() {
        1 => String::new(),
        cases => format!(" ({} of {cases} cases hold, {} fail)", judgement.holds, judgement.fails),
    };
    let mut lines = vec![format!("{}: {} on these arrays{counted}", judgement.claim, judgement.verdict)];
    lines.extend(wrapped(title, 2, WIDTH));
    lines.extend(wrapped(&judgement.source, 2, WIDTH));
    let of_name = |(name, shapes): (&String, &Vec<(usize, usize)>)| {
        let text = |(rows, columns): &(usize, usize)| format!("({rows}, {columns})");
        match shapes.as_slice() {
            [first, _, ..] if shapes.iter().all(|s| s == first) => format!("{name} {} x {}", shapes.len(), text(first)),
            _ => format!("{name} {}", shapes.iter().map(text).collect::<Vec<_>>().join(" ")),
        }
    };
    lines.extend(field("arrays", &judgement.arrays.iter().map(of_name).collect::<Vec<_>>().join(", ")));
    for (name, reasons) in [("silent", &judgement.silent), ("failed", &judgement.failed)] {
        for (reason, count) in reasons {
            lines.extend(field(name, &format!("{reason}: {count} of {}", judgement.cases())));
        }
    }
    if !judgement.parameters.is_empty() {
        lines.extend(field("parameters", &pairs(&judgement.parameters)));
    }
    if !judgement.unset.is_empty() {
        let names = judgement.unset.join(", ");
        lines.extend(field("not set", &format!("{names}: as in draws; set what is otherwise in your layer")));
    }
    if let Some(case) = &judgement.closest {
        lines.extend(field("closest", &format!("case {}: {}", case.number, case.sides)));
        lines.extend(field("witness", &pairs(&case.witness)));
    }
    for (name, verdict) in &judgement.mutants {
        let told = match *verdict {
            "fails" => "fails: these arrays tell it from the claim",
            _ => "does not fail: these arrays cannot tell it from the claim",
        };
        lines.extend(field("mutant", &format!("{name} {told}")));
    }
    lines.push(String::new());
    lines
}
