//! Fuzzing of the readers of files that users, or an enemy, make.
//!
//! A target is a function of bytes: it reads them as a file, or as several ([`files`]), and panics where a promise of the
//! reader is broken. `cargo fuzz run NAME` chooses the bytes by the code that they reach; `cargo test -p attnlab-fuzz`
//! replays the corpora in `corpus/` with seeded mutations. `fuzz/README.md` says how.

pub mod files;
mod images;
mod lab;
#[cfg(test)]
mod mutation;
mod networks;
#[cfg(test)]
mod replay;

pub use images::{dataset, image};
pub use lab::{expression, manifest, rows, settings, sweep};
pub use networks::{checkpoint, gguf, network, npy, text, tokenizer};

/// Reader of an input; panics where it breaks a promise.
pub type Target = fn(&[u8]);

/// The binary of a target: under cargo-fuzz its loop, otherwise nothing.
#[macro_export]
macro_rules! fuzz_target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        ::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$name(bytes));

        #[cfg(not(fuzzing))]
        fn main() {
            println!("cargo fuzz run {}", stringify!($name));
        }
    };
}

macro_rules! targets {
    ($($name:ident)*) => {
        /// Every target with its name.
        pub const TARGETS: &[(&str, Target)] = &[$((stringify!($name), $name)),*];

        #[cfg(test)]
        mod replays {
            $(
                #[test]
                fn $name() {
                    crate::replay::replay(stringify!($name), super::$name);
                }
            )*
        }
    };
}

targets! {
    expression sweep settings manifest rows npy checkpoint gguf network tokenizer text image dataset
}
