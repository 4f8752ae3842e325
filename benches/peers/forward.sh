#!/bin/sh
# Forward pass of a quantised Llama (SmolLM2-135M) on a text, here and in PyTorch, in turn; prints the ratios.
#   benches/peers/forward.sh NETWORK.gguf [TEXT] [turns]    default: the passage of the tests, 3 turns
# Environment: PYTHON (a Python with torch, transformers, tokenizers and gguf; default python3), TOKENS (1000), ROUNDS (2),
# BINARY (the program of `cargo bench -p attnlab-networks --bench forward`, if it is built).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
network=$(realpath "$1")
text=$(realpath "${2:-$here/../../crates/networks/tests/data/passage.txt}")
python=${PYTHON:-python3}
"$python" -c 'import torch, transformers, gguf' || { echo "PYTHON=$python has no torch, transformers or gguf; see benches/peers/README.md" >&2; exit 2; }
binary=${BINARY:-$(cd "$here/../.." && cargo bench -p attnlab-networks --bench forward --no-run --message-format=json |
    sed -n 's/.*"name":"forward".*"executable":"\([^"]*\)".*/\1/p' | tail -1)}
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
turn=0
while [ "$turn" -lt "${3:-3}" ]; do
    for peer in "$binary" "$python $here/forward_torch.py"; do
        # shellcheck disable=SC2086  # a program and its argument
        $peer --network "$network" --text "$text" --tokens "${TOKENS:-1000}" --rounds "${ROUNDS:-2}" | tee -a "$lines"
    done
    turn=$((turn + 1))
done
"$python" "$here/compare_forward.py" "$lines"
