//! Layer, kind and step, read from the names of tensors and checkpoints.

use std::path::Path;

/// Returns `true` if a name fits a pattern, in which every `*` stands for any characters.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        // No star.
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(start) => rest = &rest[start + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns the whole numbers in a name, in order; those that a u64 cannot hold are left out.
///
/// ```
/// assert_eq!(attnlab_networks::numbers("gpt_neox.layers.11.mlp"), [11]);
/// ```
pub fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Returns the layer of a tensor: the first part of its name, between dots, that is a whole number. None without one.
///
/// ```
/// use attnlab_networks::layer;
/// assert_eq!(layer("model.decoder.layers.7.fc1.weight"), Some(7));
/// assert_eq!(layer("embed_in.weight"), None);
/// ```
pub fn layer(name: &str) -> Option<u64> {
    name.split('.').find_map(|part| part.parse().ok())
}

/// Returns the name of a tensor with `*` in place of its layer: what it has in common with those of other layers.
///
/// ```
/// assert_eq!(attnlab_networks::kind("layers.7.fc1.weight"), "layers.*.fc1.weight");
/// ```
pub fn kind(name: &str) -> String {
    let mut replaced = false;
    let part = |part: &str| -> String {
        if !replaced && part.parse::<u64>().is_ok() {
            replaced = true;
            return "*".into();
        }
        part.into()
    };
    name.split('.').map(part).collect::<Vec<_>>().join(".")
}

/// Words before the step of a checkpoint, the most telling first.
const STEPS: [&str; 6] = ["step", "checkpoint", "ckpt", "iteration", "iter", "epoch"];

/// Returns the step of training at which a checkpoint was written, from its name or, without one, from that of its
/// folder: the number after "step", "checkpoint", "ckpt", "iteration", "iter" or "epoch", with k, M or B for thousands,
/// millions and billions; or one at the end after a dash or an underscore. None without one.
///
/// ```
/// use attnlab_networks::step;
/// assert_eq!(step("pythia-70m/step3000".as_ref()), Some(3000));
/// assert_eq!(step("multiberts-seed_0-step_20k".as_ref()), Some(20_000));
/// assert_eq!(step("checkpoint-20/model.safetensors".as_ref()), Some(20));
/// assert_eq!(step("runs/model-500.safetensors".as_ref()), Some(500));
/// assert_eq!(step("pythia-70m".as_ref()), None);
/// ```
pub fn step(path: &Path) -> Option<u64> {
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder.unwrap_or_default().to_string_lossy();
    own_step(path).or_else(|| step_in(&folder))
}

/// Returns the step in the name of a checkpoint, whatever its folder is called.
pub(crate) fn own_step(path: &Path) -> Option<u64> {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.trim_end_matches(".safetensors").trim_end_matches(".gguf").trim_end_matches(".npy");
    step_in(stem)
}

fn step_in(name: &str) -> Option<u64> {
    let lower = name.to_ascii_lowercase();
    for word in STEPS {
        for (start, _) in lower.match_indices(word) {
            let rest = lower[start + word.len()..].trim_start_matches(['-', '_', '=']);
            if let Some(step) = amount(rest) {
                return Some(step);
            }
        }
    }
    // A shard of several, "model-00001-of-00002", and a seed, "multiberts-seed_3", are no steps.
    let (before, last) = lower.rsplit_once(['-', '_'])?;
    match before.ends_with("-of") || before.ends_with("seed") {
        true => None,
        false => last.parse().ok(),
    }
}

/// Reads the number at the beginning of a text, such as 500, 20k or 1.5m; None without one, and beyond a u64.
fn amount(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let whole: u64 = digits.parse().ok()?;
    let (decimals, unit) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
        None => ("", rest),
    };
    let mut letters = unit.chars();
    let places = match (letters.next(), letters.next()) {
        (_, Some(next)) if next.is_ascii_alphanumeric() => 0,
        (Some('k'), _) => 3,
        (Some('m'), _) => 6,
        (Some('b'), _) => 9,
        _ => 0,
    };
    if places == 0 {
        return Some(whole);
    }
    // More decimals than places are no whole number of steps.
    let zeros = 10_u64.pow(places - u32::try_from(decimals.len()).ok().filter(|n| *n <= places)?);
    let part = match decimals {
        "" => 0,
        _ => decimals.parse::<u64>().ok()?.checked_mul(zeros)?,
    };
    whole.checked_mul(10_u64.pow(places))?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*.w", "x.1.w", true),
            ("*.w", "x.1.wb", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn steps_are_told_from_other_numbers() {
        for (path, expected) in [
            ("a/step0", Some(0)),
            ("a/global_step12", Some(12)),
            ("a/Checkpoint-7.safetensors", Some(7)),
            ("step5/model-00001-of-00002.safetensors", Some(5)),
            ("a/model-00001-of-00002.safetensors", None),
            ("a/layers.0.fc1.weight.npy", None),
            // MultiBERTs, TinyLlama, OLMo, Megatron, Lightning; no unit where a word goes on.
            ("a/step_20k", Some(20_000)),
            ("a/step-50K-105b", Some(50_000)),
            ("a/TinyLlama-1.1B-intermediate-step-1431k-3T", Some(1_431_000)),
            ("a/stage1-step1000-tokens4B", Some(1000)),
            ("a/step1.5M", Some(1_500_000)),
            ("a/step5best", Some(5)),
            ("a/iter_0001000", Some(1000)),
            ("a/iteration_40", Some(40)),
            ("a/epoch=3-step=900.safetensors", Some(900)),
            ("a/checkpoint-500", Some(500)),
            ("a/step99999999999999999999k", None),
            ("a/step99999999999999999k", None),
            ("multiberts-seed_3", None),
            ("pythia-160m", None),
            ("final", None),
            ("", None),
        ] {
            assert_eq!(step(path.as_ref()), expected, "{path}");
        }
    }

    proptest! {
        /// A pattern made from a name by cutting pieces out fits it.
        #[test]
        fn patterns_of_a_name_fit_it(name in "[a-c.]{0,12}", cut in prop::collection::vec(any::<bool>(), 12)) {
            let pattern: String = name
                .chars()
                .zip(&cut)
                .map(|(c, cut)| if *cut { '*' } else { c })
                .collect();
            prop_assert!(fits(&pattern, &name));
        }
    }
}
