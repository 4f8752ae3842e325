//! Tokens held against the theory.

use crate::arrays::{Taken, matrix, positive, threshold};
use crate::background;
use crate::convert::{Raised, needed, number, object, optional, refused, whole};
use attnlab_aot::inspect::{Controls, Fitting, Scale, inspect};
use attnlab_core::error::Error;
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::experiment::ranges::Ranges;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

/// Holds tokens against the theory; the findings are those of `attnlab inspect`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn inspect_tokens(
    py: Python<'_>,
    z: &Bound<'_, PyAny>,
    name: &str,
    options: &Bound<'_, PyDict>,
    bases: Option<&Bound<'_, PyAny>>,
    labels: Option<&Bound<'_, PyAny>>,
    controls: bool,
    seed: &Bound<'_, PyAny>,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let seed = whole("seed", seed, 0)?;
    let fitting = fitting(options)?;
    fitting.ranges("").and_then(|()| fitting.validate()).raised()?;
    let mut how = fitting.how(if controls { Controls::All } else { Controls::None });
    let bases = bases.filter(|u| !u.is_none());
    let tokens = match bases {
        Some(bases) => {
            let taken = Taken::read(z, bases, labels)?;
            let Some(labels) = taken.labels else {
                let allowed = "must be set; known bases and labels come together";
                return Err(Error::invalid("labels", "None", allowed)).raised();
            };
            how.known = Some((taken.bases, labels));
            taken.tokens
        }
        None if labels.is_some_and(|y| !y.is_none()) => {
            return Err(Error::invalid("bases", "None", "must be set; known bases and labels come together")).raised();
        }
        None => matrix("tokens", z)?,
    };
    // The streams of `attnlab inspect` on one file of this name.
    let cell = [("array".to_string(), Value::from(name)), ("place".to_string(), Value::from(0))];
    let cell: Params = cell.into_iter().collect();
    let streams = Streams::new(seed, "inspect", cell.cell(), 0);
    let findings: Map<String, Value> = background::run(py, report, move |_| inspect(tokens.view(), &how, &streams))?;
    Ok(object(py, &findings, true)?.into_any().unbind())
}

fn fitting(given: &Bound<'_, PyDict>) -> PyResult<Fitting> {
    let need = |name| needed(given, name);
    let real = |name| number(name, &need(name)?);
    let scale = need("scale")?;
    Ok(Fitting {
        clusters: optional(Some(&need("clusters")?), |v| whole("clusters", v, 1))?.unwrap_or(0) as usize,
        most_clusters: whole("most_clusters", &need("most_clusters")?, 1)? as usize,
        scale: match scale.to_string().as_str() {
            "as-given" => Scale::AsGiven,
            "fitted" => Scale::Fitted,
            _ => return Err(refused("scale", &scale, "must be as-given or fitted")),
        },
        centre: need("centre")?.is_truthy()?,
        eta: positive("eta", &need("eta")?)?,
        tau: threshold(&need("tau")?)?,
        level: real("level")?,
        test_level: real("test_level")?,
        power_draws: whole("power_draws", &need("power_draws")?, 0)?,
    })
}
