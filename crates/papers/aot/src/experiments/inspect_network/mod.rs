//! A network on a text against the theory, place by place: `attnlab inspect NETWORK --text FILE`. Settings:
//! `settings.toml`.

mod opened;
mod pictures;

pub use opened::text_of;

use crate::PAPERS;
use crate::inspect::network::{CONTROLS, at_place, head_findings, weight_findings};
use crate::inspect::{Fitting, bytes, inspect};
use attnlab_core::error::{self, Error, Result};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, memory};
use attnlab_networks::transformer::TransformerArchitecture;
use attnlab_networks::{Checkpoint, sha256};
use opened::Cache;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Inspection of a network on a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectNetwork {
    /// Folder or GGUF file of the network.
    pub network: PathBuf,
    /// SHA-256 of its tensors: rows of a network that has changed since are not taken for its own.
    pub network_hash: String,
    /// Places along it: the embedding, and one per block.
    pub places: usize,
    /// The text, UTF-8.
    pub text: PathBuf,
    /// SHA-256 of the text.
    pub text_hash: String,
    /// Tokens of the text, rounded up to whole windows.
    pub tokens: usize,
    /// Tokens of a forward pass.
    pub window: usize,
    /// Tokens left out at the start of every window.
    pub skip: usize,
    /// Flag: the variants beside the trained network are inspected too.
    pub controls: bool,
    /// Seed of the untrained network and of the random order.
    pub control_seed: u64,
    /// Options of the fit, the test and the horizon.
    pub fitting: Fitting,
    #[serde(skip)]
    opened: Cache,
}

impl InspectNetwork {
    /// Returns the inspection of a network on a text, with the hashes of both.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn of_files(network: &Path, text: &Path, fitting: Fitting) -> Result<Self> {
        let architecture = TransformerArchitecture::of_network(network)?;
        let network_hash = Checkpoint::open(network)?.digest()?;
        let text_hash = sha256(text_of(text)?.as_bytes());
        Ok(InspectNetwork {
            network: network.to_path_buf(),
            network_hash,
            places: architecture.layers + 1,
            text: text.to_path_buf(),
            text_hash,
            tokens: 2048,
            window: architecture.context.min(256),
            skip: 0,
            controls: true,
            control_seed: 0,
            fitting,
            opened: Cache::default(),
        })
    }
}

impl Described for InspectNetwork {
    const ID: &'static str = "aot.inspect_network";
    const NAME: &'static str = "inspect_network";
    const TITLE: &'static str = "A network on a text against the theory, layer by layer, with controls";
    const SOURCE: Source = Source { paper: &PAPERS[1], place: "Definition 1, Theorem 1, Eq. (6)" };
}

/// Parameters of the rows.
pub const VARIANT: &str = "variant";
/// Place along the network: 0 is the embedding, l the residual stream after block l.
pub const PLACE: &str = "place";

/// Variants of network and text: name in the rows, and words of the figures.
pub const VARIANTS: [(&str, &str); 3] =
    [("trained", "as given"), ("untrained", "random weights"), ("shuffled", "tokens shuffled")];

impl Experiment for InspectNetwork {
    fn validate(&self) -> Result<()> {
        self.fitting.validate()?;
        error::at_least("tokens", self.tokens, 1)?;
        error::at_least("window", self.window, 2)?;
        Ok(())
    }

    fn ready(&self) -> Result<()> {
        for (name, path) in [("network", &self.network), ("text", &self.text)] {
            if path.as_os_str().is_empty() {
                let allowed = "must be a path. Write attnlab inspect NETWORK --text FILE, which fills it in";
                return Err(Error::invalid(name, "\"\"", allowed));
            }
        }
        self.opened.network(self, "trained").map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let variants = if self.controls { VARIANTS.len() } else { 1 };
        let cell = |variant: &str, place: usize| {
            Params::from_iter([(VARIANT.to_string(), Value::from(variant)), (PLACE.to_string(), Value::from(place))])
        };
        Ok(VARIANTS[..variants].iter().flat_map(|(name, _)| (0..self.places).map(|place| cell(name, place))).collect())
    }

    fn trials(&self) -> u64 {
        1
    }

    fn memory(&self, _: &Params) -> u64 {
        let Ok((network, windows)) = self.opened.network(self, "trained") else {
            return 0;
        };
        let a = network.architecture();
        let (d, n, window) = (a.width as u64, windows.tokens() as u64, self.window as u64);
        // Residual streams before and after, scores of a block, and the matrices of the heads, beside the fit.
        bytes(a.width, windows.tokens(), self.fitting.clusters_tried())
            .saturating_add(memory::product(&[8, 6, d, n]))
            .saturating_add(memory::product(&[8, a.heads as u64, window, window]))
            .saturating_add(memory::product(&[8, 4, d, d]))
    }

    /// The findings of [`inspect`] on the residual stream; "heads", those in the subspaces of the heads of the block that
    /// leads there, "attention" of that block and, for the trained network, "weights" of it.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let cell = cell.as_json();
        let variant = cell.get(VARIANT).and_then(Value::as_str).unwrap_or_default();
        let place = cell.get(PLACE).and_then(Value::as_u64).unwrap_or(0) as usize;
        let (network, windows) = self.opened.network(self, variant)?;
        let during = |e: Error| e.during(format!("{variant} network, place {place}"));
        let found = at_place(&network, &windows, place).map_err(during)?;
        let how = self.fitting.how(CONTROLS);
        let mut data = inspect(found.residual.view(), &how, streams).map_err(during)?;
        if let Some(attention) = &found.attention {
            let findings = attention.findings(self.fitting.level)?;
            data.insert("attention".into(), findings.into());
        }
        if let Some(heads) = head_findings(&network, &found, streams)? {
            data.insert("heads".into(), heads.into());
        }
        if let (Some(block), "trained") = (place.checked_sub(1), variant) {
            let weights = weight_findings(&self.network, block, &streams.child("weights", 0))?;
            data.insert("weights".into(), weights);
        }
        Ok(data)
    }

    fn size(&self) -> String {
        let windows = self.tokens.div_ceil(self.window.max(1));
        format!("{windows} windows of {} tokens", self.window)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
