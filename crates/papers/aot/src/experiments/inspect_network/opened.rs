//! The files of an inspection, opened once.

use super::InspectNetwork;
use crate::inspect::Memo;
use crate::inspect::network::Windows;
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_networks::{Checkpoint, Transformer, sha256};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest text, in bytes: what is inspected of it is some thousand tokens.
const MOST_BYTES: u64 = 1 << 30;

/// Networks, windows and powers that trials share. They follow from the settings, so that they do not count in
/// comparisons.
#[derive(Debug, Default)]
pub struct Cache(Mutex<Vec<(String, Opened)>>, Memo);

type Opened = (Arc<Transformer>, Arc<Windows>);

impl Clone for Cache {
    fn clone(&self) -> Self {
        Cache::default()
    }
}

impl PartialEq for Cache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Cache {
    /// The powers that places have measured.
    pub(super) fn memo(&self) -> Memo {
        self.1.clone()
    }

    /// The network and the windows of a variant.
    pub(super) fn network(&self, settings: &InspectNetwork, variant: &str) -> Result<Opened> {
        // A trial waits for another one that opens the files.
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            |opened: &[(String, Opened)], name: &str| opened.iter().find(|(n, _)| n == name).map(|(_, o)| o.clone());
        if let Some(pair) = known(&opened, variant) {
            return Ok(pair);
        }
        let trained = match known(&opened, "trained") {
            Some(pair) => pair,
            None => {
                let pair = open(settings)?;
                opened.push(("trained".into(), pair.clone()));
                pair
            }
        };
        let streams = Streams::new(settings.control_seed, "aot.inspect_network", 0, 0);
        let (network, windows) = trained;
        let pair = match variant {
            "trained" => return Ok((network, windows)),
            "untrained" => (Arc::new(network.untrained(&streams)), windows),
            "shuffled" => (network, Arc::new(windows.shuffled(&streams))),
            other => {
                let allowed = "must be trained, untrained or shuffled";
                return Err(Error::invalid("variant", other, allowed));
            }
        };
        opened.push((variant.into(), pair.clone()));
        Ok(pair)
    }
}

fn open(settings: &InspectNetwork) -> Result<Opened> {
    let changed = |path: &Path| Error::Content {
        path: path.to_path_buf(),
        problem:
            "must be what it was when the settings were written; its hash differs. Choose another folder with --out"
                .into(),
    };
    let text = text_of(&settings.text)?;
    if sha256(text.as_bytes()) != settings.text_hash {
        return Err(changed(&settings.text));
    }
    if Checkpoint::open(&settings.network)?.digest()? != settings.network_hash {
        return Err(changed(&settings.network));
    }
    let network = Transformer::open(&settings.network)?;
    let sizes = [settings.tokens, settings.window, settings.skip];
    let tokenizer = network.tokenizer()?;
    let windows = Windows::of_text(&text, &tokenizer, network.architecture(), sizes)?;
    Ok((Arc::new(network), Arc::new(windows)))
}

/// Reads a text.
///
/// # Errors
/// A file that cannot be read, is larger than 1 GiB or is not UTF-8.
pub fn text_of(path: &Path) -> Result<String> {
    let advice = "Give a text file with --text";
    let length = fs::metadata(path).map_err(|e| Error::io(path, e, advice))?.len();
    let content = |problem: String| Error::Content { path: path.to_path_buf(), problem };
    if length > MOST_BYTES {
        let problem = format!("must have at most {MOST_BYTES} bytes; it has {length}. Give a part of it");
        return Err(content(problem));
    }
    let bytes = fs::read(path).map_err(|e| Error::io(path, e, advice))?;
    String::from_utf8(bytes).map_err(|e| content(format!("must be UTF-8 text ({e})")))
}
