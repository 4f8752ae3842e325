//! Points at which a run waits to be killed, for tests.
//!
//! A test that kills a run after some time depends on the speed of the machine: the run may not have begun, or may have
//! ended. With one of these variables the run itself waits, at a point that the test chooses.

use attnlab_core::error::{Error, Result};
use std::time::Duration;

/// Environment variable for tests: n, number of rows. A run of a grid (an experiment, a sweep) waits before it appends
/// row n + 1 to its file, until it is killed or the user stops it; the file then has exactly n rows.
pub const AFTER_ROWS: &str = "ATTNLAB_TEST_PAUSE_AFTER_ROWS";

/// Environment variable for tests: n, number of checkpoints. A process waits before it writes its checkpoint n + 1,
/// until it is killed.
pub const AFTER_CHECKPOINTS: &str = "ATTNLAB_TEST_PAUSE_AFTER_CHECKPOINTS";

/// Environment variable for tests: n, number of files. A process waits before it replaces file of rows n + 1 by the rows
/// in canonical order, which lie beside it then, until it is killed.
pub const AFTER_REPLACEMENTS: &str = "ATTNLAB_TEST_PAUSE_AFTER_REPLACEMENTS";

/// Environment variable for tests: n, number of a trial. That trial and those after it never end.
pub const IN_TRIAL: &str = "ATTNLAB_TEST_PAUSE_IN_TRIAL";

/// Waits before item number `written` + 1 if `variable` is set to at most `written`, until the process is killed or
/// `stopped` returns `true`.
///
/// # Errors
/// [`Error::Invalid`] for a variable that is not a whole number.
pub(super) fn before_next(variable: &str, written: u64, stopped: impl Fn() -> bool) -> Result<()> {
    let Some(value) = std::env::var_os(variable) else { return Ok(()) };
    let value = value.to_string_lossy();
    let Ok(limit) = value.parse::<u64>() else { return Err(Error::invalid(variable, value, "must be a whole number")) };
    while written >= limit && !stopped() {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
