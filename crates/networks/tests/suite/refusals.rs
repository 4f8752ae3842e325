//! Networks that must be refused: settings that change the computation, tensors that are missing or of another shape,
//! indices that lie, inputs out of range.

use crate::parity::data;
use crate::quantised::{changed, changes};
use attnlab_core::error::Error;
use attnlab_networks::transformer::{Recordings, TokenInput, Transformer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A copy of a network whose settings may be changed.
pub fn copy(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(data(name)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

pub fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

pub fn refusal(folder: &Path) -> String {
    let error = Transformer::open(folder).expect_err("must be refused");
    assert!(matches!(error, Error::Content { .. } | Error::Io { .. } | Error::Memory { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn settings_that_change_the_computation_are_refused_by_name() {
    for (network, key, value) in [
        ("gpt2", "activation_function", json!("quick_gelu")),
        ("gpt2", "scale_attn_by_inverse_layer_idx", json!(true)),
        ("gpt2", "scale_attn_weights", json!(false)),
        ("gpt2", "n_head", json!(5)),
        ("gpt2", "n_embd", json!(-32)),
        ("gpt2", "n_embd", json!(1_000_000_000_000_u64)),
        ("gpt2", "n_layer", json!("two")),
        ("gpt2", "layer_norm_epsilon", json!(0)),
        ("gpt2", "model_type", json!("gpt3")),
        ("gpt-neox", "rotary_pct", json!(1.5)),
        ("gpt-neox", "rotary_pct", json!(0.01)),
        ("gpt-neox", "use_parallel_residual", json!(1)),
        ("opt", "word_embed_proj_dim", json!(16)),
        ("opt", "_remove_final_layer_norm", json!(true)),
        ("opt", "activation_function", json!("gelu_10")),
        ("llama", "sliding_window", json!(4096)),
        ("llama", "num_local_experts", json!(8)),
        ("llama", "hidden_act", json!("gelu")),
        ("llama", "num_key_value_heads", json!(3)),
        ("llama", "rope_scaling", json!({"type": "dynamic", "factor": 2.0})),
        ("llama", "rope_scaling", json!({"rope_type": "yarn", "factor": 2.0})),
        ("llama", "rope_scaling", json!({"rope_type": "linear", "factor": 2.0, "attention_factor": 1.0})),
        ("llama", "rope_interleaved", json!(true)),
        ("bert", "position_embedding_type", json!("relative_key")),
    ] {
        let folder = copy(network);
        edit(&folder.path().join("config.json"), |c| c[key] = value.clone());
        let message = refusal(folder.path());
        let named = message.contains(key) || message.contains("kv_heads") || message.contains("turned");
        assert!(named && message.contains("must"), "{key} = {value}: {message}");
    }
    let folder = copy("llama");
    edit(&folder.path().join("config.json"), |c| drop(c.as_object_mut().unwrap().remove("hidden_size")));
    assert!(refusal(folder.path()).contains("hidden_size = absent: must be there"));
    for text in ["", "[]", "{\"model_type\": ", &"[".repeat(100_000)] {
        fs::write(folder.path().join("config.json"), text).unwrap();
        assert!(refusal(folder.path()).contains("config.json: must be"));
    }
}

#[test]
fn settings_that_announce_what_is_not_there_take_no_memory() {
    for (key, value, tensor) in [
        ("vocab_size", 200_000_000_u64, "embed_tokens.weight"),
        ("num_hidden_layers", 100, "layers.2.self_attn.q_proj.weight"),
        ("intermediate_size", 60, "layers.0.mlp.up_proj.weight"),
        ("num_hidden_layers", 1, "layers.1"),
    ] {
        let folder = copy("llama");
        edit(&folder.path().join("config.json"), |c| c[key] = json!(value));
        let message = refusal(folder.path());
        assert!(message.contains(tensor) || message.contains("needs"), "{key}: {message}");
    }
    // A tied network with an output of its own.
    let folder = copy("llama");
    edit(&folder.path().join("config.json"), |c| c["tie_word_embeddings"] = json!(true));
    assert!(refusal(folder.path()).contains("lm_head.weight: must equal model.embed_tokens.weight"));
}

#[test]
fn an_index_is_respected_and_may_not_lie() {
    let name = "model.safetensors.index.json";
    let with = |change: &dyn Fn(&mut Value)| {
        let folder = copy("llama-tied");
        edit(&folder.path().join(name), |i| change(&mut i["weight_map"]));
        refusal(folder.path())
    };
    let tensor = "model.norm.weight";
    let right: Value = serde_json::from_slice(&fs::read(data("llama-tied").join(name)).unwrap()).unwrap();
    let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let other = shards.iter().find(|s| right["weight_map"][tensor] != **s).unwrap();
    for (file, expected) in [
        (json!(name), "must be the name of a safetensors file"),
        (json!("../x.safetensors"), "must be the name of a safetensors file"),
        (json!("/etc/passwd"), "must be the name of a safetensors file"),
        (json!(3), "must be the name of a safetensors file"),
        (json!("model-00003.safetensors"), "must be a file that exists"),
        (json!(other), "must be the file that has it"),
    ] {
        let message = with(&|map| map[tensor] = file.clone());
        assert!(message.contains(expected) && message.contains(tensor), "{file}: {message}");
    }
    let removed = with(&|map| drop(map.as_object_mut().unwrap().remove(tensor)));
    assert!(removed.contains(tensor) && removed.contains("must be there"), "{removed}");
    let added = with(&|map| map["more"] = json!(shards[0]));
    assert!(added.contains("weight_map.more: must be in"), "{added}");
    assert!(with(&|map| *map = json!({})).contains("at least one tensor"));
    assert!(with(&|map| *map = json!(7)).contains("weight_map: must be there"));
    // A file that the index does not name is no part of the network.
    let folder = copy("llama-tied");
    fs::copy(data("llama/model.safetensors"), folder.path().join("other.safetensors")).unwrap();
    assert!(Transformer::open(folder.path()).is_ok());
    fs::remove_file(folder.path().join(shards[1])).unwrap();
    assert!(refusal(folder.path()).contains("must be a file that exists"));
}

#[test]
fn inputs_out_of_range_are_refused() {
    let (llama, bert) = ["llama", "bert"].map(|n| Transformer::open(&data(n)).unwrap()).into();
    let none = Recordings::none();
    let refused = |network: &Transformer, input: TokenInput| network.forward(input, &none).unwrap_err().to_string();
    assert!(refused(&llama, (&[][..]).into()).contains("0 tokens: must be from 1 to 32"));
    assert!(refused(&llama, (&[1; 33][..]).into()).contains("33 tokens"));
    assert!(refused(&llama, (&[1, 64][..]).into()).contains("ids[1] = 64: must be less"));
    let with = |segments, mask| TokenInput { ids: &[1, 2], segments, mask };
    assert!(refused(&llama, with(Some(&[0, 0]), None)).contains("segments[0]"));
    assert!(refused(&bert, with(Some(&[0]), None)).contains("segments"));
    assert!(refused(&bert, with(Some(&[0, 2]), None)).contains("segments[1] = 2"));
    assert!(refused(&llama, with(None, Some(&[true, false]))).contains("mask"));
    assert!(refused(&bert, with(None, Some(&[false, false]))).contains("mask"));
    assert!(refused(&bert, with(None, Some(&[true]))).contains("mask"));
    let logits = Recordings::named(&["logits"]).unwrap();
    let error = bert.forward(&vec![1], &logits).unwrap_err().to_string();
    assert!(error.contains("recordings = logits"), "{error}");
    assert!(bert.losses(&[1, 2]).unwrap_err().to_string().contains("network = bert"));
    assert!(llama.losses(&[1]).unwrap_err().to_string().contains("at least 2"));
    assert!(Recordings::named(&["weight"]).unwrap_err().to_string().contains("weights"));
    assert!(llama.forward(&vec![1], &Recordings::all().in_layers([2])).unwrap_err().to_string().contains("layer = 2"));
    // 10^5 tokens' weights are refused before anything is computed.
    let folder = copy("llama");
    edit(&folder.path().join("config.json"), |c| c["max_position_embeddings"] = json!(10_000_000));
    let error = Transformer::open(folder.path()).unwrap().forward(&vec![1; 1_000_000], &Recordings::all()).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn paths_without_a_network_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refusal(folder.path()).contains("config.json"));
    assert!(refusal(&folder.path().join("none")).contains("must be a GGUF file"));
    for name in ["a.gguf", "b.gguf"] {
        fs::copy(data("llama.gguf"), folder.path().join(name)).unwrap();
    }
    assert!(refusal(folder.path()).contains("must hold one GGUF file"));
    fs::remove_file(folder.path().join("b.gguf")).unwrap();
    assert!(Transformer::open(folder.path()).is_ok());
}

/// Numbers that overflow end with an error that says where.
#[test]
fn a_pass_that_leaves_the_range_of_f32_is_an_error() {
    let folder = copy("llama");
    edit(&folder.path().join("config.json"), |c| c["rms_norm_eps"] = json!(1e-300));
    let path = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    // Every number 1.3e38 in bfloat16: products overflow.
    for pair in bytes[8 + header..].chunks_mut(2) {
        pair.copy_from_slice(&[0xc4, 0x7e]);
    }
    fs::write(&path, bytes).unwrap();
    let error = Transformer::open(folder.path()).unwrap().forward(&vec![1, 2], &Recordings::none()).unwrap_err();
    assert!(matches!(error, Error::Diverged(_)), "{error}");
}

proptest! {
    /// Settings, index and tensors with some bytes changed or cut short are read or refused.
    #[test]
    fn no_bytes_bring_a_folder_down(which in 0_usize..3, changes in changes()) {
        let folder = copy("llama-tied");
        let file = ["config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors"][which];
        let path = folder.path().join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, changed(&whole, whole.len().min(1200), &changes)).unwrap();
        if let Ok(network) = Transformer::open(folder.path()) {
            let _ = network.losses(&[1, 2, 3]);
        }
    }
}

/// Rewrites the header of a network's safetensors file, and appends data.
pub fn reheader(folder: &Path, change: impl FnOnce(&mut serde_json::Map<String, Value>), more: &[u8]) {
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let (size, rest) = bytes.split_at(8);
    let (header, data) = rest.split_at(u64::from_le_bytes(size.try_into().unwrap()) as usize);
    let mut header: Value = serde_json::from_slice(header).unwrap();
    change(header.as_object_mut().unwrap());
    let header = header.to_string().into_bytes();
    fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], &header, data, more].concat()).unwrap();
}

/// Announces a tensor of 4 bytes after all others.
pub fn announce(header: &mut serde_json::Map<String, Value>, name: &str, kind: &str, shape: &[usize]) {
    let end = header.values().filter_map(|t| t["data_offsets"][1].as_u64()).max().unwrap();
    header.insert(name.into(), json!({"dtype": kind, "shape": shape, "data_offsets": [end, end + 4]}));
}

/// GPT-2's files on the hub: names without the prefix, and the causal masks stored as tensors.
#[test]
fn gpt2_is_read_without_its_prefix_and_with_its_masks() {
    let folder = copy("gpt2");
    let plain = Transformer::open(folder.path()).unwrap();
    let change = |header: &mut serde_json::Map<String, Value>| {
        for (name, tensor) in std::mem::take(header) {
            header.insert(name.replace("transformer.", ""), tensor);
        }
        announce(header, "h.0.attn.bias", "U8", &[1, 1, 2, 2]);
    };
    reheader(folder.path(), change, &[1, 0, 1, 1]);
    let bare = Transformer::open(folder.path()).unwrap();
    let recordings = Recordings::all();
    assert!(plain.forward(&[1, 2, 3], &recordings).unwrap() == bare.forward(&[1, 2, 3], &recordings).unwrap());
}

#[test]
fn tensors_that_are_missing_unknown_or_of_another_type_are_named() {
    type Change = fn(&mut serde_json::Map<String, Value>);
    let rename: Change = |header| {
        let tensor = header.remove("transformer.ln_f.bias").unwrap();
        header.insert("transformer.ln_f.offset".into(), tensor);
    };
    let whole: Change = |header| header["transformer.wpe.weight"]["dtype"] = json!("I32");
    let flat: Change = |header| header["transformer.wpe.weight"]["shape"] = json!([1024]);
    let lora: Change = |header| announce(header, "transformer.h.0.attn.c_attn.lora", "F32", &[1]);
    for (change, more, expected) in [
        (rename, 0, "tensor transformer.ln_f.bias: must be there, with shape [32]"),
        (whole, 0, "transformer.wpe.weight: must have the type F64, F32, F16 or BF16; it is I32"),
        (flat, 0, "transformer.wpe.weight: must have the shape [32, 32]; it is [1024]"),
        (lora, 4, "transformer.h.0.attn.c_attn.lora: must be absent"),
    ] {
        let folder = copy("gpt2");
        reheader(folder.path(), change, &[0; 4][..more]);
        let message = refusal(folder.path());
        assert!(message.contains(expected), "{message}");
    }
}
