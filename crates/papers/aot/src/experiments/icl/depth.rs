//! Does a trained network denoise? Activations of prompts by depth.

use super::Icl;
use crate::experiments::networks::record_depth;
use attnlab_lab::prelude::*;
use attnlab_theory::sample::{Functions, Shift};
use attnlab_train::model::{Model, Recording};
use attnlab_train::training::in_context::predictions;

/// The measures of [`record_depth`] over some prompts of the law of training.
pub fn record(
    settings: &Icl,
    when: &str,
    model: &Model,
    functions: Functions,
    streams: &Streams,
    data: &mut Map<String, Value>,
) -> Result<()> {
    let law = settings.law(functions, settings.points, Shift::None);
    let count = settings.evaluation.activations;
    let streams = streams.child("activations", 0);
    let prompts: Vec<_> = (0..count as u64).map(|i| law.draw(&streams.child("prompt", i))).collect();
    let precision = settings.evaluation.precision;
    let forward = |recording: &mut Recording| predictions(&model.frozen(), &prompts, recording).map(|_| ());
    record_depth(when, model, count, precision, &forward, data)
}
