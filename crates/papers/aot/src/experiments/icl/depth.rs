//! Does a trained network denoise? Activations of prompts by depth.

use super::Icl;
use crate::experiments::networks::record_depth;
use attnlab_core::error::Result;
use attnlab_core::rng::Streams;
use attnlab_theory::sample::{Functions, Shift};
use attnlab_train::model::{Model, Recording};
use attnlab_train::training::in_context::predictions;
use serde_json::{Map, Value};

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
    let draw = |i: u64| law.draw(&streams.child("prompt", i));
    let prompts: Vec<_> = (0..count as u64).map(draw).collect();
    let precision = settings.evaluation.precision;
    let forward = |recording: &mut Recording| predictions(&model.frozen(), &prompts, recording).map(|_| ());
    record_depth(when, model, count, precision, &forward, data)
}
