//! Random streams. Every random generator of the library is made in this module.
//!
//! A trial is a pure function of `(seed, claim, cell, trial)`. These four make the 256-bit key of a ChaCha generator;
//! named parts of a trial (the basis, the coefficients of head 2, columns 512..768, ...) are independent streams under
//! that key, so that parts can be drawn in any order, by any number of threads, or alone.
//!
//! The generator is ChaCha with 8 rounds. Its output is specified, so that it does not change with
//! versions of a library; it passes the statistical tests in use and is the fastest of its family.
//!
//! ```
//! use attnlab_core::rng::Streams;
//! use rand::Rng;
//! let trial = Streams::new(5, "aot.theorem1", 0, 17);
//! let again = Streams::new(5, "aot.theorem1", 0, 17);
//! assert_eq!(trial.part("basis", 0).next_u64(), again.part("basis", 0).next_u64());
//! assert_ne!(trial.part("basis", 0).next_u64(), trial.part("basis", 1).next_u64());
//! ```

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The generator that every sampler takes.
pub type Generator = ChaCha8Rng;

/// All random streams of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    key: [u8; 32],
}

impl Streams {
    /// Makes the streams of trial number `trial` of `claim` in the parameter cell `cell` under `seed`.
    pub fn new(seed: u64, claim: &str, cell: u64, trial: u64) -> Self {
        let mut key = [0; 32];
        let words = [seed, hash(claim.as_bytes()), cell, trial];
        for (chunk, word) in key.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Streams { key }
    }

    /// Returns the generator of one named part; `index` numbers parts of the same name (heads, blocks).
    pub fn part(&self, name: &str, index: u64) -> Generator {
        let mut generator = Generator::from_seed(self.key);
        let mut bytes = name.as_bytes().to_vec();
        // The separator keeps ("a1", 0) and ("a", ...) apart whatever the index bytes are.
        bytes.push(0xff);
        bytes.extend_from_slice(&index.to_le_bytes());
        generator.set_stream(hash(&bytes));
        generator
    }

    /// Returns the streams of a part that has parts of its own, such as one prompt of a trial that draws many.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// let trial = Streams::new(5, "denoise.fig6", 0, 17);
    /// assert_eq!(trial.child("prompt", 3), trial.child("prompt", 3));
    /// assert_ne!(trial.child("prompt", 3), trial.child("prompt", 4));
    /// ```
    pub fn child(&self, name: &str, index: u64) -> Streams {
        let mut key = [0; 32];
        self.part(name, index).fill_bytes(&mut key);
        Streams { key }
    }

    /// Returns cell and trial as text: the name of the folder in which a trial keeps its files.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// assert_eq!(Streams::new(5, "icl", 255, 17).name(), "00000000000000ff-17");
    /// ```
    pub fn name(&self) -> String {
        format!("{:016x}-{}", self.word(2), self.trial())
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.word(0)
    }

    /// Returns the number of the trial.
    pub fn trial(&self) -> u64 {
        self.word(3)
    }

    fn word(&self, i: usize) -> u64 {
        self.key[8 * i..8 * (i + 1)].iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))
    }

    /// Returns the streams of the same trial in another cell. Data that all cells share (one text for
    /// every network) are drawn from the streams of cell 0.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// let cell = |cell| Streams::new(5, "language", cell, 17);
    /// assert_eq!(cell(255).of_cell(0), cell(0));
    /// ```
    pub fn of_cell(&self, cell: u64) -> Streams {
        let mut key = self.key;
        key[16..24].copy_from_slice(&cell.to_le_bytes());
        Streams { key }
    }

    /// Returns the streams of another trial of the same cell. Data that all trials share (one data set
    /// for every seed of the weights) are drawn from the streams of trial 0.
    pub fn of_trial(&self, trial: u64) -> Streams {
        let mut key = self.key;
        key[24..].copy_from_slice(&trial.to_le_bytes());
        Streams { key }
    }
}

/// Draws a permutation of `items`, uniform over all (Fisher and Yates). Unlike that of a library it does not change with
/// versions.
pub fn shuffle<T>(items: &mut [T], generator: &mut Generator) {
    for last in (1..items.len()).rev() {
        items.swap(last, generator.random_range(0..=last));
    }
}

/// Computes FNV-1a with a final avalanche: a specified 64-bit hash, unlike that of the standard library.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    for b in bytes {
        h = (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // SplitMix64's finaliser: FNV alone leaves the high bits of short inputs poorly mixed.
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}
