//! The files of an inspection, opened once.

use super::InspectNetwork;
use crate::experiments::parts::changed;
use crate::inspect::network::{Passes, Place, shuffled};
use attnlab_core::memo::Memo;
use attnlab_lab::prelude::*;
use attnlab_networks::{Checkpoint, Transformer, Windows, sha256, text};
use attnlab_theory::fit::power::Power;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest text, in bytes: what is inspected of it is some thousand tokens.
const MOST_BYTES: u64 = 1 << 30;

/// Networks, windows and powers that trials share.
#[derive(Debug, Default)]
pub struct Cache {
    opened: Mutex<Vec<(String, Opened)>>,
    passes: Mutex<Vec<InUse>>,
    powers: Arc<Memo<String, Power>>,
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
    pub(super) fn powers(&self) -> Arc<Memo<String, Power>> {
        self.powers.clone()
    }

    /// The network and the windows of a variant.
    pub(super) fn network(&self, settings: &InspectNetwork, variant: &str) -> Result<Opened> {
        // A trial waits for another one that opens the files.
        of_variant(&mut self.opened.lock().unwrap_or_else(PoisonError::into_inner), settings, variant)
    }

    /// A place of a variant, from the forward passes that its places share. They are dropped with the last place.
    pub(super) fn place(&self, settings: &InspectNetwork, variant: &str, place: usize) -> Result<Place> {
        let (network, windows) = self.network(settings, variant)?;
        // A trial waits for another one that runs the network.
        let mut in_use = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = in_use.iter().position(|known| known.variant == variant);
        if known.is_none() {
            let passes = Arc::new(Passes::record(&network, &windows)?);
            in_use.truncate(VARIANTS_IN_MEMORY - 1);
            in_use.insert(0, InUse { variant: variant.into(), passes, left: settings.places });
        }
        let i = known.unwrap_or(0);
        let passes = in_use[i].passes.clone();
        in_use[i].left = in_use[i].left.saturating_sub(1);
        if in_use[i].left == 0 {
            in_use.remove(i);
        }
        drop(in_use);
        passes.place(place)
    }
}

/// The variant among those that are `opened`, to which it is added.
fn of_variant(opened: &mut Vec<(String, Opened)>, settings: &InspectNetwork, variant: &str) -> Result<Opened> {
    if let Some((_, known)) = opened.iter().find(|(name, _)| name == variant) {
        return Ok(known.clone());
    }
    let mut trained = || of_variant(opened, settings, "trained");
    let streams = Streams::new(settings.control_seed, "aot.inspect_network", 0, 0);
    let pair = match variant {
        "trained" => open(settings)?,
        "untrained" => trained().map(|(network, windows)| (Arc::new(network.untrained(&streams)), windows))?,
        "shuffled" => trained().map(|(network, windows)| (network, Arc::new(shuffled(&windows, &streams))))?,
        other => return Err(Error::invalid("variant", other, "must be trained, untrained or shuffled")),
    };
    opened.push((variant.into(), pair.clone()));
    Ok(pair)
}

fn open(settings: &InspectNetwork) -> Result<Opened> {
    let text = text_of(&settings.text)?;
    if sha256(text.as_bytes()) != settings.text_hash {
        return Err(changed(&settings.text));
    }
    if Checkpoint::open(&settings.network)?.digest()? != settings.network_hash {
        return Err(changed(&settings.network));
    }
    let network = Transformer::open(&settings.network)?;
    let sizes = [settings.tokens, settings.window, settings.skip];
    let windows = Windows::of_text(&text, &network.tokenizer()?, network.architecture(), sizes)?;
    Ok((Arc::new(network), Arc::new(windows)))
}

/// Reads a text.
///
/// # Errors
/// A file that cannot be read, is larger than 1 GiB or is not UTF-8 ([`text`]).
pub fn text_of(path: &Path) -> Result<String> {
    text::read(path, MOST_BYTES, "Give a text file with --text")
}
