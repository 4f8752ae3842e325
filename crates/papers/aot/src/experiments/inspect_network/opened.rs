//! The files of an inspection, opened once.

use super::InspectNetwork;
use crate::inspect::Memo;
use crate::inspect::network::{Passes, Place, shuffled};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_networks::{Checkpoint, Transformer, Windows, sha256, text};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest text, in bytes: what is inspected of it is some thousand tokens.
const MOST_BYTES: u64 = 1 << 30;

/// Networks, windows and powers that trials share.
#[derive(Debug, Default)]
pub struct Cache {
    opened: Mutex<Vec<(String, Opened)>>,
    passes: Mutex<Vec<InUse>>,
    memo: Memo,
}

/// The passes of a variant, and the number of places that have not been taken from them.
#[derive(Debug)]
struct InUse {
    variant: String,
    passes: Arc<Passes>,
    left: usize,
}

type Opened = (Arc<Transformer>, Arc<Windows>);

/// Variants whose passes are in memory at a time: trials come in the order of variants, and those of the next begin
/// while the last of one are under way.
pub(super) const VARIANTS_IN_MEMORY: usize = 2;

impl Cache {
    /// The powers that places have measured.
    pub(super) fn memo(&self) -> Memo {
        self.memo.clone()
    }

    /// The network and the windows of a variant.
    pub(super) fn network(&self, settings: &InspectNetwork, variant: &str) -> Result<Opened> {
        // A trial waits for another one that opens the files.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
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
            "shuffled" => (network, Arc::new(shuffled(&windows, &streams))),
            other => {
                let allowed = "must be trained, untrained or shuffled";
                return Err(Error::invalid("variant", other, allowed));
            }
        };
        opened.push((variant.into(), pair.clone()));
        Ok(pair)
    }

    /// A place of a variant, from the forward passes that its places share. They are dropped with the last place.
    pub(super) fn place(&self, settings: &InspectNetwork, variant: &str, place: usize) -> Result<Place> {
        let (network, windows) = self.network(settings, variant)?;
        // A trial waits for another one that runs the network.
        let mut in_use = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let i = match in_use.iter().position(|known| known.variant == variant) {
            Some(i) => i,
            None => {
                let passes = Arc::new(Passes::record(&network, &windows)?);
                in_use.truncate(VARIANTS_IN_MEMORY - 1);
                in_use.insert(0, InUse { variant: variant.into(), passes, left: settings.places });
                0
            }
        };
        let passes = in_use[i].passes.clone();
        in_use[i].left = in_use[i].left.saturating_sub(1);
        if in_use[i].left == 0 {
            in_use.remove(i);
        }
        drop(in_use);
        passes.place(place)
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
/// A file that cannot be read, is larger than 1 GiB or is not UTF-8 ([`text`]).
pub fn text_of(path: &Path) -> Result<String> {
    text::read(path, MOST_BYTES, "Give a text file with --text")
}
