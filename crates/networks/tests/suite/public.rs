//! Files as they are published: settings without effect, old and wrapped names of tensors, foreign formats, steps in names.

use crate::parity::data;
use crate::refusals::{announce, copy, edit, refusal, reheader};
use crate::{folder, put};
use attnlab_networks::transformer::{Recordings, Transformer};
use attnlab_networks::{Checkpoint, npy};
use ndarray::{Array2, array};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Tests that two networks are the same to the bit.
fn same(a: &Path, b: &Path) -> bool {
    // Without logits, which BERT does not have.
    let parts = Recordings::named(&["weights", "residual"]).unwrap();
    let pass = |path: &Path| Transformer::open(path).unwrap().forward(&[1, 2, 3], &parts).unwrap();
    pass(a) == pass(b)
}

/// The keys are those of gpt2-xl's config.json, of `PretrainedConfig.to_dict` and of `_get_global_generation_defaults`,
/// transformers 4.57.1.
#[test]
fn settings_without_effect_change_nothing() {
    let settings = json!({
        "n_special": 0, "predict_special_tokens": true, "tokenizer_class": "GPT2Tokenizer", "pruned_heads": {},
        "temperature": 0.7, "top_k": 50, "top_p": 1.0, "typical_p": 1.0, "num_beams": 4, "early_stopping": false,
        "length_penalty": 1.0, "repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
        "bad_words_ids": [[1]], "num_return_sequences": 1, "output_scores": false, "forced_bos_token_id": 1,
        "remove_invalid_values": false, "exponential_decay_length_penalty": [1, 2.0], "suppress_tokens": [1],
        "begin_suppress_tokens": [1], "num_beam_groups": 1, "diversity_penalty": 0.0, "is_decoder": true,
        "add_cross_attention": false, "cross_attention_hidden_size": null, "tie_encoder_decoder": false,
        "is_encoder_decoder": false, "finetuning_task": "x", "id2label": {"0": "a"}, "label2id": {"a": 0}, "prefix": "x",
        "tf_legacy_loss": false, "use_bfloat16": false, "torch_dtype": "float16", "return_dict": true,
        "unsloth_version": "2024.9", "max_sequence_length": 2048, "sep_token_id": 3, "sliding_window": null,
    });
    for network in ["gpt2", "llama", "opt", "gpt-neox"] {
        let changed = copy(network);
        edit(&changed.path().join("config.json"), |c| {
            c.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
            if network == "gpt2" {
                c["n_ctx"] = json!(1024);
            }
        });
        assert!(same(&data(network), changed.path()), "{network}");
    }
}

#[test]
fn settings_with_an_effect_are_refused_with_their_value() {
    for (network, key, value) in [
        ("gpt2", "pruned_heads", json!({"0": [1]})),
        ("llama", "pruned_heads", json!({"1": [0, 2]})),
        ("llama", "add_cross_attention", json!(true)),
        ("opt", "is_encoder_decoder", json!(true)),
        ("bert", "is_decoder", json!(true)),
        ("gpt-neox", "partial_rotary_factor", json!(0.75)),
        ("gpt-neox", "rope_theta", json!(5000.0)),
        ("llama", "quantization_config", json!({"bits": 4})),
        ("gpt2", "num_experts", json!(8)),
    ] {
        let folder = copy(network);
        edit(&folder.path().join("config.json"), |c| {
            if network == "gpt-neox" {
                let c = c.as_object_mut().unwrap();
                c.remove("rope_parameters");
                c.extend([("rotary_pct".to_string(), json!(0.25)), ("rotary_emb_base".to_string(), json!(10_000.0))]);
            }
            c[key] = value.clone();
        });
        let message = refusal(folder.path());
        assert!(message.contains(&format!("{key} = {value}")), "{message}");
    }
}

fn renamed(network: &str, rename: impl Fn(&str) -> String) -> tempfile::TempDir {
    let folder = copy(network);
    let change = |header: &mut Map<String, Value>| {
        for (name, tensor) in std::mem::take(header) {
            let name = if name == "__metadata__" { name } else { rename(&name) };
            header.insert(name, tensor);
        }
    };
    reheader(folder.path(), change, &[]);
    folder
}

/// `LayerNorm.gamma` and `beta` as `PreTrainedModel._fix_state_dict_key_on_load` reads them; the wrappers as torch.compile,
/// FSDP, DistributedDataParallel, PEFT and Lightning write them.
#[test]
fn old_and_wrapped_names_mean_the_same_network() {
    let old =
        |name: &str| name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
    type Rename<'a> = &'a dyn Fn(&str) -> String;
    let cases: [(&str, Rename, &[&str]); 9] = [
        ("bert", &old, &["LayerNorm.gamma", "LayerNorm.beta"]),
        ("bert", &|n| format!("module.{}", old(n)), &["module.", "LayerNorm.gamma", "LayerNorm.beta"]),
        ("gpt2", &|n| format!("_orig_mod.{n}"), &["_orig_mod."]),
        ("gpt2", &|n| format!("base_model.model.{n}"), &["base_model.model."]),
        ("gpt2", &|n| format!("module._orig_mod.{n}"), &["_orig_mod.", "module."]),
        ("gpt2", &|n| format!("_forward_module.{n}"), &["_forward_module."]),
        ("llama", &|n| format!("model.{n}"), &["model."]),
        ("llama", &|n| n.replace("layers.1.", "layers.1._fsdp_wrapped_module."), &["_fsdp_wrapped_module."]),
        ("opt", &|n| n.to_string(), &[]),
    ];
    for (network, rename, named) in cases {
        let folder = renamed(network, rename);
        assert!(same(&data(network), folder.path()), "{network} {named:?}");
        let renamings = Transformer::renamings(folder.path()).unwrap();
        assert_eq!(renamings.len(), named.len(), "{renamings:?}");
        for (renaming, name) in renamings.iter().zip(named) {
            assert!(renaming.starts_with(name), "{renamings:?}");
        }
    }
    let message = refusal(renamed("llama", |n: &str| format!("student.{n}")).path());
    assert!(message.contains("student.") && message.contains("off the names of all tensors"), "{message}");
}

#[test]
fn tensors_from_which_a_map_is_computed_are_refused_with_advice() {
    for (name, advice) in [
        ("transformer.h.0.attn.c_attn.lora_A.weight", "merge_and_unload"),
        ("base_model.model.transformer.h.0.attn.c_attn.base_layer.weight", "merge_and_unload"),
        ("transformer.h.0.mlp.c_fc.weight_g", "remove_weight_norm"),
        ("transformer.h.0.mlp.c_fc.parametrizations.weight.original0", "remove_parametrizations"),
        ("transformer.h.0.mlp.c_fc.qweight", "dequantize"),
        ("_orig_mod.transformer.wte.weight", "must be there once"),
    ] {
        let folder = copy("gpt2");
        reheader(folder.path(), |header| announce(header, name, "F32", &[1]), &[0; 4]);
        let message = refusal(folder.path());
        let named = message.contains(name) || message.contains("transformer.wte.weight");
        assert!(named && message.contains(advice), "{message}");
    }
}

#[test]
fn texts_in_place_of_tensors_are_named() {
    for (name, text, expected) in [
        ("z.csv", "0.5,1\n2,3\n", "np.loadtxt("),
        ("z.csv", "1,2", "delimiter=','"),
        ("z.txt", "0.5 1.25 3\n", "np.loadtxt("),
        ("model.safetensors", "Entry not found", "a text that begins with \"Entry not found\""),
        ("z.mat", "MATLAB 5.0 MAT-file", "loadmat("),
    ] {
        let message = crate::refusal_of(name, text.as_bytes());
        assert!(message.contains(expected), "{name}: {message}");
    }
}

#[test]
fn foreign_files_are_named_with_the_line_that_converts_them() {
    // First bytes: of torch.save, of numpy.savez and of the formats' descriptions.
    let torch = b"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x12\0\x12\0archive/data.pklFB";
    let npz = b"PK\x03\x04\x2d\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0z.npy";
    for (name, bytes, expected) in [
        ("pytorch_model.bin", &torch[..], "torch.load"),
        ("model.pt", b"\x80\x02\x8a\x0a", "torch.load"),
        ("last.ckpt", torch, "torch.load"),
        ("weights.pth", b"", "torch.load"),
        ("model.safetensors", torch, "torch.load"),
        ("z.npz", npz, "np.load"),
        ("z.safetensors", npz, "np.load"),
        ("tf_model.h5", b"\x89HDF\r\n\x1a\n", "h5py"),
        ("model.onnx", b"", "onnx.load"),
        ("flax_model.msgpack", b"", "from_flax"),
        ("z.pkl", b"", "allow_pickle"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        ("model.safetensors", b"<!DOCTYPE html>", "page of the web"),
        ("model.safetensors", b"GGUF\x03\0\0\0", "ending .gguf"),
    ] {
        let folder = folder();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let config = folder.path().join("config.json");
        fs::copy(data("gpt2").join("config.json"), &config).unwrap();
        let file = Checkpoint::open(&path).map(|_| ()).unwrap_err().to_string();
        assert!(file.contains(expected), "{name}: {file}");
        let network = refusal(folder.path());
        assert!(network.contains(expected) && network.contains(name), "{name}: {network}");
        let network = refusal(&path);
        assert!(network.contains(expected), "{name}: {network}");
        fs::remove_file(config).unwrap();
        let checkpoints = Checkpoint::open_all(&[folder.path().to_path_buf()]).map(|_| ()).unwrap_err().to_string();
        assert!(checkpoints.contains(expected), "{name}: {checkpoints}");
    }
}

#[test]
fn adapters_nested_folders_and_two_networks_are_told_apart() {
    let adapter = folder();
    fs::write(adapter.path().join("adapter_config.json"), "{}").unwrap();
    let tensors = adapter.path().join("adapter_model.safetensors");
    put(&tensors, "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", &Array2::zeros((1, 2)));
    for path in [adapter.path(), &tensors] {
        assert!(refusal(path).contains("merge_and_unload"));
    }
    let cache = folder();
    let snapshot = cache.path().join("snapshots/0123abc");
    fs::create_dir_all(&snapshot).unwrap();
    fs::copy(data("gpt2").join("config.json"), snapshot.join("config.json")).unwrap();
    let message = refusal(cache.path());
    assert!(message.contains(&format!("{} does. Give that folder", snapshot.display())), "{message}");
    for (network, other) in
        [("gpt2", "consolidated.safetensors"), ("gpt2", "gpt2.safetensors"), ("llama-tied", "model.safetensors")]
    {
        let two = copy(network);
        fs::copy(data("gpt2/model.safetensors"), two.path().join(other)).unwrap();
        let message = refusal(two.path());
        assert!(message.contains("could both be it") && message.contains(other), "{message}");
    }
    let file = refusal(&data("gpt2").join("model.safetensors"));
    assert!(file.contains("Give the folder of this file"), "{file}");
}

#[test]
fn steps_with_units_are_in_their_order_and_equal_ones_are_refused() {
    let folder = folder();
    for (name, value) in [("step2k", 1.0), ("step500", 2.0), ("step1k", 3.0)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        put(&folder.path().join(name).join("model.safetensors"), "w", &Array2::from_elem((2, 2), value));
    }
    let root = [folder.path().to_path_buf()];
    let steps = |paths: &[PathBuf]| {
        Ok(Checkpoint::open_all(paths)?.iter().filter_map(|c| attnlab_networks::step(c.path())).collect::<Vec<u64>>())
    };
    let ordered: attnlab_core::error::Result<_> = steps(&root);
    assert_eq!(ordered.unwrap(), [500, 1000, 2000]);
    // The steps of some are out of order in the order of names.
    fs::rename(folder.path().join("step2k"), folder.path().join("last")).unwrap();
    assert!(steps(&root).unwrap_err().to_string().contains("in their order"));
    fs::rename(folder.path().join("last"), folder.path().join("step_1000")).unwrap();
    let message = steps(&root).unwrap_err().to_string();
    assert!(["step = 1000", "step1k", "step_1000"].iter().all(|part| message.contains(part)), "{message}");
}

/// The headers are NumPy's; `numpy.array([[1.5, -2], [0, .25]], '>f2').tobytes().hex()` is 3e00c00000003400.
#[test]
fn arrays_of_numpy_are_read_or_named_with_advice() {
    let folder = folder();
    let path = folder.path().join("z.npy");
    let write = |descr: &str, fortran: &str, data: &[u8]| {
        let header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': (2, 2), }}\n");
        let length = (header.len() as u32).to_le_bytes();
        fs::write(&path, [&b"\x93NUMPY\x03\x00"[..], &length, header.as_bytes(), data].concat()).unwrap();
        npy::matrix("z", &path)
    };
    let expected = array![[1.5, -2.0], [0.0, 0.25]];
    let big = [0x3e, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x34, 0x00];
    let little = [0x00, 0x3e, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x34];
    assert_eq!(write("'>f2'", "False", &big).unwrap(), expected);
    assert_eq!(write("'<f2'", "False", &little).unwrap(), expected);
    assert_eq!(write("'<f2'", "True", &little).unwrap(), expected.t());
    for (descr, size, advice) in [
        ("'|V2'", 8, "bfloat16"),
        ("'bfloat16'", 8, "bfloat16"),
        ("'|O'", 30, "allow_pickle"),
        ("'<c8'", 32, "z.real"),
        ("'<i8'", 32, "z.astype('float64')"),
        ("[('x', '<f4'), ('y', '<f4')]", 32, "simple array"),
    ] {
        let message = write(descr, "False", &vec![0; size]).unwrap_err().to_string();
        assert!(message.contains(advice), "{descr}: {message}");
    }
}
