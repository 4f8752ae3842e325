"""Runs a Llama in GGUF by Hugging Face's implementation in PyTorch, float32; prints a line of JSON.

The tensors are dequantised by llama.cpp's Python package, the rows of queries and keys put back into the order of
Hugging Face, and the text split by the library `tokenizers`: nothing of attnlab is used. The time is that of logits
and losses of one text, attention by `scaled_dot_product_attention`.
"""

import argparse
import json
import time

import gguf
import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers


def network(reader):
    setting = lambda name: reader.fields["llama." + name].contents()
    heads, kv_heads = setting("attention.head_count"), setting("attention.head_count_kv")
    stored = {}
    for t in reader.tensors:
        x = gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)
        stored[t.name.removesuffix(".weight")] = torch.tensor(x.reshape([int(n) for n in reversed(t.shape)]))
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=stored["token_embd"].shape[0], hidden_size=setting("embedding_length"),
        num_hidden_layers=setting("block_count"), num_attention_heads=heads, num_key_value_heads=kv_heads,
        intermediate_size=setting("feed_forward_length"), max_position_embeddings=setting("context_length"),
        rms_norm_eps=setting("attention.layer_norm_rms_epsilon"), tie_word_embeddings="output" not in stored,
        rope_parameters={"rope_theta": setting("rope.freq_base"), "rope_type": "default"}))
    halves = lambda w, h: w.reshape(h, w.shape[0] // h // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)
    names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    parts = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
             "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
             "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    state = {}
    for name, x in stored.items():
        if name in names:
            state[names[name] + ".weight"] = x
            continue
        _, layer, part = name.split(".")
        x = halves(x, {"attn_q": heads, "attn_k": kv_heads}[part]) if part in ("attn_q", "attn_k") else x
        state[f"model.layers.{layer}.{parts[part]}.weight"] = x
    state.setdefault("lm_head.weight", stored["token_embd"])
    model.load_state_dict(state)
    return model.eval()


def tokenizer(reader):
    get = lambda name: reader.fields["tokenizer.ggml." + name].contents()
    assert (get("model"), get("pre")) == ("gpt2", "smollm")
    vocabulary = {token: i for i, token in enumerate(get("tokens"))}
    split = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(m.split(" ")) for m in get("merges")]))
    split.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return split


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    reader = gguf.GGUFReader(args.network)
    model = network(reader)
    with open(args.text, encoding="utf-8") as file:
        ids = torch.tensor([tokenizer(reader).encode(file.read()).ids[: args.tokens]])
    seconds = []
    with torch.inference_mode():
        for _ in range(args.rounds + 1):  # the first warms up
            start = time.perf_counter()
            losses = torch.nn.functional.cross_entropy(model(ids).logits[0, :-1], ids[0, 1:], reduction="none")
            seconds.append(time.perf_counter() - start)
    print(json.dumps({
        "peer": "torch", "torch": torch.__version__, "threads": torch.get_num_threads(), "tokens": ids.shape[1],
        "loss": losses.double().mean().item(), "first": losses[:3].tolist(), "seconds": seconds[1:]}))


if __name__ == "__main__":
    main()
