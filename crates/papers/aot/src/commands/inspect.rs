//! `attnlab inspect`: given tokens, or a network on a text, against the theory.

use super::findings::{lines, tables};
use super::network_findings;
use super::results::{Destination, Shown, computed};
use super::summary;
use crate::arrays::{TokensAre, list};
use crate::experiments::inspect::Inspect;
use crate::experiments::inspect_network::InspectNetwork;
use crate::experiments::inspect_networks::InspectNetworks;
use crate::inspect::network::record;
use crate::inspect::{Fitting, Scale};
use attnlab_core::error::{Error, Result, require};
use attnlab_lab::command::{Out, RowOptions, Status, input, note};
use attnlab_lab::experiment::ranges::Ranges;
use attnlab_lab::run::store::Manifest;
use attnlab_networks::transformer::Recordings;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  attnlab inspect SmolLM2-135M --text book.txt
  attnlab inspect SmolLM2-135M --text book.txt --centre --skip 1 --tokens 4096 --window 512
  attnlab inspect SmolLM2-135M all-MiniLM-L6-v2 --text book.txt --centre --skip 1
  attnlab inspect SmolLM2-135M --text book.txt --record residual,weights
  attnlab inspect --activations layer*.npy --tokens-are rows
  attnlab inspect --activations states.safetensors --tokens-are rows --scale fitted --centre
  attnlab inspect --activations z.npy --tokens-are columns --bases u0.npy u1.npy --labels y.npy

A network is a folder with config.json and safetensors (GPT-2, GPT-NeoX, OPT, Llama, BERT), or a GGUF file
(GPT-2, Llama), with its tokenizer, or a folder of checkpoints of attnlab train language. An array is a
matrix in a .npy or .safetensors file; a .npy file of three dimensions has one array per index of the first.

Fits the mixture of Definition 1 (AoT): K by BIC, p_k by the spectrum of each cluster, delta with its
interval; tests it on the half of the tokens that the fit did not see; draws true mixtures of the same
size, to see whether the test could have accepted one (--power-draws); and puts beside it every hypothesis
of Theorem 1 with its margin, the horizon of these very tokens, SNR against the law, ranks, and controls:
every coordinate permuted over the tokens, a Gaussian of the same second moments, labels permuted. For a
network: the same of the residual stream after every block, the SNR in the subspaces of its own heads before
and after the block, entropy and energy of attention, the share of attention on the first token of a
window, stable ranks of weights; controls: the same architecture with random weights, the same tokens in
random order. A network without a language-model head is enough.
--record writes what the network as given computes to DIR/record, in float32 with tokens as columns:
NumPy files per window and block, such as weights.block-03.window-0.npy (heads, N, N).

A summary comes first. Rows, rows.csv, the figures and inspect.html go to the folder. The same files and
seed give the same rows; a run that was stopped goes on. docs/inspect.md says what every name means and
how often the test is right.";

/// Hold activations, or a network on a text, against the theory: fit of Definition 1, hypotheses of Theorem 1,
/// horizon, SNR, entropy, ranks, controls
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Networks: folder with config.json, GGUF file, or folder of checkpoints
    #[arg(value_name = "NETWORK", required_unless_present = "activations")]
    #[arg(conflicts_with_all = ["activations", "tokens_are", "bases"], requires = "text")]
    network: Vec<PathBuf>,
    /// Text (UTF-8) for the network
    #[arg(long, value_name = "FILE", requires = "network")]
    text: Option<PathBuf>,
    /// Tokens of the text, rounded up to whole windows
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true, requires = "network")]
    tokens: u64,
    /// Tokens of a forward pass [default: 256, or the context of the network if that is less]
    #[arg(long, value_name = "N", value_parser = input::positive, allow_negative_numbers = true, requires = "network")]
    window: Option<u64>,
    /// Tokens left out at the start of every window
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole)]
    #[arg(allow_negative_numbers = true, requires = "network")]
    skip: u64,
    /// Quantities written to DIR/record: residual, inputs, scores, weights, outputs, hidden, logits
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', requires = "network")]
    record: Vec<String>,
    /// Files with tokens, one array per layer
    #[arg(long, value_name = "FILE", num_args = 1..)]
    activations: Vec<PathBuf>,
    /// Side of the arrays on which the tokens are
    #[arg(long, value_name = "SIDE", required_unless_present = "network")]
    tokens_are: Option<TokensAre>,
    /// Known bases U_k (d, p_k), one file per subspace, in place of the fit's
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "labels")]
    bases: Vec<PathBuf>,
    /// Known labels (N,), integers from 0
    #[arg(long, value_name = "FILE", requires = "bases")]
    labels: Option<PathBuf>,
    /// K [default: found by BIC]
    #[arg(long, value_name = "K", value_parser = input::positive, conflicts_with = "bases")]
    #[arg(allow_negative_numbers = true)]
    clusters: Option<u64>,
    /// Largest K that is tried
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true, conflicts_with_all = ["bases", "clusters"])]
    most_clusters: u64,
    /// Scale of the signal [default: as-given; for a network: fitted]
    #[arg(long)]
    scale: Option<Scale>,
    /// Subtract a mean that all tokens share, estimated with the fit; Definition 1 has mean 0
    #[arg(long)]
    centre: bool,
    /// Step size of the horizon
    #[arg(long, default_value_t = 0.5, value_parser = input::positive_number, allow_negative_numbers = true)]
    eta: f64,
    /// Threshold of phi
    #[arg(long, default_value_t = 0.55, value_parser = input::positive_number, allow_negative_numbers = true)]
    tau: f64,
    /// Level of the intervals
    #[arg(long, default_value_t = 0.95, value_parser = input::level)]
    level: f64,
    /// Probability with which the test calls a true mixture none
    #[arg(long, value_name = "LEVEL", default_value_t = 0.01, value_parser = input::level)]
    test_level: f64,
    /// Draws of true mixtures of the same size, at most, that show how often the test would say yes; 0: none
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = input::whole, allow_negative_numbers = true)]
    power_draws: u64,
    /// Leave out the controls
    #[arg(long)]
    no_controls: bool,
    /// Seed of the halves and the controls
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    seed: u64,
    /// Folder for rows, pictures and the page
    #[arg(long, value_name = "DIR", default_value = "runs/inspect")]
    out: PathBuf,
    #[command(flatten)]
    rows: RowOptions,
    /// One JSON object per array: its row
    #[arg(long)]
    json: bool,
}

/// Name of the page's file.
const PAGE: &str = "inspect.html";

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let to = Destination { folder: &args.out, rows: args.rows, seed: args.seed, json: args.json };
    match (&args.network[..], &args.text, args.tokens_are) {
        ([_, ..], Some(text), _) => {
            let of_file = |network: &PathBuf| {
                let mut settings = InspectNetwork::of_files(network, text, fitting(args, Scale::Fitted)?)?;
                super::note_renamings(network)?;
                settings.tokens = args.tokens as usize;
                settings.window = args.window.map_or(settings.window, |n| n as usize);
                settings.skip = args.skip as usize;
                settings.controls = !args.no_controls;
                settings.control_seed = args.seed;
                Ok(settings)
            };
            let networks = args.network.iter().map(of_file).collect::<Result<Vec<InspectNetwork>>>()?;
            let (lines, tables) = (network_findings::lines, network_findings::tables);
            let shown = Shown { summary: summary::of_networks, lines, tables, page: PAGE };
            let networks = InspectNetworks::of(networks);
            let records = Records::of(args)?;
            records.check(&networks)?;
            let status = match &networks.networks[..] {
                [network] => computed(network, &shown, &to, out),
                _ => computed(&networks, &shown, &to, out),
            }?;
            records.write(&networks)?;
            Ok(status)
        }
        (_, _, Some(tokens_are)) => {
            let settings = Inspect {
                arrays: list(&args.activations, tokens_are)?,
                tokens_are,
                bases: args.bases.clone(),
                labels: args.labels.iter().cloned().collect(),
                controls: !args.no_controls,
                fitting: fitting(args, Scale::AsGiven)?,
            };
            computed(&settings, &Shown { summary: summary::of_arrays, lines, tables, page: PAGE }, &to, out)
        }
        // Refused by the parser of arguments.
        _ => Err(Error::undefined("neither a network nor activations")),
    }
}

/// The files of `--record`.
struct Records<'a> {
    /// None: nothing is written.
    quantities: Option<Recordings>,
    out: &'a Path,
    /// Flag: files of another run are deleted.
    force: bool,
    /// Identity of the run that the folder held before, with `force`.
    before: Option<Manifest>,
}

impl<'a> Records<'a> {
    fn of(args: &'a Args) -> Result<Self> {
        let quantities = (!args.record.is_empty()).then(|| Recordings::named(&args.record)).transpose()?;
        let alone = quantities.is_none() || args.rows.shard.is_whole();
        let allowed = "must not come with --shard. Give --record without it, in one more call";
        require(alone, "record", args.record.join(","), allowed)?;
        // With --force a manifest that cannot be read is no reason to stop.
        let before = if args.rows.force { Manifest::read(&args.out).unwrap_or(None) } else { None };
        Ok(Records { quantities, out: &args.out, force: args.rows.force, before })
    }

    /// Folder of a network's files.
    fn folder(&self, networks: &InspectNetworks, name: &str) -> PathBuf {
        let folder = self.out.join("record");
        if networks.networks.len() == 1 { folder } else { folder.join(name) }
    }

    /// Refuses what cannot be written, before anything is computed.
    fn check(&self, networks: &InspectNetworks) -> Result<()> {
        self.each(networks, |network, quantities, folder| {
            let (network, windows) = network.open()?;
            record::check(&network, &windows, quantities, folder)
        })
    }

    fn write(&self, networks: &InspectNetworks) -> Result<()> {
        if self.before.is_some() && self.before != Manifest::read(self.out)? {
            // No record outlives the rows of its run, also where this one writes none.
            record::clear_below(&self.out.join("record"))?;
        }
        self.each(networks, |network, quantities, folder| {
            let (network, windows) = network.open()?;
            if self.force {
                record::clear(folder)?;
            }
            let files = record::write(&network, &windows, quantities, folder)?;
            note(&format!("{files} files in {}", folder.display()));
            Ok(())
        })
    }

    fn each(
        &self,
        networks: &InspectNetworks,
        mut work: impl FnMut(&InspectNetwork, &Recordings, &Path) -> Result<()>,
    ) -> Result<()> {
        let Some(quantities) = &self.quantities else { return Ok(()) };
        let mut named = networks.names.iter().zip(&networks.networks);
        named.try_for_each(|(name, network)| work(network, quantities, &self.folder(networks, name)))
    }
}

fn fitting(args: &Args, scale: Scale) -> Result<Fitting> {
    let Args { centre, eta, tau, level, test_level, power_draws, .. } = *args;
    let (clusters, scale) = (args.clusters.unwrap_or(0) as usize, args.scale.unwrap_or(scale));
    let most_clusters = (args.most_clusters as usize).max(clusters);
    let fitting = Fitting { clusters, most_clusters, scale, centre, eta, tau, level, test_level, power_draws };
    // The options' own names: the table's stand in settings files.
    fitting.ranges("")?;
    fitting.validate()?;
    Ok(fitting)
}
