//! Networks before training: drawn, or those of checkpoints, which are then fine-tuned.

use super::Vision;
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::CHECKPOINTS;
use attnlab_train::model::{ComputeDevice, Model, ModelConfig, Output};
use attnlab_train::training::Checkpoint;
use std::mem::discriminant;
use std::path::{Path, PathBuf};

impl Vision {
    /// The checkpoints that a trial begins with: in the folder of a run those of the same network and seed, else the folder
    /// itself. None where networks are drawn.
    pub(super) fn checkpoints(&self, streams: &Streams) -> Option<PathBuf> {
        if self.start.is_empty() {
            return None;
        }
        let given = Path::new(&self.start);
        let run = given.join(CHECKPOINTS);
        Some(if run.is_dir() { run.join(streams.name()) } else { given.to_path_buf() })
    }

    /// Configuration of the network of a trial, with the depth and width of its checkpoint where it begins with one.
    pub(super) fn configuration(
        &self,
        name: &str,
        channels: usize,
        classes: usize,
        streams: &Streams,
    ) -> Result<ModelConfig> {
        let wanted = self.network(name, channels, classes)?;
        let Some(folder) = self.checkpoints(streams) else { return Ok(wanted) };
        let stored = Checkpoint::config(&folder)?;
        let refused = |requirement: String| Error::invalid("start", folder.display(), requirement);
        let alike = discriminant(&stored.attention) == discriminant(&wanted.attention)
            && discriminant(&stored.mlp) == discriminant(&wanted.mlp)
            && stored.norm == wanted.norm;
        if !alike {
            let ModelConfig { attention, mlp, norm, .. } = stored;
            let requirement =
                format!("must be checkpoints of '{name}'; this network has {attention:?}, {mlp:?} and {norm:?}");
            return Err(refused(requirement));
        }
        if stored.input != wanted.input {
            let requirement = format!(
                "must be checkpoints for patches of {channels} x {0} x {0} numbers; this network reads {1:?}. Set patch and \
                 grey as in its training",
                self.patch, stored.input
            );
            return Err(refused(requirement));
        }
        Ok(ModelConfig { context: wanted.context, output: wanted.output, ..stored })
    }

    /// The network of a trial before training, with the checksum of its checkpoint. Of a checkpoint, positions are
    /// interpolated to this number of patches, and the linear map of classes begins anew if their number is another.
    pub(super) fn before_training(
        &self,
        config: &ModelConfig,
        device: &ComputeDevice,
        streams: &Streams,
    ) -> Result<(Model, Option<String>)> {
        let weights = streams.child("weights", 0);
        let Some(folder) = self.checkpoints(streams) else {
            return Ok((Model::new(config.clone(), device, &weights)?, None));
        };
        let stored = Checkpoint::network(&folder, device)?;
        let model = stored.model.at_resolution(self.side / self.patch)?;
        let model = match config.output {
            Output::Classes { count } => model.with_classes(count, &weights)?,
            _ => model,
        };
        Ok((model, Some(stored.checksum)))
    }

    /// Refuses checkpoints that a trial of these settings cannot begin with.
    pub(super) fn check_start(&self, channels: usize, classes: usize) -> Result<()> {
        let networks = self.networks.iter().filter(|n| !super::is_baseline(n));
        iproduct!(networks, 0..self.seeds).try_for_each(|(name, seed)| {
            let streams = Streams::new(0, Self::NAME, super::cell(name).cell(), seed);
            self.configuration(name, channels, classes, &streams).map(|_| ())
        })
    }
}
