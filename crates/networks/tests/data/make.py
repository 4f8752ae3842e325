"""Makes the tiny random checkpoints of this folder and what Hugging Face's own implementations give on them.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==5.23.0 gguf==0.19.0
    venv/bin/python crates/networks/tests/data/make.py crates/networks/tests/data

Per network a folder with config.json and safetensors, and NAME.expected.safetensors beside it: `ids` (as float32), the
hidden states and attention weights of every layer, and logits where the family has them. The numbers are drawn
larger than at the start of training, so that every part of a block shows in the result.
"""

import json
import shutil
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

TOKENS = 20


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            x = torch.randn(p.shape, generator=generator)
            if p.ndim == 2:
                embedding = "embed" in name or "wte" in name or "wpe" in name
                p.copy_(x * (0.5 if embedding else 1.5 / p.shape[-1] ** 0.5))
            else:
                p.copy_((1.0 if name.endswith("weight") else 0.0) + 0.2 * x)


def run(model, ids, **inputs):
    """Named outputs of a network: tokens are rows, as Hugging Face has them."""
    with torch.inference_mode():
        out = model(input_ids=torch.tensor([ids]), output_hidden_states=True, output_attentions=True, **inputs)
    tensors = {"ids": torch.tensor(ids, dtype=torch.float32)}
    for i, x in enumerate(out.hidden_states):
        tensors[f"hidden.{i}"] = x[0]
    for i, x in enumerate(out.attentions):
        for head in range(x.shape[1]):
            tensors[f"weights.{i}.{head}"] = x[0, head]
    if hasattr(out, "logits"):
        tensors["logits"] = out.logits[0]
    return {name: x.clone().contiguous() for name, x in tensors.items()}


def ids(seed, vocabulary):
    return np.random.default_rng(seed).integers(0, vocabulary, TOKENS).tolist()


def put(folder, name, model, seed, dtype=torch.float32, shard="10MB", config=None, buffers=None):
    """Writes a network, reads it back in float32 as a user would, and writes what it gives."""
    randomise(model, seed)
    path = folder / name
    shutil.rmtree(path, ignore_errors=True)
    model.to(dtype).save_pretrained(path, max_shard_size=shard)
    (path / "generation_config.json").unlink(missing_ok=True)
    if config:
        old = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config(old), indent=1) + "\n")
    if buffers:
        file = path / "model.safetensors"
        save_file(load_file(file) | buffers, file, metadata={"format": "pt"})
    read = type(model).from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()
    expected = run(read, ids(seed, model.config.vocab_size))
    if name == "bert":
        kinds = [0] * 8 + [1] * 12
        mask = [1] * 15 + [0] * 5
        extra = run(read, ids(seed, model.config.vocab_size), token_type_ids=torch.tensor([kinds]), attention_mask=torch.tensor([mask]))
        expected |= {f"masked.{k}": x for k, x in extra.items()}
        expected |= {"segments": torch.tensor(kinds, dtype=torch.float32), "mask": torch.tensor(mask, dtype=torch.float32)}
    save_file(expected, folder / f"{name}.expected.safetensors")


def gpt_neox(parallel, **more):
    return hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=32, use_parallel_residual=parallel, **more))


def as_pythia(config):
    """The settings as Pythia's files have them, which were written by earlier versions."""
    keep = ["architectures", "model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
            "intermediate_size", "max_position_embeddings", "hidden_act", "layer_norm_eps", "use_cache",
            "tie_word_embeddings", "use_parallel_residual", "initializer_range", "bos_token_id", "eos_token_id"]
    old = {key: config[key] for key in keep if key in config}
    return old | {"rotary_pct": 0.25, "rotary_emb_base": 10000, "torch_dtype": "float16"}


def as_llama3(config):
    old = {k: v for k, v in config.items() if k not in ("rope_parameters", "head_dim")}
    return old | {"rope_theta": 500000.0, "rope_scaling": {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16, "rope_type": "llama3"}}


def llama(**more):
    sizes = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 intermediate_size=64, max_position_embeddings=32)
    return hf.LlamaForCausalLM(hf.LlamaConfig(**(sizes | more)))


def opt(**more):
    return hf.OPTForCausalLM(hf.OPTConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48,
        max_position_embeddings=32, word_embed_proj_dim=32, **more))


def networks(folder):
    put(folder, "gpt2", hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_inner=48, n_positions=32)), 1)
    causal = torch.tril(torch.ones(32, 32, dtype=torch.bool)).view(1, 1, 32, 32)
    buffers = {}
    for i in range(2):
        at = f"gpt_neox.layers.{i}.attention."
        buffers |= {at + "bias": causal.clone(), at + "masked_bias": torch.tensor(-1e9),
                    at + "rotary_emb.inv_freq": 1 / 10000 ** (torch.arange(0, 4, 2) / 4)}
    put(folder, "gpt-neox", gpt_neox(True), 2, torch.float16, config=as_pythia, buffers=buffers)
    put(folder, "gpt-neox-serial", gpt_neox(False, attention_bias=False), 3)
    put(folder, "opt", opt(), 4)
    put(folder, "opt-after", opt(do_layer_norm_before=False), 5, torch.float16)
    put(folder, "llama", llama(rope_parameters={"rope_theta": 1000.0, "rope_type": "default"}), 6, torch.bfloat16)
    put(folder, "llama-tied", llama(tie_word_embeddings=True), 7, shard="60KB", config=as_llama3)
    put(folder, "llama-head-dim", llama(head_dim=6, attention_bias=True, mlp_bias=True), 8, torch.float16)
    put(folder, "bert", hf.BertModel(hf.BertConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=32)), 9)


def main():
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    networks(folder)


if __name__ == "__main__":
    main()
