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

TOKENS = 14


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
        kinds = [0] * 6 + [1] * 8
        mask = [1] * 11 + [0] * 3
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
    put(folder, "gpt-neox-serial", gpt_neox(False, attention_bias=False), 3, torch.bfloat16)
    put(folder, "opt", opt(), 4, torch.float16)
    put(folder, "opt-after", opt(do_layer_norm_before=False), 5, torch.float16)
    put(folder, "llama", llama(rope_parameters={"rope_theta": 1000.0, "rope_type": "default"}), 6, torch.bfloat16)
    put(folder, "llama-tied", llama(tie_word_embeddings=True), 7, shard="60KB", config=as_llama3)
    put(folder, "llama-head-dim", llama(head_dim=6, attention_bias=True, mlp_bias=True), 8, torch.float16)
    put(folder, "bert", hf.BertModel(hf.BertConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=32)), 9)


TEXTS = [
    "The attention of a token is a mean of values.",
    " It's 1234567 tokens,  twice\n\n\tindented; na\u00efve \u00e9t\u00e9 \u4e2d\u6587 \U0001f600!",
    "we'll see<|endoftext|>the second text",
    "",
]


def tokenizers(folder):
    """Byte-level pairs as tokenizer.json, as GPT-2's two files, and word pieces as BERT has them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers, normalizers

    text = [(folder / "passage.txt").read_text()]
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.decoder = decoders.ByteLevel()
    pairs.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    # Settings that a reader must not obey: they would cut the text.
    pairs.enable_truncation(8)
    pairs.enable_padding(length=8, pad_token="<|endoftext|>")
    (folder / "tokenizer").mkdir(exist_ok=True)
    pairs.save(str(folder / "tokenizer" / "tokenizer.json"), pretty=False)
    pairs.no_truncation()
    pairs.no_padding()
    (folder / "tokenizer-gpt2").mkdir(exist_ok=True)
    pairs.model.save(str(folder / "tokenizer-gpt2"))
    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.train_from_iterator(text, trainers.WordPieceTrainer(
        vocab_size=200, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    words.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    (folder / "tokenizer-bert").mkdir(exist_ok=True)
    words.save(str(folder / "tokenizer-bert" / "tokenizer.json"), pretty=False)
    smollm = Tokenizer.from_str(pairs.to_str())
    smollm.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    expected = {name: [t.encode(x).ids for x in TEXTS]
                for name, t in {"pairs": pairs, "words": words, "smollm": smollm}.items()}
    (folder / "tokenizers.expected.json").write_text(json.dumps(expected | {"texts": TEXTS}) + "\n")
    return pairs


def settings(folder):
    """Tokens under the settings beside a vocabulary: per case a kind of vocabulary, the files beside it, and the ids."""
    import tempfile

    texts = TEXTS + ["</s>a <a> b</s>  <b> the tokens<a>s", " The T\u00d6KENS of a to\u0301ken \u4e2d\u6587 [SEP] end"]
    token = lambda text, **flags: {"content": text, "lstrip": False, "rstrip": False, "single_word": False,
                                   "normalized": False} | flags
    end = {"__type": "AddedToken"} | token("</s>", normalized=True)
    opt = {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": end, "eos_token": end, "unk_token": end}
    decoder = {"288": token("<a>", lstrip=True, special=True), "289": token("<b>", rstrip=True),
               "290": token("second", single_word=True)}
    config = "tokenizer_config.json"
    cases = [
        ("gpt2", {}),
        ("gpt2", {config: opt}),
        ("gpt2", {config: opt | {"add_eos_token": True, "errors": "replace", "model_max_length": 8}}),
        ("gpt2", {config: {"tokenizer_class": "GPT2TokenizerFast", "add_bos_token": True}}),
        ("gpt2", {config: {"add_bos_token": True}, "special_tokens_map.json": {"bos_token": token("</s>"), "pad_token": "<a>"}}),
        ("gpt2", {"added_tokens.json": {"<b>": 289, "<a>": 288}}),
        ("gpt2", {config: {"added_tokens_decoder": decoder, "additional_special_tokens": ["<a>"]}}),
        ("gpt2", {config: {"add_prefix_space": True}}),
        ("whole", {config: opt}),
        ("whole", {config: {"added_tokens_decoder": decoder, "eos_token": "</s>"}}),
        ("bert", {config: {}}),
        ("bert", {config: {"do_lower_case": False, "model_max_length": 512}}),
        ("bert", {config: {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False}}),
        ("bert", {config: {"strip_accents": False, "sep_token": "the", "cls_token": {"__type": "AddedToken"} | token("[UNK]")}}),
    ]
    # SentencePiece's pairs as they were converted up to version 4: letters, bytes and two merges.
    llama = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    cases += [("spm", {}), ("spm", {config: llama | {"legacy": False}}), ("spm", {config: llama | {"legacy": False, "add_bos_token": True}}),
              ("spm", {config: llama | {"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": False, "add_prefix_space": True}})]
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["\u2581", *"adehnost", "th", "\u2581th"]
    named = [token(text, special=True) | {"id": i} for i, text in enumerate(pieces[:3])]
    spm = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": named,
           "normalizer": {"type": "Sequence", "normalizers": [
               {"type": "Prepend", "prepend": "\u2581"},
               {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
           "pre_tokenizer": None, "decoder": None,
           "post_processor": {"type": "TemplateProcessing",
                              "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                              "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                              "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
           "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                     "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                     "vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": ["t h", "\u2581 th"]}}
    words = json.loads((folder / "tokenizer-bert" / "tokenizer.json").read_text())["model"]["vocab"]
    for case in (results := [{"vocabulary": kind, "files": files} for kind, files in cases]):
        with tempfile.TemporaryDirectory() as there:
            there = Path(there)
            kind = {"bert": hf.BertTokenizer, "spm": hf.AutoTokenizer}.get(case["vocabulary"], hf.GPT2Tokenizer)
            if case["vocabulary"] == "bert":
                (there / "vocab.txt").write_text("".join(word + "\n" for word in sorted(words, key=words.get)))
            elif case["vocabulary"] == "gpt2":
                for name in ["vocab.json", "merges.txt"]:
                    shutil.copy(folder / "tokenizer-gpt2" / name, there)
            elif case["vocabulary"] == "spm":
                (there / "tokenizer.json").write_text(json.dumps(spm))
                (there / "config.json").write_text(json.dumps({"model_type": "llama"}))
            else:
                shutil.copy(folder / "tokenizer" / "tokenizer.json", there)
            for name, content in case["files"].items():
                (there / name).write_text(json.dumps(content))
            tokenizer = kind.from_pretrained(there)
            case["ids"] = [tokenizer.encode(text, truncation=False, padding=False) for text in texts]
    from tokenizers import Regex, Tokenizer, pre_tokenizers

    # The expressions of Llama 3's and Qwen 2's tokenizer.json.
    start, end = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|", r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    splitters = {}
    for name, digits in [("llama-bpe", r"\p{N}{1,3}"), ("qwen2", r"\p{N}")]:
        pairs = Tokenizer.from_file(str(folder / "tokenizer" / "tokenizer.json"))
        pairs.no_truncation()
        pairs.no_padding()
        pairs.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(start + digits + end), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
        splitters[name] = [pairs.encode(text).ids for text in texts]
    whole = {"texts": texts, "cases": results, "splitters": splitters, "spm": spm}
    (folder / "tokenizers-settings.expected.json").write_text(json.dumps(whole) + "\n")


VOCABULARY = 288
# Types whose blocks are drawn as bytes: entries and bytes of a block, first byte of its f16 scales and number of scales.
BLOCKS = {"Q4_K": (256, 144, 0, 2), "Q6_K": (256, 210, 208, 1), "Q5_0": (32, 22, 0, 1), "Q5_1": (32, 24, 0, 2),
          "Q2_K": (256, 84, 80, 2), "Q3_K": (256, 110, 108, 1), "Q5_K": (256, 176, 0, 2), "IQ4_NL": (32, 18, 0, 1),
          "IQ4_XS": (256, 136, 0, 1)}


def quantised(x, kind):
    kind = gguf.GGMLQuantizationType[kind]
    data = gguf.quants.quantize(x, kind)
    return data, kind, gguf.quants.dequantize(data, kind).astype(np.float32)


def neighbours(w, heads):
    """The converter's order of the rows of queries and keys."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(w.shape)


def halves(w, heads):
    return w.reshape(heads, w.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)


def gguf_llama(folder, pairs):
    """A quantised Llama with its vocabulary, as llama.cpp's converter lays it out."""
    model = llama(vocab_size=VOCABULARY, rope_parameters={"rope_theta": 5000.0, "rope_type": "default"},
                  tie_word_embeddings=True, rms_norm_eps=1e-5).eval()
    randomise(model, 10)
    path = folder / "llama.gguf"
    w = gguf.GGUFWriter(path, "llama")
    w.add_block_count(2)
    w.add_context_length(32)
    w.add_embedding_length(32)
    w.add_feed_forward_length(64)
    w.add_head_count(4)
    w.add_head_count_kv(2)
    w.add_rope_freq_base(5000.0)
    w.add_rope_dimension_count(8)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_vocab_size(VOCABULARY)
    vocabulary = sorted(pairs.get_vocab(), key=pairs.get_vocab().get)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("smollm")
    w.add_token_list(vocabulary)
    w.add_token_types([3] + [1] * (VOCABULARY - 1))
    w.add_token_merges([" ".join(m) for m in json.loads(pairs.to_str())["model"]["merges"]])
    names = {"model.embed_tokens": ("token_embd", "Q8_0"), "model.norm": ("output_norm", "F32")}
    parts = {"input_layernorm": ("attn_norm", "F32"), "post_attention_layernorm": ("ffn_norm", "F32"),
             "self_attn.q_proj": ("attn_q", "Q4_1"), "self_attn.k_proj": ("attn_k", "Q4_0"),
             "self_attn.v_proj": ("attn_v", "Q8_0"), "self_attn.o_proj": ("attn_output", "F16"),
             "mlp.gate_proj": ("ffn_gate", "BF16"), "mlp.up_proj": ("ffn_up", "Q4_1"), "mlp.down_proj": ("ffn_down", "Q8_0")}
    for i in range(2):
        names |= {f"model.layers.{i}.{a}": (f"blk.{i}.{b}", kind) for a, (b, kind) in parts.items()}
    state = {}
    for name, x in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        to, kind = names[name.removesuffix(".weight")]
        heads = {"attn_q": 4, "attn_k": 2}.get(to.split(".")[-1])
        x = x.numpy()
        x = neighbours(x, heads) if heads else x
        data, kind, read = quantised(x, kind)
        w.add_tensor(to + ".weight", data, raw_dtype=kind)
        state[name] = torch.tensor(halves(read, heads) if heads else read)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
    model.set_attn_implementation("eager")
    save_file(run(model, ids(10, VOCABULARY)), folder / "llama-gguf.expected.safetensors")


def gguf_types(folder):
    """A tensor of every type that is read, and metadata of every type of value."""
    rng = np.random.default_rng(11)
    w = gguf.GGUFWriter(folder / "types.gguf", "types")
    for name, kind in [("uint8", 200), ("int8", -100), ("uint16", 60000), ("int16", -30000), ("uint32", 4000000000),
                       ("int32", -2000000000), ("uint64", 2**40), ("int64", -(2**40)), ("float32", 0.5),
                       ("float64", 0.1), ("bool", True), ("string", "n\u00e4here")]:
        getattr(w, f"add_{name}")(f"types.{name}", kind)
    w.add_array("types.texts", ["a", "b"])
    w.add_array("types.wholes", [1, -2, 3])
    w.add_array("types.floats", [0.5, -1.25])
    w.add_array("types.flags", [True, False])
    expected = {}
    for kind in ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", *BLOCKS, "F64"]:
        code = gguf.GGMLQuantizationType[kind]
        if kind in BLOCKS:
            # Any bytes are blocks; only the scales must be moderate.
            entries, size, start, scales = BLOCKS[kind]
            data = rng.integers(0, 256, (512 // entries, size), dtype=np.uint8)
            drawn = rng.normal(0, 0.01, (len(data), scales)).astype(np.float16).view(np.uint8)
            data[:, start:start + 2 * scales] = drawn
            data = data.reshape(2, -1)
            read = gguf.quants.dequantize(data, code).astype(np.float32)
        elif kind == "F64":
            data = rng.normal(size=(2, 256))
            read = data.astype(np.float32)
        else:
            data, code, read = quantised(rng.normal(size=(2, 256)).astype(np.float32), kind)
        w.add_tensor(kind, data, raw_dtype=code)
        expected[kind] = torch.tensor(read)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    save_file(expected, folder / "types.expected.safetensors")


def main():
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    networks(folder)
    gguf_llama(folder, tokenizers(folder))
    settings(folder)
    gguf_types(folder)


if __name__ == "__main__":
    main()
