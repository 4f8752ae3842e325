//! Several networks on a text against the theory, side by side: which hypotheses of Theorem 1 hold at which depth, and what
//! do blocks do to the SNR? `attnlab inspect NETWORK NETWORK .. --text FILE`. Settings: `settings.toml`.
//!
//! A cell is one of [`InspectNetwork`] with the name of its network.

mod pictures;

use super::inspect_network::InspectNetwork;
use super::parts::ensure_some_are_left;
use crate::PAPERS;
use attnlab_lab::prelude::*;

settings! {
    /// Inspection of several networks.
    #[experiment("aot.inspect_networks", rows = "inspect_networks",
        title = "Several networks against the theory: where its hypotheses hold, what blocks do to the SNR")]
    #[source(&PAPERS[1], "Definition 1, Theorem 1, Eq. (6)")]
    pub struct InspectNetworks {
        pub names: Vec<String>,
        pub networks: Vec<InspectNetwork>,
    }
}

/// Parameter of the rows: name of the network.
pub const NAME: &str = "network";

impl InspectNetworks {
    /// Names networks by their files or folders, or by a number where two have the same name.
    pub fn of(networks: Vec<InspectNetwork>) -> Self {
        let stem =
            |network: &InspectNetwork| network.network.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let stems: Vec<String> = networks.iter().map(stem).collect();
        let name = |(i, stem): (usize, &String)| {
            let once = stems.iter().filter(|other| *other == stem).count() == 1;
            if once { stem.clone() } else { format!("{} {stem}", i + 1) }
        };
        InspectNetworks { names: stems.iter().enumerate().map(name).collect(), networks }
    }

    fn of_cell(&self, cell: &Params) -> Result<&InspectNetwork> {
        let cell = cell.as_json();
        let name = cell.get(NAME).and_then(Value::as_str).unwrap_or_default();
        let network = self.names.iter().position(|n| n == name).and_then(|i| self.networks.get(i));
        network.ok_or_else(|| Error::unknown("network", name, self.names.iter().map(String::as_str)))
    }
}

impl Experiment for InspectNetworks {
    fn validate(&self) -> Result<()> {
        let count = self.networks.len();
        let names = format!("{:?}", self.names);
        require(self.names.len() == count, "names", names, format!("must be one for each of {count} networks"))?;
        for (i, name) in self.names.iter().enumerate() {
            require(!self.names[..i].contains(name), "names", name, "must be there once")?;
        }
        self.networks.iter().try_for_each(|network| network.check_settings())
    }

    fn ready(&self) -> Result<()> {
        let allowed = "must be at least one. Write attnlab inspect NETWORK NETWORK --text FILE, which fills it in";
        require(!self.networks.is_empty(), "networks", "[]", allowed)?;
        let mut refusals = vec![];
        for (name, network) in self.names.iter().zip(&self.networks) {
            refusals.extend(network.refusal().map_err(|e| e.during(name))?);
        }
        ensure_some_are_left(self.networks.len(), refusals)
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![];
        for (name, network) in self.names.iter().zip(&self.networks) {
            for cell in network.cells()? {
                let named = [(NAME.to_string(), Value::from(name.as_str()))];
                let inner = cell.as_json().iter().map(|(k, v)| (k.clone(), v.clone()));
                cells.push(Params::from_iter(named.into_iter().chain(inner)));
            }
        }
        Ok(cells)
    }

    fn memory(&self, cell: &Params) -> u64 {
        self.of_cell(cell).map_or(0, |network| network.memory(cell))
    }

    /// The findings of [`InspectNetwork`].
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        self.of_cell(cell)?.trial_at(cell, streams, context)
    }

    fn size(&self) -> String {
        let sizes = self.names.iter().zip(&self.networks);
        let sizes: Vec<String> = sizes.map(|(name, n)| format!("{name}: {}", n.size())).collect();
        sizes.join("; ")
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
