"""Makes a tiny random checkpoint for every line of variations.json, and what the reference implementation gives on it.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==5.23.0 gguf==0.19.0
    venv/bin/python crates/networks/tests/parity/variations.py            # or with names, for some lines only

The reference is Hugging Face's transformers. `networks/NAME` has the network as a user would have it, and
`expected/NAME.safetensors` the hidden states, attention weights and logits. Of a variation that is to be refused only
the settings are written. `cargo test --test networks variation` then compares every line, so one line in the table
adds a variation.

Members of a line:
    family    `model_type` of the network
    storage   f32, f16 or bf16 (safetensors), or gguf and the type of its matrices
    config    settings other than those of SIZES, as transformers has them now
    older     members of config.json as other versions wrote them, in place of transformers' own (`rope_parameters`)
    metadata  settings of GGUF other than the converter's; null for none
    parts     number of files of a split GGUF
    refused   text of the refusal; without it the network must agree
"""

import json
import shutil
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "data"))

import gguf
import numpy as np
import torch
import transformers as hf
from make import halves, neighbours, quantised, randomise, run
from safetensors.torch import save_file

TOKENS = 10

# Small, with no two sizes equal that a reader could mix up.
SIZES = {
    "gpt2": dict(vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_inner=24, n_positions=20),
    "gpt_neox": dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                     max_position_embeddings=20),
    "opt": dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=24,
                max_position_embeddings=20, word_embed_proj_dim=16),
    "llama": dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                  intermediate_size=24, max_position_embeddings=20),
    "bert": dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                 max_position_embeddings=20),
}
# Rows of quantised matrices are blocks of 32.
GGUF_SIZES = {
    "gpt2": dict(n_embd=32, n_inner=64),
    "llama": dict(hidden_size=32, intermediate_size=64),
}
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def built(line, sizes):
    config = hf.AutoConfig.for_model(line["family"], **(sizes | line.get("config", {})))
    kind = hf.AutoModel if line["family"] == "bert" else hf.AutoModelForCausalLM
    return kind.from_config(config)


def settings(path, line):
    """Changes config.json to what other versions wrote."""
    older = line.get("older")
    if older:
        file = path / "config.json"
        config = json.loads(file.read_text())
        config.pop("rope_parameters", None)
        file.write_text(json.dumps(config | older, indent=1) + "\n")


def safetensors(path, line, seed):
    """Writes a folder as transformers does, and reads it back in float32."""
    model = built(line, SIZES[line["family"]])
    if "refused" in line:
        model.config.save_pretrained(path)
        return settings(path, line)
    randomise(model, seed)
    model.to(TYPES[line["storage"]]).save_pretrained(path)
    (path / "generation_config.json").unlink(missing_ok=True)
    settings(path, line)
    return type(model).from_pretrained(path, dtype=torch.float32, attn_implementation="eager")


def rotations(model):
    """Settings of the rotations, and the divisors of the frequencies that the converter writes for Llama 3."""
    rope = model.config.rope_parameters
    factors = None
    metadata = {"llama.rope.freq_base": rope["rope_theta"]}
    if rope["rope_type"] == "linear":
        metadata |= {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": rope["factor"]}
    if rope["rope_type"] == "llama3":
        p = model.config.head_dim
        plain = 1.0 / rope["rope_theta"] ** (torch.arange(0, p, 2).float() / p)
        factors = (plain / model.model.rotary_emb.inv_freq).numpy()
    return metadata, factors


def describe(model):
    """Metadata of the network as llama.cpp's converter writes them, and divisors of rotary frequencies or None."""
    c = model.config
    if c.model_type == "gpt2":
        return {
            "gpt2.block_count": c.n_layer, "gpt2.context_length": c.n_positions, "gpt2.embedding_length": c.n_embd,
            "gpt2.feed_forward_length": c.n_inner, "gpt2.attention.head_count": c.n_head,
            "gpt2.attention.layer_norm_epsilon": c.layer_norm_epsilon, "gpt2.vocab_size": c.vocab_size,
        }, None
    metadata, factors = rotations(model)
    return {
        "llama.block_count": c.num_hidden_layers, "llama.context_length": c.max_position_embeddings,
        "llama.embedding_length": c.hidden_size, "llama.feed_forward_length": c.intermediate_size,
        "llama.attention.head_count": c.num_attention_heads, "llama.attention.head_count_kv": c.num_key_value_heads,
        "llama.attention.layer_norm_rms_epsilon": c.rms_norm_eps, "llama.rope.dimension_count": c.head_dim,
        "llama.vocab_size": c.vocab_size,
    } | metadata, factors


def reorder(name, x, model, order):
    """The converter's order of a tensor (`neighbours`), or that of transformers (`halves`)."""
    c = model.config
    if c.model_type == "gpt2":
        return x.T if x.ndim == 2 and ".h." in name else x
    heads = {"q_proj": c.num_attention_heads, "k_proj": c.num_key_value_heads}.get(name.split(".")[-2])
    return order(x, heads) if heads else x


def gguf_files(path, name, line, seed):
    """Writes a quantised network, and returns the one in transformers with the numbers that were stored."""
    family, kind = line["family"], line["storage"].split()[1]
    model = built(line, SIZES[family] | GGUF_SIZES[family]).eval()
    randomise(model, seed)
    path.mkdir(parents=True)
    state = {n: x for n, x in model.state_dict().items() if not (n == "lm_head.weight" and model.config.tie_word_embeddings)}
    metadata, factors = describe(model)
    metadata |= line.get("metadata", {})
    parts = line.get("parts", 1)
    w = gguf.GGUFWriter(path / f"{name}.gguf", family, split_max_tensors=-(-len(state) // parts) if parts > 1 else 0)
    for key, value in metadata.items():
        if value is not None:
            add = {int: w.add_uint32, float: w.add_float32, str: w.add_string, list: w.add_array}[type(value)]
            add(key, value)
    arch = {"gpt2": gguf.MODEL_ARCH.GPT2, "llama": gguf.MODEL_ARCH.LLAMA}[family]
    names = gguf.get_tensor_name_map(arch, 2)
    if factors is not None:
        w.add_tensor("rope_freqs.weight", factors.astype(np.float32))
    read = {}
    # Settings are read before tensors.
    for key, x in state.items() if "refused" not in line else ():
        x = np.ascontiguousarray(reorder(key, x.numpy(), model, neighbours))
        data, code, values = quantised(x, kind if x.ndim == 2 and "wpe" not in key else "F32")
        w.add_tensor(names.get_name(key, try_suffixes=(".weight", ".bias")), data, raw_dtype=code)
        read[key] = torch.tensor(np.ascontiguousarray(reorder(key, values, model, halves)))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    if "refused" in line:
        return model
    model.load_state_dict(read, strict=False)
    model.tie_weights()
    model.set_attn_implementation("eager")
    return model


def make(name, line):
    seed = zlib.crc32(name.encode()) % 2**31
    path, expected = HERE / "networks" / name, HERE / "expected" / f"{name}.safetensors"
    shutil.rmtree(path, ignore_errors=True)
    expected.unlink(missing_ok=True)
    model = gguf_files(path, name, line, seed) if line["storage"].startswith("gguf") else safetensors(path, line, seed)
    if "refused" not in line:
        ids = np.random.default_rng(seed).integers(0, model.config.vocab_size, TOKENS).tolist()
        expected.parent.mkdir(exist_ok=True)
        save_file(run(model.eval(), ids), expected)


def main():
    torch.set_num_threads(1)
    table = json.loads((HERE / "variations.json").read_text())
    for name in sys.argv[1:] or table:
        make(name, table[name])
    if not sys.argv[1:]:
        # Networks whose line is gone.
        for path in [*(HERE / "networks").iterdir(), *(HERE / "expected").iterdir()]:
            if path.name.removesuffix(".safetensors") not in table:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main()
