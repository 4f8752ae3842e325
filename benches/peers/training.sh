#!/bin/sh
# Training of one attention layer here and in PyTorch, in turn on the same cores and the same data;
# prints the ratios of their times and how far their final losses differ.
#   benches/peers/training.sh [turns]     default 3
# Environment: PYTHON (a Python with torch and numpy; default python3), THREADS (default: all cores),
# SEEDS (runs of each of the six cases, default: one per thread).
set -eu
cd "$(dirname "$0")/../.."
turns=${1:-3}
python=${PYTHON:-python3}
threads=${THREADS:-$(nproc)}
seeds=${SEEDS:-$threads}
"$python" -c 'import torch, numpy' || { echo "PYTHON=$python has no torch or numpy; see benches/peers/README.md" >&2; exit 2; }
cargo build --release --bench training
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
turn=0
while [ "$turn" -lt "$turns" ]; do
    RAYON_NUM_THREADS=$threads cargo bench --quiet --bench training -- \
        --json --seeds "$seeds" --rounds 1 --export "$work/data" >>"$work/lines"
    OMP_NUM_THREADS=$threads "$python" benches/peers/training_torch.py "$work/data" \
        --seeds "$seeds" --threads "$threads" >>"$work/lines"
    turn=$((turn + 1))
done
"$python" benches/peers/compare_training.py "$work/lines"
