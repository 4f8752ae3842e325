//! NumPy arrays: reading them where they are, and the commands that take them.
#![allow(unsafe_code)]

use crate::background;
use crate::convert::{Raised, number, optional, refused, serialised, whole};
use attnlab_aot::draws::{BasisRelation, DrawOptions, Planned};
use attnlab_aot::horizon::{HorizonReport, Predicted, bytes_with_copies, horizon_of_given, horizon_on};
use attnlab_aot::theory::printed::delta_limit;
use attnlab_aot::unroll::{Given, check, unknown_label, unroll_given};
use attnlab_core::error::{Error, Result};
use attnlab_lab::run::{Progress, memory};
use attnlab_theory::attention::streaming::{Cpu, Machine};
use attnlab_theory::attention::{Mask, Mssa, Phi};
use attnlab_theory::sample::Mixture;
use ndarray::{Array1, Array2, ArrayView2, Ix2, RawArrayView};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A matrix of the caller: in the memory of its NumPy array, or a copy in float64 of one in float32.
pub enum Matrix {
    /// The array is kept alive; the view is of its memory.
    Lent(Lent),
    Copied(Array2<f64>),
}

/// Memory of a NumPy array.
pub struct Lent {
    view: RawArrayView<f64, Ix2>,
    _array: Py<PyArray2<f64>>,
}

// SAFETY: the memory is read and never written from here, and lives as long as the array, which is held. Python code
// that writes into the array while a computation reads it changes the result of that computation, as it does in NumPy
// itself, whose functions release the GIL too.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl Matrix {
    /// Returns the view (d, N).
    pub fn view(&self) -> ArrayView2<'_, f64> {
        match self {
            // SAFETY: see `Lent`; `matrix` has checked that the array is aligned.
            Matrix::Lent(lent) => unsafe { lent.view.deref_into_view() },
            Matrix::Copied(copy) => copy.view(),
        }
    }
}

/// A shape as NumPy prints it: (3,), (2, 4).
fn shape_of(array: &Bound<'_, PyUntypedArray>) -> String {
    match array.shape() {
        [length] => format!("({length},)"),
        sizes => {
            let sizes: Vec<_> = sizes.iter().map(usize::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

fn shape_error(name: &str, array: &Bound<'_, PyUntypedArray>, expected: &str) -> PyErr {
    crate::convert::exception(Error::Shape { name: name.into(), found: shape_of(array), expected: expected.into() })
}

fn type_error(name: &str, array: &Bound<'_, PyUntypedArray>, allowed: &str, write: &str) -> PyErr {
    let dtype = array.dtype().to_string();
    let allowed = format!("must be of the NumPy type {allowed}. Write {write}");
    crate::convert::exception(Error::invalid(format!("type of {name}"), dtype, allowed))
}

fn untyped<'a, 'py>(name: &str, value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    value.cast::<PyUntypedArray>().map_err(|_| {
        let kind = value.get_type().to_string();
        let allowed = "must be a NumPy array. Write numpy.asarray(..)";
        crate::convert::exception(Error::invalid(format!("type of {name}"), kind, allowed))
    })
}

/// Reads a matrix of float64 where it is, in any order of memory; one of float32 is widened.
pub fn matrix(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    let array = untyped(name, value)?;
    if array.ndim() != 2 || array.is_empty() {
        let expected = "two dimensions, (d, N) for tokens and (d, p) for a basis, none of them 0";
        return Err(shape_error(name, array, expected));
    }
    let matrix = match (value.cast::<PyArray2<f64>>(), value.cast::<PyArray2<f32>>()) {
        (Ok(array), _) if array.is_aligned() => {
            Matrix::Lent(Lent { view: array.as_raw_array(), _array: array.clone().unbind() })
        }
        (_, Ok(array)) if array.is_aligned() => Matrix::Copied(array.readonly().as_array().mapv(f64::from)),
        _ => {
            let allowed = "float64 or float32, in the byte order of this machine";
            return Err(type_error(name, array, allowed, &format!("{name}.astype('float64')")));
        }
    };
    let wrong = value.py().detach(|| {
        let view = matrix.view();
        view.indexed_iter().find(|(_, x)| !x.is_finite()).map(|(place, x)| (place, *x))
    });
    match wrong {
        None => Ok(matrix),
        Some(((i, j), x)) => Err(Error::invalid(format!("{name}[{i}, {j}]"), x, "must be a finite number")).raised(),
    }
}

/// Reads bases, one matrix each; they are copied, which takes d Σ p_k numbers.
fn bases(value: &Bound<'_, PyAny>) -> PyResult<Vec<Array2<f64>>> {
    let list = value
        .try_iter()
        .map_err(|_| refused("bases", value, "must be a list of NumPy arrays, one (d, p) per subspace"))?;
    let basis =
        |(k, u): (usize, PyResult<Bound<'_, PyAny>>)| matrix(&format!("bases[{k}]"), &u?).map(|u| u.view().to_owned());
    list.enumerate().map(basis).collect()
}

/// Reads labels (N,) of any integer type.
fn labels(value: &Bound<'_, PyAny>, clusters: usize) -> PyResult<Vec<usize>> {
    let array = untyped("labels", value)?;
    if array.ndim() != 1 {
        return Err(shape_error("labels", array, "(N,), one label per token"));
    }
    if !matches!(array.dtype().kind(), b'i' | b'u') {
        return Err(type_error("labels", array, "int64, or another of integers,", "labels.astype('int64')"));
    }
    let wide: PyReadonlyArray1<i64> = value.call_method1("astype", ("int64",))?.extract()?;
    let label = |(i, k): (usize, &i64)| match usize::try_from(*k) {
        Ok(k) if k < clusters => Ok(k),
        _ => Err(unknown_label(i, k, clusters)),
    };
    let read: Result<Vec<usize>> = wide.as_array().iter().enumerate().map(label).collect();
    read.raised()
}

/// Tokens, bases and labels that fit together.
pub struct Taken {
    /// Z (d, N).
    pub tokens: Matrix,
    /// U_k (d, p_k).
    pub bases: Vec<Array2<f64>>,
    /// Cluster of each token.
    pub labels: Option<Vec<usize>>,
    warnings: Vec<String>,
}

impl Taken {
    /// Reads and checks all of them.
    pub fn read(
        tokens: &Bound<'_, PyAny>,
        bases: &Bound<'_, PyAny>,
        labels: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Taken> {
        let tokens = matrix("tokens", tokens)?;
        let bases = self::bases(bases)?;
        let labels = optional(labels, |y| self::labels(y, bases.len()))?;
        let warnings = check(tokens.view().dim(), &bases, labels.as_deref()).raised()?;
        Ok(Taken { tokens, bases, labels, warnings })
    }

    fn given(&self) -> Given<'_> {
        Given { tokens: self.tokens.view(), bases: &self.bases, labels: self.labels.as_deref() }
    }
}

/// Runs the unrolled network: (SNR per layer and cluster, decisions repeated per layer, last tokens, warnings).
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub fn unroll<'py>(
    py: Python<'py>,
    z: &Bound<'py, PyAny>,
    bases: &Bound<'py, PyAny>,
    labels: Option<&Bound<'py, PyAny>>,
    phi: &str,
    layers: &Bound<'py, PyAny>,
    eta: &Bound<'py, PyAny>,
    tau: &Bound<'py, PyAny>,
    mask: &str,
    normalise_queries: bool,
    precision: &str,
    report: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Option<Bound<'py, PyArray2<f64>>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>, Vec<String>)> {
    let layers = whole("layers", layers, 1)?;
    let layer = Mssa {
        phi: Phi::parse(phi, number("tau", tau)?).raised()?,
        eta: positive("eta", eta)?,
        mask: match mask {
            "none" => Mask::None,
            "causal" => Mask::Causal,
            other => return Err(Error::invalid("mask", other, "must be none or causal")).raised(),
        },
        normalise_queries,
    };
    let single = match precision {
        "f64" => false,
        "f32" => true,
        other => return Err(Error::invalid("precision", other, "must be f32 or f64")).raised(),
    };
    let taken = Taken::read(z, bases, labels)?;
    let warnings = taken.warnings.clone();
    let report = background::run(py, report, move |meter| {
        meter.start("unroll", layers);
        let machine: Option<&dyn Machine> = if single { Some(&Cpu) } else { None };
        unroll_given(taken.given(), &layer, layers, machine, &mut |row| {
            meter.advance(u64::from(row.layer > 0));
            match meter.stopped() {
                true => Err(Error::Stopped { done: row.layer, all: layers, what: "layers", kept: false }),
                false => Ok(()),
            }
        })
    })?;
    let clusters = report.layers.first().map_or(0, |row| row.snr.len());
    let rows = report.layers.len();
    let snr: Vec<f64> = report.layers.iter().flat_map(|row| row.snr.clone()).collect();
    let snr = Array2::from_shape_vec((rows, clusters), snr).map_err(|e| Error::undefined(e.to_string())).raised()?;
    let again: Array1<i64> = report.layers.iter().map(|row| row.redecided as i64).collect();
    Ok(((clusters > 0).then(|| snr.into_pyarray(py)), again.into_pyarray(py), report.tokens.into_pyarray(py), warnings))
}

pub fn positive(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let x = number(name, value)?;
    attnlab_core::error::positive(name, x).map(|()| x).raised()
}

/// Refuses τ outside (0, 1].
pub fn threshold(tau: &Bound<'_, PyAny>) -> PyResult<f64> {
    let tau = positive("tau", tau)?;
    if tau <= 1.0 { Ok(tau) } else { Err(Error::invalid("tau", tau, "must be a number in (0, 1]")).raised() }
}

/// The report as a dict, with the law beside it.
fn with_law(py: Python<'_>, report: &HorizonReport) -> PyResult<Py<PyAny>> {
    let dict = serialised(py, report)?;
    dict.bind(py).set_item("predicted", serialised(py, &Predicted::beside(report))?)?;
    Ok(dict)
}

/// Finds the horizon of one draw.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn horizon_of_draw(
    py: Python<'_>,
    tokens: &Bound<'_, PyAny>,
    clusters: &Bound<'_, PyAny>,
    dim: &Bound<'_, PyAny>,
    delta: Option<&Bound<'_, PyAny>>,
    eta: &Bound<'_, PyAny>,
    tau: &Bound<'_, PyAny>,
    seed: &Bound<'_, PyAny>,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let [n, k, p] =
        [("tokens", tokens), ("clusters", clusters), ("dim", dim)].map(|(name, value)| whole(name, value, 1));
    let (n, k, p, seed) = (n?, k?, p?, whole("seed", seed, 0)?);
    let delta = optional(delta, |x| number("delta", x))?.unwrap_or_else(|| delta_limit(n as f64, p as f64));
    let (eta, tau) = (positive("eta", eta)?, threshold(tau)?);
    memory::ensure("the horizon of one draw", bytes_with_copies(n, k, p)).raised()?;
    let mixture = Mixture::balanced(n as usize, k as usize, p as usize, delta).raised()?;
    with_law(py, &background::run(py, report, move |meter| horizon_on(&Cpu, &mixture, eta, tau, seed, meter))?)
}

/// Finds the horizon of tokens with bases and labels.
#[pyfunction]
pub fn horizon_of_tokens(
    py: Python<'_>,
    z: &Bound<'_, PyAny>,
    bases: &Bound<'_, PyAny>,
    labels: Option<&Bound<'_, PyAny>>,
    eta: &Bound<'_, PyAny>,
    tau: &Bound<'_, PyAny>,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (eta, tau) = (positive("eta", eta)?, threshold(tau)?);
    let taken = Taken::read(z, bases, labels)?;
    let largest = taken.bases.iter().map(Array2::ncols).max().unwrap_or(0);
    let (n, k) = (taken.tokens.view().ncols() as u64, taken.bases.len() as u64);
    memory::ensure("the horizon of one draw", bytes_with_copies(n, k, largest as u64)).raised()?;
    with_law(py, &background::run(py, report, move |meter| horizon_of_given(&Cpu, taken.given(), eta, tau, meter))?)
}

/// Draws tokens (d, N), bases and labels (N,), with the seeds and parameters.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn sample<'py>(
    py: Python<'py>,
    options: &Bound<'py, PyDict>,
    claim: Option<&str>,
    set: &Bound<'py, PyDict>,
    seed: &Bound<'py, PyAny>,
    trial: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyList>, Bound<'py, PyArray1<i64>>, Py<PyAny>)> {
    let (seed, trial) = (whole("seed", seed, 0)?, whole("trial", trial, 0)?);
    let planned = match claim {
        Some(id) => Planned::of_claim(id, &crate::convert::map_of(set)?, seed, trial).raised()?,
        None => Planned::of_options(&options_of(options)?, seed).raised()?,
    };
    let (draw, planned) = background::run(py, None, move |_| Ok((planned.draw()?, planned)))?;
    let bases = PyList::new(py, draw.bases.into_iter().map(|u| u.into_pyarray(py)).collect::<Vec<_>>())?;
    let labels: Array1<i64> = draw.labels.iter().map(|k| *k as i64).collect();
    let origin = crate::convert::to_python(py, &planned.describe(), false)?;
    Ok((draw.tokens.into_pyarray(py), bases, labels.into_pyarray(py), origin))
}

fn options_of(given: &Bound<'_, PyDict>) -> PyResult<DrawOptions> {
    let get = |name: &str| given.get_item(name);
    let size = |name: &str, default: u64| -> PyResult<u64> {
        Ok(optional(get(name)?.as_ref(), |v| whole(name, v, 1))?.unwrap_or(default))
    };
    let real = |name: &str| optional(get(name)?.as_ref(), |v| number(name, v));
    let default = DrawOptions::default();
    let relation = match get("relation")?.filter(|r| !r.is_none()) {
        None => default.relation,
        Some(word) => match word.to_string().as_str() {
            "orthonormal" => BasisRelation::Orthonormal,
            "independent" => BasisRelation::Independent,
            "coherent" => BasisRelation::Coherent,
            _ => return Err(refused("relation", &word, "must be orthonormal, independent or coherent")),
        },
    };
    Ok(DrawOptions {
        tokens: size("tokens", default.tokens)?,
        clusters: size("clusters", default.clusters)?,
        dim: size("dim", default.dim)?,
        ambient: optional(get("ambient")?.as_ref(), |v| whole("ambient", v, 1))?,
        delta: real("delta")?,
        relation,
        coherence: real("coherence")?,
    })
}
