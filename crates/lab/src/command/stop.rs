//! Stop of the program before its work is done: by Ctrl-C, by a batch system's SIGTERM, or at the time limit.

use super::out::note;
use crate::run::schedule::no_thread;
use crate::run::{checkpoints, files, watch};
use attnlab_core::error::Result;
#[cfg(unix)]
use nix::sys::signal::{SigSet, Signal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Flag: the program is to stop.
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Time that trials under way get to end by themselves.
const GRACE: Duration = Duration::from_millis(800);
/// Time that a long trial gets at the time limit to write its checkpoint.
const CHECKPOINT: Duration = Duration::from_secs(60);
/// Time between two looks at the checkpoints.
const LOOK: Duration = Duration::from_millis(50);

/// Returns `true` if the program is to stop.
pub(super) fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Makes Ctrl-C (or a batch system's SIGTERM) end the program within a second, with exit status
/// [`STOPPED`](super::STOPPED). A row is one write and a file is replaced in full or not at all, so that nothing
/// stored is lost. Only a trial that writes checkpoints gets the time for one; a second Ctrl-C ends that at once too.
///
/// A write beyond the limit on the size of files (`ulimit -f`) fails like one on a full disk, and does not end the
/// program without a word.
pub fn stop_on_signals() {
    // Blocked for the threads that start later too, and the write itself then returns the error.
    #[cfg(unix)]
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
    // Fails only where a handler is set already: by this function.
    #[cfg(not(target_family = "wasm"))]
    let _ = ctrlc::set_handler(|| {
        if is_requested() {
            end();
        }
        if checkpoints::under_way() {
            note("stopping after the step under way, with a checkpoint; once more stops at once");
        }
        // In a thread of its own, so that the next signal is heard.
        if Builder::new().spawn(|| stop(Duration::MAX)).is_err() {
            end();
        }
    });
}

/// Stops the program after `limit` as Ctrl-C does, and tells the user.
///
/// # Errors
/// Where the system refuses the thread that waits.
pub fn stop_after(limit: Duration) -> Result<()> {
    let wait = move || {
        thread::sleep(limit);
        note(&format!("the time limit of {} s is over", limit.as_secs_f64()));
        stop(CHECKPOINT)
    };
    Builder::new().spawn(wait).map(drop).map_err(|e| no_thread(1, &e))
}

/// Waits for this time; returns `false` as soon as the program is to stop.
pub fn wait(time: Duration) -> bool {
    let begun = Instant::now();
    while !is_requested() && begun.elapsed() < time {
        thread::sleep(LOOK.min(time.saturating_sub(begun.elapsed())));
    }
    !is_requested()
}

/// Asks all work to stop, waits for checkpoints for at most `patience`, and ends what goes on.
fn stop(patience: Duration) {
    REQUESTED.store(true, Ordering::SeqCst);
    let requested = Instant::now();
    while checkpoints::under_way() && requested.elapsed() < patience {
        thread::sleep(LOOK);
    }
    thread::sleep(GRACE);
    end();
}

/// Ends the program without its temporary files, and names the trial that has been under way for the longest time.
fn end() -> ! {
    let trial = watch::longest().map_or(String::new(), |trial| format!(" in {trial}"));
    note(&format!(
        "stopped{trial}. What is done is kept where rows go to a folder: give the same command again, it goes on where \
         it stopped"
    ));
    files::abandon();
    std::process::exit(i32::from(super::STOPPED))
}
