//! Progress bars, on a terminal only.

use crate::run::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

const TEMPLATE: &str = "{msg:32} {bar:24} {pos}/{len}  {eta} left";

/// A bar on standard error with the time left; shows nothing where that is no terminal.
pub struct Bar(ProgressBar);

impl Bar {
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        // The template is a constant that the test below parses; the default bar serves otherwise.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Bar(bar)
    }

    /// The same, but nothing when results appear on the terminal line by line: they show the
    /// progress themselves, and a bar between them would garble both.
    pub fn unless_lines_show() -> Self {
        if std::io::stdout().is_terminal() {
            Bar(ProgressBar::hidden())
        } else {
            Bar::new()
        }
    }
}

impl Progress for Bar {
    fn start(&self, label: &str, total: u64) {
        self.0.set_message(label.to_string());
        self.0.set_length(total);
        self.0.reset();
    }

    fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_parses_and_shows_the_time_left() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok() && TEMPLATE.contains("eta"));
    }
}
