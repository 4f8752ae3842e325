//! Streams of the library as bit generators of NumPy.
//!
//! `numpy.random.Generator` takes any object with a `lock` and a `capsule` named "BitGenerator", whose pointer is a
//! struct of C functions (numpy/random/bitgen.h). Ours read the ChaCha stream of a trial, so that a generator in
//! Python sees the bits that the same stream has in Rust.
#![allow(unsafe_code)]

use attnlab_core::rng::{Generator, Streams};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rand::Rng;
use std::ffi::{CStr, c_void};

/// Name under which NumPy looks for the functions.
const NAME: &CStr = c"BitGenerator";

/// `bitgen_t` of NumPy.
#[repr(C)]
struct BitGen {
    state: *mut c_void,
    next_uint64: unsafe extern "C" fn(*mut c_void) -> u64,
    next_uint32: unsafe extern "C" fn(*mut c_void) -> u32,
    next_double: unsafe extern "C" fn(*mut c_void) -> f64,
    next_raw: unsafe extern "C" fn(*mut c_void) -> u64,
}

/// The struct of functions with the generator that it points to.
#[repr(transparent)]
struct Owned(BitGen);

// SAFETY: the generator is owned and Send. NumPy calls the functions with the lock of the bit generator held, one
// thread at a time.
unsafe impl Send for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of `Box::into_raw` in `Stream::open`, and is freed once.
        drop(unsafe { Box::from_raw(self.0.state.cast::<Generator>()) });
    }
}

/// # Safety
/// `state` is the generator of an [`Owned`] that is alive.
unsafe extern "C" fn next_uint64(state: *mut c_void) -> u64 {
    // SAFETY: see above.
    unsafe { &mut *state.cast::<Generator>() }.next_u64()
}

/// # Safety
/// As [`next_uint64`].
unsafe extern "C" fn next_uint32(state: *mut c_void) -> u32 {
    // SAFETY: see above.
    unsafe { &mut *state.cast::<Generator>() }.next_u32()
}

/// # Safety
/// As [`next_uint64`].
unsafe extern "C" fn next_double(state: *mut c_void) -> f64 {
    // 53 bits, as `rand` and NumPy make a number in [0, 1). SAFETY: see above.
    (unsafe { next_uint64(state) } >> 11) as f64 / 9_007_199_254_740_992.0
}

/// Bit generator over one named part of a trial's streams.
#[pyclass(frozen, module = "attnlab", name = "Stream")]
pub struct Stream {
    streams: Streams,
    capsule: Py<PyCapsule>,
    lock: Py<PyAny>,
}

impl Stream {
    /// Opens the part `name` with number `index` of the streams of a trial.
    pub fn open(py: Python<'_>, streams: &Streams, name: &str, index: u64) -> PyResult<Self> {
        let generator: Generator = streams.part(name, index);
        let owned = Owned(BitGen {
            state: Box::into_raw(Box::new(generator)).cast(),
            next_uint64,
            next_uint32,
            next_double,
            next_raw: next_uint64,
        });
        Ok(Stream {
            streams: streams.clone(),
            capsule: PyCapsule::new_with_value(py, owned, NAME)?.unbind(),
            lock: py.import("threading")?.call_method0("RLock")?.unbind(),
        })
    }
}

#[pymethods]
impl Stream {
    /// Streams of a trial outside a run: the part `name` of trial `trial` of `claim` in the cell of `params`.
    #[new]
    #[pyo3(signature = (seed=0, claim="", cell=0, trial=0, part="trial", index=0))]
    fn new(py: Python<'_>, seed: u64, claim: &str, cell: u64, trial: u64, part: &str, index: u64) -> PyResult<Self> {
        Stream::open(py, &Streams::new(seed, claim, cell, trial), part, index)
    }

    /// The struct of C functions that NumPy reads.
    #[getter]
    fn capsule(&self, py: Python<'_>) -> Py<PyCapsule> {
        self.capsule.clone_ref(py)
    }

    /// The lock that NumPy holds while it draws.
    #[getter]
    fn lock(&self, py: Python<'_>) -> Py<PyAny> {
        self.lock.clone_ref(py)
    }

    /// Opens another named part of the same trial, from its beginning.
    #[pyo3(signature = (name, index=0))]
    fn part(&self, py: Python<'_>, name: &str, index: u64) -> PyResult<Stream> {
        Stream::open(py, &self.streams, name, index)
    }

    /// Draws one raw number of 64 bits.
    fn random_raw(&self, py: Python<'_>) -> PyResult<u64> {
        let lock = self.lock.bind(py);
        lock.call_method0("acquire")?;
        let pointer = self.capsule.bind(py).pointer_checked(Some(NAME));
        let raw = pointer.map(|pointer| {
            // SAFETY: the capsule holds an `Owned`, which begins with the functions, and the lock is held.
            unsafe {
                let functions = pointer.cast::<BitGen>().as_ref();
                (functions.next_raw)(functions.state)
            }
        });
        lock.call_method0("release")?;
        raw
    }
}
