//! Opening of a page in the browser.

use attnlab_lab::command::note;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Programs of the systems that open a file as a click would, with their first arguments.
const OPENERS: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["open"]]
} else if cfg!(windows) {
    &[&["cmd", "/C", "start", ""]]
} else {
    &[&["xdg-open"], &["gio", "open"], &["wslview"]]
};

/// Time within which an opener that fails has ended; one that goes on may be the browser itself.
const OPENER_FAILS_WITHIN: Duration = Duration::from_secs(3);

/// Opens a file in the browser. Where that fails, a note says so: the page is written all the same.
pub fn in_browser(path: &Path) {
    let opened = OPENERS.iter().any(|opener| {
        let mut program = Command::new(opener[0]);
        // The output of the command has its results and nothing else.
        program.args(&opener[1..]).arg(path);
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        program.spawn().is_ok_and(starts)
    });
    if !opened {
        let path = path.display();
        note(&format!("note: no program here opens {path}. Open it in a browser"));
    }
}

/// Returns `true` if the program succeeds or goes on.
fn starts(mut child: Child) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < OPENER_FAILS_WITHIN {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(_) => return false,
        }
    }
    true
}
