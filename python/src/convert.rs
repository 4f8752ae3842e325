//! Values and errors between Python and the library.

use attnlab_core::error::{Error, Result};
use attnlab_lab::run::store::as_number;
use pyo3::exceptions::{
    PyArithmeticError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde_json::{Map, Value};

/// 2^64: a whole f64 below it is a u64 exactly.
const WHOLE_END: f64 = 18_446_744_073_709_551_616.0;

/// Converts an error to the exception that Python has for it, with the library's message: ValueError for input,
/// ArithmeticError for a failed computation, OSError, MemoryError, KeyboardInterrupt.
pub fn exception(error: Error) -> PyErr {
    let text = match &error {
        // The library's message names options of the command line.
        Error::Missing { names, set } => {
            let verb = if names.len() == 1 { "is" } else { "are" };
            let set = set.iter().map(|s| s.trim_start_matches("--set ")).collect::<Vec<_>>().join(", ");
            format!("{} {verb} required: add {set}", names.join(", "))
        }
        error => arguments_for_options(&error.to_string()),
    };
    match error {
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Memory { .. } => PyMemoryError::new_err(text),
        Error::Stopped { .. } => PyKeyboardInterrupt::new_err(text),
        Error::Gpu(_) => PyRuntimeError::new_err(text),
        error if error.is_numerical() => PyArithmeticError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// Options of the command line that are flags, among those that messages name.
const FLAGS: [&str; 3] = ["force", "mix-builds", "partial"];

/// Writes the options that a message names as arguments: `--out DIR` is out=DIR, `--mix-builds` is mix_builds=True. Whole
/// commands, such as `attnlab sweep FILE --out DIR`, stay as they are.
fn arguments_for_options(text: &str) -> String {
    let mut written = String::new();
    let (mut command, mut named) = (false, false);
    for word in text.split_inclusive(' ') {
        command |= word.trim_start_matches('`').trim_end() == "attnlab";
        // A value follows its name without a space.
        if named && written.ends_with("= ") && word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
        {
            written.pop();
        }
        let option = word.strip_prefix("--").filter(|_| !command);
        named = option.is_some();
        match option {
            None => written += word,
            Some(option) => {
                let (name, rest) =
                    option.split_at(option.find(|c: char| c != '-' && !c.is_alphanumeric()).unwrap_or(option.len()));
                let argument = match name {
                    "no-controls" => "controls=False".into(),
                    _ if FLAGS.contains(&name) => format!("{}=True", name.replace('-', "_")),
                    _ => format!("{}=", name.replace('-', "_")),
                };
                written += &argument;
                written += rest;
            }
        }
        command &= !word.trim_end().ends_with(['.', ';', ',', ':', '`', ')']);
    }
    written
}

/// Converts JSON to Python. With `words`, the texts `nan`, `inf` and `-inf` become the numbers that rows write so.
pub fn to_python(py: Python<'_>, value: &Value, words: bool) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Null => py.None(),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any().unbind(),
        Value::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => n.into_pyobject(py)?.into_any().unbind(),
            (_, Some(n)) => n.into_pyobject(py)?.into_any().unbind(),
            _ => float(py, n.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => match as_number(value).filter(|_| words) {
            Some(x) => float(py, x),
            None => PyString::new(py, text).into_any().unbind(),
        },
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item, words)?)?;
            }
            list.into_any().unbind()
        }
        Value::Object(map) => object(py, map, words)?.into_any().unbind(),
    })
}

fn float(py: Python<'_>, x: f64) -> Py<PyAny> {
    PyFloat::new(py, x).into_any().unbind()
}

/// Converts a JSON object to a dict.
pub fn object<'py>(py: Python<'py>, map: &Map<String, Value>, words: bool) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in map {
        dict.set_item(name, to_python(py, value, words)?)?;
    }
    Ok(dict)
}

/// Converts what the library writes as JSON to Python.
pub fn serialised(py: Python<'_>, value: &impl Serialize) -> PyResult<Py<PyAny>> {
    to_python(py, &serde_json::to_value(value).map_err(|e| exception(Error::unwritable("a result (JSON)", e)))?, false)
}

/// Converts Python to JSON: None, bool, int, float, str, list, tuple, dict, and NumPy scalars and arrays. Infinities
/// and NaN become words, which the library refuses with the name of the parameter.
pub fn from_python(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(name, value, DEEPEST)
}

/// Depth to which lists and dicts may be nested: far beyond a witness, far below what a stack holds.
const DEEPEST: usize = 32;

fn nested(name: &str, value: &Bound<'_, PyAny>, deeper: usize) -> PyResult<Value> {
    if deeper == 0 {
        let kind = format!("a nested {}", value.get_type().name()?);
        return Err(exception(Error::invalid(name, kind, format!("must be nested at most {DEEPEST} deep"))));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return match (value.extract::<u64>(), value.extract::<i64>()) {
            (Ok(n), _) => Ok(n.into()),
            (_, Ok(n)) => Ok(n.into()),
            _ => Err(refused(name, value, "must be a number of at most 64 bits")),
        };
    }
    if let Ok(x) = value.cast::<PyFloat>() {
        let x = x.value();
        return Ok(if x.is_finite() { x.into() } else { x.to_string().into() });
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_string().into());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return map_nested(dict, deeper - 1).map(Value::Object);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| item.and_then(|item| nested(name, &item, deeper - 1)));
        return items.collect::<PyResult<Vec<_>>>().map(Value::Array);
    }
    if value.hasattr("tolist")? {
        return nested(name, &value.call_method0("tolist")?, deeper - 1);
    }
    if value.hasattr("__fspath__")? {
        return Ok(value.str()?.to_string().into());
    }
    Err(refused(name, value, "must be a number, a flag, a text, or a list or dict of them"))
}

/// Converts a dict to a JSON object, in its order. A value that is None is left out: the parameter keeps its default.
pub fn map_of(dict: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    map_nested(dict, DEEPEST)
}

fn map_nested(dict: &Bound<'_, PyDict>, deeper: usize) -> PyResult<Map<String, Value>> {
    let mut map = Map::new();
    for (name, value) in dict.iter() {
        let name = name.str()?.to_string();
        if !value.is_none() {
            let value = nested(&name, &value, deeper)?;
            map.insert(name, value);
        }
    }
    Ok(map)
}

/// Refuses an argument, by the grammar of the library's messages.
pub fn refused(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    exception(Error::invalid(name, value.repr().map_or("?".into(), |text| text.to_string()), allowed))
}

/// Reads a whole number ≥ `least`; 1e5 is accepted.
pub fn whole(name: &str, value: &Bound<'_, PyAny>, least: u64) -> PyResult<u64> {
    let flag = value.is_instance_of::<PyBool>();
    let number = value.extract::<u64>().ok().or_else(|| {
        let x = value.extract::<f64>().ok()?;
        (x.fract() == 0.0 && (0.0..WHOLE_END).contains(&x)).then_some(x as u64)
    });
    number
        .filter(|n| !flag && *n >= least)
        .ok_or_else(|| refused(name, value, &format!("must be a whole number >= {least}")))
}

/// Reads a finite number.
pub fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let number = value.extract::<f64>().ok().filter(|x| x.is_finite());
    number.ok_or_else(|| refused(name, value, "must be a finite number"))
}

/// Returns an entry of a dict that must be there.
pub fn needed<'py>(spec: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    spec.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("{name} is required")))
}

/// Reads an argument that may be None.
pub fn optional<T>(
    value: Option<&Bound<'_, PyAny>>,
    read: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    value.filter(|v| !v.is_none()).map(read).transpose()
}

/// Converts the library's errors to exceptions.
pub trait Raised<T> {
    /// Returns the value, or the exception of the error.
    fn raised(self) -> PyResult<T>;
}

impl<T> Raised<T> for Result<T> {
    fn raised(self) -> PyResult<T> {
        self.map_err(exception)
    }
}
