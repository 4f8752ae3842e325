//! Long work on a thread of its own, while the calling thread shows its progress and listens for Ctrl-C.

use crate::convert::exception;
use attnlab_core::error::Result;
use attnlab_lab::run::Progress;
use attnlab_lab::run::schedule::no_thread;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRecursionError, PyRuntimeError};
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);
/// Time for trials under way to end after Ctrl-C. What does not end in it goes on in the background until its trial
/// or layer is done; its result is not used.
const GRACE: Duration = Duration::from_millis(600);

/// Progress of work under way, and whether it shall stop.
#[derive(Default)]
pub struct Meter {
    total: AtomicU64,
    done: AtomicU64,
    stop: AtomicBool,
    label: Mutex<String>,
    lines: Mutex<Vec<String>>,
}

pub fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // Plain values, which a panic elsewhere leaves usable.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of threads under way in this process.
static THREADS: AtomicU64 = AtomicU64::new(0);
/// Flag: the interpreter is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Number of runs inside each other's trials that are allowed: each has threads of its own.
const DEEPEST: u32 = 16;

thread_local! {
    /// Number of runs of whose trials this thread runs one.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `work` one run deeper than this thread is.
///
/// # Errors
/// RecursionError where a trial checks its own claim.
pub fn deeper<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let depth = DEPTH.get();
    if depth >= DEEPEST {
        let text = format!("{DEEPEST} runs, each in a trial of another: a trial must not run its own claim");
        return Err(PyRecursionError::new_err(text));
    }
    DEPTH.set(depth + 1);
    let _back = Finally(|| DEPTH.set(DEPTH.get() - 1));
    work()
}

/// Function that is called when it is dropped, after a panic too.
struct Finally(fn());

impl Drop for Finally {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Stops everything that is under way and waits for it, so that no thread calls an interpreter that is gone: Python
/// calls it at its exit.
#[pyfunction]
pub fn end(py: Python<'_>) -> PyResult<()> {
    ENDING.store(true, Ordering::SeqCst);
    // The threads that a forked process has seen are its parent's.
    while std::process::id() == loaded_by() && THREADS.load(Ordering::SeqCst) > 0 {
        py.check_signals()?;
        py.detach(|| std::thread::sleep(LOOK));
    }
    Ok(())
}

/// Returns the number of the process that has loaded the module.
pub fn loaded_by() -> u32 {
    static LOADED_BY: OnceLock<u32> = OnceLock::new();
    *LOADED_BY.get_or_init(std::process::id)
}

/// Runs `work` on so many threads of its own; 0 for one per core.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let depth = DEPTH.get();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(move |_| DEPTH.set(depth)).build();
    pool.map_err(|e| no_thread(threads, &e))?.install(work)
}

impl Progress for Meter {
    fn start(&self, label: &str, total: u64) {
        *locked(&self.label) = label.to_string();
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    fn resume(&self, steps: u64) {
        self.done.store(steps, Ordering::Relaxed);
    }

    fn announce(&self, line: &str) {
        locked(&self.lines).push(line.to_string());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || ENDING.load(Ordering::Relaxed)
    }

    fn finish(&self) {}
}

impl Meter {
    /// Shows the state to `report`, an object with `line(text)` and `update(label, done, total)`.
    fn show(&self, report: &Bound<'_, PyAny>) -> PyResult<()> {
        for line in locked(&self.lines).drain(..) {
            report.call_method1("line", (line,))?;
        }
        let label = locked(&self.label).clone();
        let (done, total) = (&self.done, &self.total);
        report.call_method1("update", (label, done.load(Ordering::Relaxed), total.load(Ordering::Relaxed)))?;
        Ok(())
    }
}

/// Runs `work` on a thread of its own, without the GIL. `report` receives the progress, unless it is None.
///
/// # Errors
/// Those of `work`; KeyboardInterrupt within a second of Ctrl-C; RecursionError of [`deeper`].
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Meter) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    deeper(|| watched(py, report.filter(|r| !r.is_none()), work))
}

fn watched<T: Send + 'static>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Meter) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let meter = Arc::new(Meter::default());
    let (sender, receiver) = channel();
    let shared = meter.clone();
    // A process that was forked has none of the threads that its parent had started.
    let forked = std::process::id() != loaded_by();
    THREADS.fetch_add(1, Ordering::SeqCst);
    let under_way = Finally(|| {
        THREADS.fetch_sub(1, Ordering::SeqCst);
    });
    let depth = DEPTH.get();
    std::thread::spawn(move || {
        let _under_way = under_way;
        DEPTH.set(depth);
        let outcome = if forked { on_threads(0, || work(&shared)) } else { work(&shared) };
        // Nobody listens any more after Ctrl-C.
        let _ = sender.send(outcome);
    });
    // A receiver may be used by one thread at a time, which the lock tells the compiler.
    let receiver = Mutex::new(receiver);
    let wait = |time: Duration| -> std::result::Result<Result<T>, RecvTimeoutError> {
        py.detach(|| {
            let receiver: MutexGuard<Receiver<Result<T>>> = locked(&receiver);
            receiver.recv_timeout(time)
        })
    };
    let mut shown = false;
    let outcome = loop {
        match wait(LOOK) {
            Ok(outcome) => break outcome,
            Err(RecvTimeoutError::Disconnected) => {
                let text = "the computation ended by a panic, which is a defect of attnlab; its message is on \
                            standard error";
                return Err(PyRuntimeError::new_err(text));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let looked = py.check_signals().and_then(|()| {
            shown |= report.is_some();
            report.map_or(Ok(()), |report| meter.show(report))
        });
        if let Err(stopped) = looked {
            meter.stop.store(true, Ordering::Relaxed);
            let is_interrupt = |e: &PyErr| e.is_instance_of::<PyKeyboardInterrupt>(py);
            // The library's own message about what is kept, if the work ends in time.
            let message = wait(GRACE).ok().and_then(Result::err).map(exception);
            return Err(match message {
                Some(e) if is_interrupt(&e) && is_interrupt(&stopped) => e,
                _ => stopped,
            });
        }
    };
    if let Some(report) = report.filter(|_| shown) {
        meter.show(report)?;
    }
    outcome.map_err(exception)
}
