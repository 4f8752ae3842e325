//! Names under which a checkpoint stores the tensors of a network: wrappers are taken off and old names replaced.

use super::weights::Names;
use crate::Checkpoint;
use crate::tensors::content;
use attnlab_core::error::Result;
use std::collections::BTreeMap;

/// Modules that wrap others, at any place of a name: `torch.compile`, FSDP, activation checkpointing, and Lightning's
/// strategies.
const INNER: [&str; 4] = ["_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_forward_module."];

/// Beginnings of all names of a wrapped network: `DistributedDataParallel`, PEFT, and `self.model` of Lightning and others.
const OUTER: [&str; 3] = ["module.", "base_model.model.", "model."];

/// LayerNorm's numbers in files that come from TensorFlow, as `PreTrainedModel._fix_state_dict_key_on_load` of
/// transformers 4.57.1 reads them.
const OLD: [(&str, &str); 2] = [("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")];

/// Parts of the names of tensors that are not the numbers of a map but others from which it is computed, and how to store
/// the map.
const COMPUTED: [(&[&str], &str); 3] = [
    (
        &[".lora_", ".base_layer.", ".modules_to_save.", ".ia3_", ".vera_"],
        "must be merged; it belongs to a PEFT adapter. Store the sum: python -c \"from peft import \
         AutoPeftModelForCausalLM as M; M.from_pretrained('ADAPTER').merge_and_unload().save_pretrained('MERGED')\"",
    ),
    (
        &[".weight_g", ".weight_v", ".parametrizations."],
        "must be the map itself; it is a part of a parametrisation such as weight_norm. Store the product: call \
         torch.nn.utils.parametrize.remove_parametrizations(module, 'weight') before saving (for weight_g and weight_v, \
         torch.nn.utils.remove_weight_norm(module))",
    ),
    (
        &[
            ".qweight",
            ".qzeros",
            ".SCB",
            ".weight.absmax",
            ".weight.quant_state",
            ".weight.quant_map",
            ".weight_packed",
        ],
        "must be stored in full; it is a part of packed numbers. Save the network with transformers: \
         model.dequantize().save_pretrained('FULL')",
    ),
];

/// Stored name of every tensor, by the name that the family gives it.
pub(super) struct StoredNames<'a> {
    names: BTreeMap<String, &'a str>,
    /// Changes of names, one sentence each: wrappers that are taken off, and old names.
    pub(super) renamings: Vec<String>,
}

impl<'a> StoredNames<'a> {
    /// Takes wrappers off all names of a checkpoint, and replaces old ones.
    ///
    /// # Errors
    /// A tensor of an adapter, of a parametrisation or of packed numbers; two tensors that get one name.
    pub(super) fn new(checkpoint: &'a Checkpoint, names: &Names) -> Result<Self> {
        let mut renamings = vec![];
        let mut list: Vec<(String, &str)> = checkpoint.names().map(|name| (name.to_string(), name)).collect();
        for wrapper in INNER {
            if list.iter().any(|(name, _)| name.contains(wrapper)) {
                list.iter_mut().for_each(|(name, _)| *name = name.replace(wrapper, ""));
                renamings.push(format!("{wrapper} taken off the names of tensors"));
            }
        }
        for (name, stored) in &list {
            let parts = COMPUTED.iter().find(|(parts, _)| parts.iter().any(|part| name.contains(part)));
            if let Some((_, requirement)) = parts {
                return Err(content(checkpoint.path(), format!("{stored}: {requirement}")));
            }
        }
        let outer = outer(&list, names);
        if !outer.is_empty() {
            for (name, _) in &mut list {
                if let Some(inner) = name.strip_prefix(&outer) {
                    *name = inner.to_string();
                }
            }
            renamings.push(format!("{outer} taken off the names of tensors"));
        }
        for (old, new) in OLD {
            let mut is_replaced = false;
            for (name, _) in list.iter_mut().filter(|(name, _)| name.ends_with(old)) {
                is_replaced = true;
                *name = name.replace(old, new);
            }
            if is_replaced {
                renamings.push(format!("{old} read as {new}"));
            }
        }
        let mut names = BTreeMap::new();
        for (name, stored) in list {
            if let Some(other) = names.insert(name.clone(), stored) {
                let problem = format!(
                    "{stored}: must be there once; {other} means {name} too. Remove one of the two from the file"
                );
                return Err(content(checkpoint.path(), problem));
            }
        }
        Ok(StoredNames { names, renamings })
    }

    /// Returns the stored name of a tensor.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.names.get(name).copied()
    }

    /// Finds a tensor that has this name under an unknown wrapper: the stored name, and the wrapper.
    pub(super) fn wrapped(&self, name: &str) -> Option<(&'a str, &str)> {
        let wrapper = |known: &'_ String| known.strip_suffix(name).filter(|rest| rest.ends_with('.')).map(str::len);
        self.names.iter().find_map(|(known, stored)| Some((*stored, &known[..wrapper(known)?])))
    }

    /// Returns the names that the family gives, with the stored ones.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.names.iter().map(|(name, stored)| (name.as_str(), *stored))
    }
}

/// Finds the wrappers around the whole network: the fewest with which the table of tokens is there under a prefix of the
/// family.
fn outer(list: &[(String, &str)], names: &Names) -> String {
    let mut outers: Vec<&str> = vec![];
    for prefix in names.prefixes {
        let table = format!("{prefix}{}", names.tokens);
        outers.extend(list.iter().filter_map(|(name, _)| name.strip_suffix(&table)));
    }
    let wraps = |outer: &&str| {
        let mut rest = *outer;
        while let Some(inner) = OUTER.iter().find_map(|wrapper| rest.strip_prefix(wrapper)) {
            rest = inner;
        }
        rest.is_empty()
    };
    outers.into_iter().filter(wraps).min_by_key(|outer| outer.len()).unwrap_or_default().to_string()
}
