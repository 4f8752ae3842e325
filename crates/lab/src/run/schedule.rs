//! Schedule of trials: the number run in parallel, and the threads of each.
//!
//! Small trials run one per thread. Trials that hold much memory run fewer at a time and share the
//! threads among them ("inner" parallelism); the largest run one after another with all threads.
//! Each group of threads is a pool of its own. A thread that waits inside a trial can then not begin another
//! trial, so that the number of trials under way, and their memory, never exceeds the plan.

use super::memory;
use attnlab_core::error::{Error, Result};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Largest total memory (bytes) of the trials that run in parallel. A trial that needs a thread's share of it is large
/// enough to use several threads well, and runs at a theorem's own sizes (1 GB a trial) stay under 3 GB.
const TOGETHER: u64 = 1 << 30;

/// Returns the number of trials that run in parallel on `threads` threads, of at most `trials`: all threads or a power of
/// two, so that a run has few different divisions of the threads.
fn workers(threads: usize, trials: usize) -> usize {
    if trials >= threads { threads } else { 1 << trials.max(1).ilog2() }
}

/// Returns the number of trials of `bytes` each whose total is at most `room` bytes.
fn fitting(bytes: u64, room: u64) -> usize {
    room.checked_div(bytes).and_then(|trials| usize::try_from(trials).ok()).unwrap_or(usize::MAX)
}

/// Calls `run` for every piece of `work`, `bytes` of memory each, on the threads of the current pool:
/// the heaviest pieces first, so that small ones fill the end. After an error no new piece begins.
///
/// # Errors
/// The error of `run`; of several, that of the earliest piece.
pub fn for_each<T: Sync>(work: &[T], bytes: impl Fn(&T) -> u64, run: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let threads = rayon::current_num_threads();
    // Half of what is free: other programs, and what a trial's estimate leaves out, need some.
    let room = TOGETHER.min(memory::available().map_or(TOGETHER, |free| free / 2));
    let mut classes: BTreeMap<usize, Vec<&T>> = BTreeMap::new();
    for piece in work {
        classes.entry(workers(threads, fitting(bytes(piece), room))).or_default().push(piece);
    }
    for (most, pieces) in classes {
        side_by_side(&pieces, threads, workers(threads, most.min(pieces.len())), &run)?;
    }
    Ok(())
}

/// Runs pieces of work on so many threads, `workers` of them in parallel with an equal share of the threads each.
fn side_by_side<T: Sync>(
    pieces: &[&T],
    threads: usize,
    workers: usize,
    run: &(impl Fn(&T) -> Result<()> + Sync),
) -> Result<()> {
    if workers == 1 {
        return pieces.iter().try_for_each(|piece| run(piece));
    }
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let first_error: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let work_off = || {
        while !stop.load(Ordering::Relaxed) {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(i) else { return };
            if let Err(error) = run(piece) {
                stop.store(true, Ordering::Relaxed);
                // The value is an Option, so that a panic elsewhere leaves it usable.
                let mut first = first_error.lock().unwrap_or_else(|p| p.into_inner());
                if first.as_ref().is_none_or(|(j, _)| i < *j) {
                    *first = Some((i, error));
                }
            }
        }
    };
    let pools = (0..workers).map(|_| pool(threads / workers)).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for pool in &pools {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || pool.install(work_off));
            if let Err(e) = thread {
                stop.store(true, Ordering::Relaxed);
                return Err(no_thread(workers, &e));
            }
        }
        Ok(())
    })?;
    first_error.into_inner().unwrap_or_else(|p| p.into_inner()).map_or(Ok(()), |(_, error)| Err(error))
}

fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| no_thread(threads, &e))
}

/// Returns the error for threads that the system refuses to start.
pub fn no_thread(threads: impl Display, problem: &impl Display) -> Error {
    let requirement = format!(
        "must be no more than the system starts ({problem}). Write a smaller number, or raise the limit on processes \
         (ulimit -u), which counts threads too, or on memory (ulimit -v)"
    );
    Error::invalid("threads", threads, requirement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn threads_are_shared_by_memory() {
        let split = |threads, bytes| {
            let workers = workers(threads, fitting(bytes, 1000));
            (workers, threads / workers)
        };
        assert_eq!(split(6, 0), (6, 1));
        assert_eq!(split(6, 100), (6, 1));
        assert_eq!(split(6, 250), (4, 1));
        assert_eq!(split(64, 125), (8, 8));
        assert_eq!(split(64, 140), (4, 16));
        assert_eq!(split(2, 501), (1, 2));
        assert_eq!(split(2, 5000), (1, 2));
        assert_eq!(split(1, 5000), (1, 1));
    }

    /// Pieces in flight never hold more than planned, also when each of them forks.
    #[test]
    fn memory_in_flight_is_bounded() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build();
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let bytes = TOGETHER / 2;
        pool.unwrap().install(|| {
            let work: Vec<u64> = (0..40).collect();
            for_each(
                &work,
                |_| bytes,
                |_| {
                    let held = now.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(held, Ordering::SeqCst);
                    rayon::join(std::thread::yield_now, || {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    });
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok(())
                },
            )
            .unwrap();
        });
        assert!(most.load(Ordering::SeqCst) <= 2, "{most:?}");
    }

    #[test]
    fn everything_is_done_once_and_the_first_error_is_told() {
        let sum = AtomicU64::new(0);
        let work: Vec<u64> = (0..1000).collect();
        let of = |x: &u64| if x.is_multiple_of(7) { TOGETHER } else { 0 };
        for_each(&work, of, |x| {
            sum.fetch_add(*x, Ordering::SeqCst);
            Ok(())
        })
        .unwrap();
        assert_eq!(sum.into_inner(), 999 * 500);
        let failing = |x: &u64| match x {
            0..20 => Ok(()),
            _ => Err(Error::undefined(x.to_string())),
        };
        assert_eq!(for_each(&work, |_| 0, failing).unwrap_err().to_string(), "20");
    }
}
