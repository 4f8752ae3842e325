//! A network on a text against the theory, place by place: `attnlab inspect NETWORK --text FILE`. Settings:
//! `settings.toml`.

mod heads;
mod opened;
mod pictures;

pub use opened::text_of;

use crate::PAPERS;
use crate::inspect::network::{CONTROLS, Passes, head_findings, weight_findings};
use crate::inspect::{Fitting, OfNetwork, Stages, bytes, inspect_place};
use attnlab_lab::prelude::*;
use attnlab_networks::transformer::TransformerArchitecture;
use attnlab_networks::{Checkpoint, Transformer, Windows, sha256};
use opened::Cache;
use std::path::{Path, PathBuf};
use std::sync::Arc;

settings! {
    /// Inspection of a network on a text.
    #[experiment("aot.inspect_network", rows = "inspect_network",
        title = "A network on a text against the theory, layer by layer, with controls")]
    #[source(&PAPERS[1], "Definition 1, Theorem 1, Eq. (6)")]
    pub struct InspectNetwork {
        pub network: PathBuf,
        pub network_hash: String,
        pub places: usize,
        pub text: PathBuf,
        pub text_hash: String,
        pub tokens: usize = whole(1..),
        pub window: usize = whole(2..),
        pub skip: usize,
        pub controls: bool,
        pub control_seed: u64,
        pub fitting: Fitting = table,
        #[serde(skip)]
        opened: Shared<Cache>,
    }
}

impl InspectNetwork {
    /// Returns the inspection of a network on a text, with the hashes of both.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn of_files(network: &Path, text: &Path, fitting: Fitting) -> Result<Self> {
        let architecture = TransformerArchitecture::of_network(network)?;
        Ok(InspectNetwork {
            network: network.to_path_buf(),
            network_hash: Checkpoint::open(network)?.digest()?,
            places: architecture.layers + 1,
            text: text.to_path_buf(),
            text_hash: sha256(text_of(text)?.as_bytes()),
            window: architecture.context.min(256),
            fitting,
            ..Self::defaults()?
        })
    }

    /// Opens the network and cuts the text into windows, once for all trials.
    ///
    /// # Errors
    /// Settings out of range; files that cannot be read, or that have changed since the settings were written.
    pub fn open(&self) -> Result<(Arc<Transformer>, Arc<Windows>)> {
        self.check_settings()?;
        self.opened.network(self, VARIANTS[0].0)
    }

    /// Returns the error for which no place can be fitted, if there is one.
    ///
    /// # Errors
    /// Files that cannot be read; residual streams that the memory cannot hold.
    pub(super) fn refusal(&self) -> Result<Option<Error>> {
        for (name, path) in [("network", &self.network), ("text", &self.text)] {
            let allowed = "must be a path. Write attnlab inspect NETWORK --text FILE, which fills it in";
            require(!path.as_os_str().is_empty(), name, "", allowed)?;
        }
        let (network, windows) = self.opened.network(self, VARIANTS[0].0)?;
        let streams = Passes::bytes(network.architecture(), windows.tokens());
        let needed = memory::product(&[opened::VARIANTS_IN_MEMORY as u64, streams]);
        memory::ensure("the residual streams of all places", needed)?;
        Ok(self.fitting.how(CONTROLS).options.validate(windows.tokens()).err())
    }
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
        self.fitting.validate()
    }

    fn ready(&self) -> Result<()> {
        self.refusal()?.map_or(Ok(()), Err)
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let variants = if self.controls { VARIANTS.len() } else { 1 };
        let cell = |variant: &str, place: usize| {
            Params::from_iter([(VARIANT.to_string(), Value::from(variant)), (PLACE.to_string(), Value::from(place))])
        };
        Ok(VARIANTS[..variants].iter().flat_map(|(name, _)| (0..self.places).map(|place| cell(name, place))).collect())
    }

    fn memory(&self, _: &Params) -> u64 {
        let Ok((network, windows)) = self.opened.network(self, "trained") else { return 0 };
        let a = network.architecture();
        let (d, n, window) = (a.width as u64, windows.tokens() as u64, self.window as u64);
        // Residual streams before and after, scores of a block, and the matrices of the heads, beside the fit. The streams
        // of all places are shared by the trials.
        let fit = bytes(a.width, windows.tokens(), self.fitting.clusters_tried().max(a.heads));
        memory::total(&[&[fit], &[8, 6, d, n], &[8, a.heads as u64, window, window], &[8, 4, d, d]])
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// The findings of [`inspect_place`] on the residual stream; "heads", those in the subspaces of the heads of the block
    /// that leads there, unless the mean to subtract is unknown; "attention" of that block and, for the trained network,
    /// "weights" of it.
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let cell = cell.as_json();
        let variant = cell.get(VARIANT).and_then(Value::as_str).unwrap_or_default();
        let place = cell.get(PLACE).and_then(Value::as_u64).unwrap_or(0) as usize;
        let (network, windows) = self.opened.network(self, variant)?;
        let name = format!("{variant} network, place {place}");
        let during = |e: Error| e.during(&name);
        let mut recorded = self.opened.place(self, variant, place).map_err(during)?;
        let a = network.architecture();
        let mut how = self.fitting.how(CONTROLS);
        let of_network = OfNetwork {
            heads: [a.heads, a.head_dim],
            of_fit: variant == "trained",
            powers: self.opened.powers(),
            streams: Streams::new(self.control_seed, "aot.inspect_network", 0, 0),
        };
        how.options.further = of_network.further(a.width, windows.tokens());
        how.power.network = Some(of_network);
        let stages = Stages { name: &name, progress: context.progress };
        let inspected = inspect_place(recorded.residual.view(), &how, streams, stages).map_err(during)?;
        let mut data = inspected.findings;
        // The subspaces of the heads are held against the tokens that the rest of the row is of.
        recorded.centre(inspected.mean.as_ref());
        if let Some(attention) = &recorded.attention {
            data.insert("attention".into(), attention.findings(self.fitting.level)?.into());
        }
        if self.fitting.centre == inspected.mean.is_some()
            && let Some(heads) = head_findings(&network, &recorded, self.fitting.level, streams)?
        {
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
