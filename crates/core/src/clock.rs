//! The clock by which computations are timed.

#[cfg(target_family = "wasm")]
pub use host::Instant;
#[cfg(not(target_family = "wasm"))]
pub use std::time::Instant;

/// The clock of the page: the standard library has none on `wasm32-unknown-unknown`, where its `Instant::now` panics.
#[cfg(target_family = "wasm")]
mod host {
    use std::time::Duration;

    #[link(wasm_import_module = "attnlab")]
    #[allow(unsafe_code)] // A declaration of a function of the page, which takes nothing and gives a number.
    unsafe extern "C" {
        /// Time in milliseconds since a fixed moment.
        safe fn now() -> f64;
    }

    /// A moment.
    #[derive(Clone, Copy, Debug)]
    pub struct Instant(f64);

    impl Instant {
        /// Returns the present moment.
        pub fn now() -> Self {
            Instant(now())
        }

        /// Returns the time since then.
        pub fn elapsed(&self) -> Duration {
            Duration::try_from_secs_f64((now() - self.0) / 1000.0).unwrap_or(Duration::ZERO)
        }
    }
}
