//! Claims from the dicts that `attnlab.claim` writes.

use super::outcomes::promise_of;
use super::{Body, PythonClaim, Told, Variant};
use crate::background::locked;
use crate::convert::{Raised, map_of, needed, whole as whole_number};
use attnlab_core::params::{Domain, Fallback, Spec};
use attnlab_lab::claim::{self, Claim, Kind, Paper, Sheet, VerdictKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// Makes a claim from the dict that `attnlab.claim` writes.
///
/// # Errors
/// An entry that is missing or of another type; words that the library does not know.
pub fn of_spec(spec: &Bound<'_, PyDict>) -> PyResult<Arc<dyn Claim>> {
    let get = |name| needed(spec, name);
    let text = |name| get(name)?.extract::<String>();
    let maybe = |name| get(name)?.extract::<Option<String>>();
    let function = |value: Bound<'_, PyAny>| Arc::new(value.unbind());
    let mut described = vec![];
    let mut variants = vec![];
    for variant in get("mutants")?.try_iter()? {
        let variant = variant?;
        let part = |name: &str| variant.get_item(name);
        let name: String = part("name")?.extract()?;
        let set = map_of(part("set")?.cast()?)?;
        let says = part("says")?.extract()?;
        described.push(claim::Variant { name: name.clone(), constants: Map::new(), set: set.clone(), says });
        variants.push(Variant {
            name: kept(&name),
            trial: function(part("trial")?),
            promise: told(&part("promise")?)?,
            set: set.into_iter().map(|(name, v)| (kept(&name), v)).collect(),
        });
    }
    let sheet = Sheet {
        id: text("id")?,
        title: text("title")?,
        paper: paper_of(&get("paper")?)?,
        place: text("place")?,
        kind: Kind::parse(&text("kind")?).raised()?,
        expected: VerdictKind::parse(&text("expected")?).raised()?,
        own: get("own")?.extract()?,
        draws: None,
        statement: text("statement")?,
        holds: None,
        class: None,
        print: None,
        witness: None,
        range: None,
        tolerance: maybe("tolerance")?,
        checked_at: String::new(),
        mutants: described,
    };
    let mut hypotheses = vec![];
    for entry in get("hypotheses")?.try_iter()? {
        let (name, printed, margin): (String, String, Py<PyAny>) = entry?.extract()?;
        hypotheses.push((kept(&name), kept(&printed), Arc::new(margin)));
    }
    let schema = get("params")?.try_iter()?.map(|spec| spec_of(&spec?)).collect::<PyResult<_>>()?;
    let body = Body {
        sheet: Box::leak(Box::new(sheet)),
        schema,
        hypotheses,
        trials: whole_number("trials", &get("trials")?, 1)?,
        seconds: get("seconds")?.extract()?,
        memory: get("memory")?.extract()?,
        code: function(get("code")?),
        parameters: function(get("parameters")?),
        generator: function(get("generator")?),
        block: whole_number("block", &get("block")?, 1)?,
    };
    Ok(Arc::new(PythonClaim {
        body: Arc::new(body),
        trial: function(get("trial")?),
        promise: told(&get("promise")?)?,
        variants,
        made: Mutex::default(),
    }))
}

fn told(value: &Bound<'_, PyAny>) -> PyResult<Told> {
    match value.is_callable() {
        true => Ok(Told::Called(Arc::new(value.clone().unbind()))),
        false => promise_of(value).map(Told::Fixed),
    }
}

fn paper_of(value: &Bound<'_, PyAny>) -> PyResult<&'static Paper> {
    let text = |name: &str| -> PyResult<&'static str> { Ok(kept(&value.get_item(name)?.extract::<String>()?)) };
    static PAPERS: Mutex<Vec<&'static Paper>> = Mutex::new(vec![]);
    let paper = Paper {
        key: text("key")?,
        title: text("title")?,
        authors: text("authors")?,
        venue: text("venue")?,
        year: value.get_item("year")?.extract()?,
        link: text("link")?,
    };
    let mut papers = locked(&PAPERS);
    if let Some(known) = papers.iter().find(|p: &&&Paper| p.cite() == paper.cite() && p.key == paper.key) {
        return Ok(known);
    }
    let new: &'static Paper = Box::leak(Box::new(paper));
    papers.push(new);
    Ok(new)
}

/// Makes an entry of a schema from a dict.
fn spec_of(value: &Bound<'_, PyAny>) -> PyResult<Spec> {
    let entry = map_of(value.cast()?)?;
    let text = |name: &str| kept(entry.get(name).and_then(Value::as_str).unwrap_or_default());
    let real = |name: &str, default: f64| entry.get(name).and_then(Value::as_f64).unwrap_or(default);
    let whole = |name: &str, default: u64| entry.get(name).and_then(Value::as_u64).unwrap_or(default);
    let flag = |name: &str| entry.get(name).and_then(Value::as_bool).unwrap_or(false);
    let domain = match text("kind") {
        "whole" => Domain::Whole(whole("low", 1), whole("high", u64::MAX)),
        "flag" => Domain::Flag,
        "choice" => Domain::Choice(words_of(&entry)),
        _ => Domain::Number {
            low: real("low", f64::NEG_INFINITY),
            low_in: flag("low_in"),
            high: real("high", f64::INFINITY),
            high_in: flag("high_in"),
        },
    };
    Ok(Spec {
        name: text("name"),
        symbol: text("symbol"),
        meaning: text("meaning"),
        unit: text("unit"),
        domain,
        default: entry.get("default").map_or(Fallback::Required, |value| Fallback::Fixed(value.clone())),
        aliases: &[],
    })
}

fn words_of(entry: &Map<String, Value>) -> &'static [&'static str] {
    let words = entry.get("words").and_then(Value::as_array);
    let words: Vec<&'static str> = words.into_iter().flatten().filter_map(Value::as_str).map(kept).collect();
    Box::leak(words.into_boxed_slice())
}

/// Returns a text for the rest of the process. Sheets, names and papers are of that kind in the library; each text is
/// kept once, so that a cell of a notebook that runs again takes no more memory.
fn kept(text: &str) -> &'static str {
    static TEXTS: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut texts = locked(&TEXTS);
    let texts = texts.get_or_insert_default();
    if let Some(known) = texts.get(text) {
        return known;
    }
    let new: &'static str = Box::leak(text.to_string().into_boxed_str());
    texts.insert(new);
    new
}
