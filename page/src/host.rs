//! Functions that the page calls, and those of the page that the library calls.
//!
//! A request is written into memory that [`request`] gives, [`respond`] answers it, and the answer lies at the address
//! that it returns, [`length`] bytes long.

use attnlab_lab::run::Progress;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

// Declarations of functions of the page: numbers in, nothing out.
#[link(wasm_import_module = "attnlab")]
#[allow(unsafe_code)]
unsafe extern "C" {
    /// Tells that `done` of `total` steps are done.
    safe fn progress(done: f64, total: f64);
    /// Tells the text of a defect, after which the instance is of no use.
    safe fn fault(text: *const u8, length: usize);
}

/// The request, then its answer.
static BUFFER: Mutex<Vec<u8>> = Mutex::new(vec![]);

fn buffer() -> MutexGuard<'static, Vec<u8>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of so many bytes and returns its address.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // The name is exported; no other function has it.
pub extern "C" fn request(length: usize) -> *mut u8 {
    let mut buffer = buffer();
    *buffer = vec![0; length];
    buffer.as_mut_ptr()
}

/// Answers the request and returns the address of the answer.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // As above.
pub extern "C" fn respond() -> *const u8 {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        fault(text.as_ptr(), text.len());
    }));
    let request = String::from_utf8_lossy(&buffer()).into_owned();
    let answer = crate::answer(&request, &Meter::default());
    let mut buffer = buffer();
    *buffer = answer.into_bytes();
    buffer.as_ptr()
}

/// Returns the length of the answer in bytes.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // As above.
pub extern "C" fn length() -> usize {
    buffer().len()
}

/// Progress that is told to the page.
#[derive(Default)]
struct Meter {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress for Meter {
    fn start(&self, _label: &str, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.advance(0);
    }

    fn advance(&self, steps: u64) {
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        progress(done as f64, self.total.load(Ordering::Relaxed) as f64);
    }

    fn finish(&self) {}
}
