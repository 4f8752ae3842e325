//! Layer, kind and step, read from the names of tensors and checkpoints.

use std::path::Path;

/// Returns `true` if a name fits a pattern, in which every `*` stands for any characters.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        // No star.
        return rest.is_empty();
    };
    for part in parts {
        let Some(start) = rest.find(part) else { return false };
        rest = &rest[start + part.len()..];
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
    let mut parts: Vec<&str> = name.split('.').collect();
    if let Some(layer) = parts.iter_mut().find(|part| part.parse::<u64>().is_ok()) {
        *layer = "*";
    }
    parts.join(".")
}

/// Words before the step of a checkpoint, the most telling first.
const STEPS: [&str; 6] = ["step", "checkpoint", "ckpt", "iteration", "iter", "epoch"];

/// Returns the step of training at which a checkpoint was written, from its name or, without one, from that of its
/// folder: the number after or before "step", "checkpoint", "ckpt", "iteration", "iter" or "epoch", with k, M, B or T for
/// thousands, millions and so on; or one at the end after a dash or an underscore. None without one.
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
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    own_step(path).or_else(|| step_in(&folder))
}

/// Returns the step in the name of a checkpoint, whatever its folder is called.
pub(crate) fn own_step(path: &Path) -> Option<u64> {
    step_in(&without_ending(&path.file_name().unwrap_or_default().to_string_lossy()))
}

/// The name of a file without the ending of its format.
fn without_ending(name: &str) -> String {
    name.trim_end_matches(".safetensors").trim_end_matches(".gguf").trim_end_matches(".npy").into()
}

/// Returns the steps of several checkpoints: those of [`step`] or, where some have none, the numbers in which alone the
/// names differ. None without.
///
/// ```
/// use attnlab_networks::steps;
/// assert_eq!(steps(&["ck/model-500", "ck/model-1k"]), Some(vec![500, 1000]));
/// assert_eq!(steps(&["pythia-70m", "pythia-160m"]), None);
/// ```
pub fn steps<P: AsRef<Path>>(paths: &[P]) -> Option<Vec<u64>> {
    let each: Option<Vec<u64>> = paths.iter().map(|path| step(path.as_ref())).collect();
    each.or_else(|| {
        let lower = |name: Option<&std::ffi::OsStr>| name.unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let stems: Vec<String> = paths.iter().map(|path| without_ending(&lower(path.as_ref().file_name()))).collect();
        let folder = |path: &P| lower(path.as_ref().parent().and_then(Path::file_name));
        let same = stems.iter().all(|stem| *stem == stems[0]);
        series(&if same { paths.iter().map(folder).collect() } else { stems })
    })
}

/// Reads the numbers in which alone several names differ; None where they differ in more, or in what is no step: seeds,
/// shards of one network, sizes of networks in millions and billions.
fn series(names: &[String]) -> Option<Vec<u64>> {
    let [first, others @ ..] = names else { return None };
    let common = |other: &String| -> usize {
        first.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    let length = others.iter().map(common).min()?;
    let prefix = first[..length].trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let amounts: Vec<Amount> = names.iter().map(|name| Amount::parse(&name[prefix.len()..])).collect::<Option<_>>()?;
    let end = amounts.first()?.rest;
    let sizes = amounts.iter().all(|amount| amount.places >= 6);
    if sizes
        || prefix.ends_with("seed")
        || prefix.trim_end_matches(['-', '_']).ends_with("seed")
        || end.starts_with("-of-")
    {
        return None;
    }
    amounts.iter().map(|amount| (amount.rest == end).then_some(amount.value)).collect()
}

fn step_in(name: &str) -> Option<u64> {
    let lower = name.to_ascii_lowercase();
    let words = || STEPS.iter().flat_map(|word| lower.match_indices(word));
    let after =
        |(start, word): (usize, &str)| Amount::parse(lower[start + word.len()..].trim_start_matches(['-', '_', '=']));
    if let Some(amount) = words().find_map(after) {
        return Some(amount.value);
    }
    // 10ksteps, 10k_steps, 10kstep; not the size of a network, as in 7b_step_last.
    let before = |(start, word): (usize, &str)| {
        let text = lower[..start].trim_end_matches(['-', '_']);
        let adjoins = text.len() == start || lower[start + word.len()..].starts_with('s');
        let last = text.rsplit(['-', '_']).next().filter(|_| adjoins)?;
        Amount::parse(last).filter(|amount| amount.rest.is_empty())
    };
    if let Some(amount) = words().find_map(before) {
        return Some(amount.value);
    }
    // A shard of several, "model-00001-of-00002", and a seed, "multiberts-seed_3", are no steps.
    let (before, last) = lower.rsplit_once(['-', '_'])?;
    if before.ends_with("-of") || before.ends_with("seed") { None } else { last.parse().ok() }
}

/// A number at the beginning of a text, and what follows it.
struct Amount<'a> {
    value: u64,
    /// Decimal places of the unit: 3 of k, 6 of M, 9 of B, 12 of T, the exponent of 2e3; else 0.
    places: u32,
    rest: &'a str,
}

impl<'a> Amount<'a> {
    /// Reads the number at the beginning of a text in lower case, such as 500, 1,000, 1_000, 20k, 1.5m or 2e3; None without
    /// one, and beyond a u64.
    fn parse(text: &'a str) -> Option<Self> {
        fn digits(text: &str) -> (&str, &str) {
            text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
        }
        let (first, mut rest) = digits(text);
        let mut whole = first.to_string();
        while first.len() <= 3
            && let Some((group, after)) = rest.strip_prefix([',', '_']).map(digits)
            && group.len() == 3
        {
            whole.push_str(group);
            rest = after;
        }
        let whole: u64 = whole.parse().ok()?;
        let (decimals, unit) = rest.strip_prefix('.').map_or(("", rest), digits);
        let mut letters = unit.chars();
        let (letter, after) = (letters.next(), letters.as_str());
        let (exponent, end) = digits(after);
        let (places, end) = match letter {
            Some('e') if !exponent.is_empty() => (exponent.parse().ok()?, end),
            Some('k') => (3, after),
            Some('m') => (6, after),
            Some('b') => (9, after),
            Some('t') => (12, after),
            _ => (0, unit),
        };
        // No unit where a word goes on, as in step5best.
        let goes_on =
            end.starts_with(|c: char| c.is_ascii_alphanumeric()) && !STEPS.iter().any(|word| end.starts_with(word));
        if places == 0 || goes_on {
            return Some(Amount { value: whole, places: 0, rest });
        }
        // More decimals than places are no whole number of steps.
        let left = places - u32::try_from(decimals.len()).ok().filter(|n| *n <= places)?;
        let part = match decimals {
            "" => 0,
            _ => decimals.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(left)?)?,
        };
        let value = whole.checked_mul(10_u64.checked_pow(places)?)?.checked_add(part)?;
        Some(Amount { value, places, rest: end })
    }
}

/// Returns the name of a network for titles: that of its file or folder, without the extension of a file of tensors.
///
/// ```
/// assert_eq!(attnlab_networks::title("models/SmolLM2-135M.gguf".as_ref()), "SmolLM2-135M");
/// assert_eq!(attnlab_networks::title("Qwen2.5-0.5B".as_ref()), "Qwen2.5-0.5B");
/// ```
pub fn title(network: &Path) -> String {
    let is_file = network.extension().is_some_and(|end| ["gguf", "safetensors"].iter().any(|known| end == *known));
    let name = if is_file { network.file_stem() } else { network.file_name() };
    // Labels of figures read both signs.
    name.unwrap_or_default().to_string_lossy().replace(['*', '_'], " ")
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
            ("a/step2e3", Some(2000)),
            ("a/step-1.5e3", Some(1500)),
            ("a/step1,000", Some(1000)),
            ("a/step_1_000", Some(1000)),
            ("a/step1ksteps", Some(1000)),
            ("a/10ksteps", Some(10_000)),
            ("a/model-500_steps", Some(500)),
            ("a/7b_step_last", None),
            ("a/step1e", Some(1)),
            ("a/step1e99", None),
            ("a/step20000e18", None),
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
            let pattern: String = name.chars().zip(&cut).map(|(c, cut)| if *cut { '*' } else { c }).collect();
            prop_assert!(fits(&pattern, &name));
        }
    }

    #[test]
    fn names_that_differ_in_a_number_alone_have_steps() {
        for (names, expected) in [
            (["a/500", "a/1000", "a/2000"], Some([500, 1000, 2000])),
            (["a/500k", "a/1000k", "a/2M"], Some([500_000, 1_000_000, 2_000_000])),
            (["a/w-5k.npy", "a/w-10k.npy", "a/w-15k.npy"], Some([5000, 10_000, 15_000])),
            (["seed1_500", "seed1_1k", "seed1_1.5k"], Some([500, 1000, 1500])),
            (["1k/model.npy", "2k/model.npy", "500/model.npy"], Some([1000, 2000, 500])),
            (["a-70m", "a-160m", "a-1.4b"], None),
            (["a-seed1", "a-seed2", "a-seed3"], None),
            (["a/500", "a/1k", "a/last"], None),
            (["a/500-x", "a/1k-y", "a/2k-x"], None),
            (["w-00001-of-00003", "w-00002-of-00003", "w-00003-of-00003"], None),
        ] {
            assert_eq!(steps(&names), expected.map(Vec::from), "{names:?}");
        }
    }
}
