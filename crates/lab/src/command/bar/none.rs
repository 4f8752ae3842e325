//! Progress where there is no terminal: none is shown.

use super::stop;
use crate::run::Progress;

/// A bar that shows nothing.
pub struct Bar;

impl Bar {
    /// Creates a bar for work whose results come at its end.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Bar
    }

    /// Creates a bar for work whose results come line by line.
    pub fn unless_lines_show() -> Self {
        Bar
    }

    /// Creates a bar for runs that keep their rows.
    pub fn resumable() -> Self {
        Bar
    }
}

impl Progress for Bar {
    fn stopped(&self) -> bool {
        stop::is_requested()
    }
}
