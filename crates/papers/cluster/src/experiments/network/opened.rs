//! The files of a network, opened once for all trials.

use super::OfNetwork;
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_networks::{Transformer, Windows, text};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Largest text, in bytes: what is measured of it is some thousand tokens.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// A network and the windows of its text.
#[derive(Debug)]
pub struct Files {
    pub network: Transformer,
    windows: Windows,
}

impl Files {
    /// Returns the ids of a window.
    pub fn window(&self, trial: u64) -> &[u32] {
        let n = self.windows.window();
        &self.windows.ids()[trial as usize * n..][..n]
    }
}

/// Network, windows and random copy that the trials share.
#[derive(Debug, Default)]
pub struct Opened {
    files: Mutex<Option<Arc<Files>>>,
    untrained: OnceLock<Transformer>,
}

impl Opened {
    /// Returns the files, which the first call opens.
    ///
    /// # Errors
    /// Files that cannot be read; a text that is too short for the windows.
    pub fn files(&self, settings: &OfNetwork) -> Result<Arc<Files>> {
        // A trial waits for another one that opens the files.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &*files {
            return Ok(files.clone());
        }
        let text = text::read(&settings.text, MAX_TEXT_BYTES, "Give a text file with --set text=FILE")?;
        let network = Transformer::open(&settings.network)?;
        let OfNetwork { trials, window, skip, .. } = settings;
        let tokens = window.saturating_mul(*trials as usize);
        let windows = Windows::of_text(&text, &network.tokenizer()?, network.architecture(), [tokens, *window, *skip])?;
        let count = windows.iter().len() as u64;
        if count < *trials {
            let allowed = format!("must be at most {count}, the windows of {window} tokens that the text has");
            return Err(Error::invalid("trials", trials, allowed));
        }
        let opened = Arc::new(Files { network, windows });
        *files = Some(opened.clone());
        Ok(opened)
    }

    /// Returns the same architecture with random weights, which the first call draws.
    pub fn untrained(&self, network: &Transformer, streams: &Streams) -> &Transformer {
        self.untrained.get_or_init(|| network.untrained(streams))
    }
}
