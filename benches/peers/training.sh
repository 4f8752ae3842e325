#!/bin/sh
# Training of one attention layer here and in PyTorch, in turn on the same cores and the same data;
# prints the ratios of their times and how far their final losses differ.
#   benches/peers/training.sh [turns]     default 3
# Environment: PYTHON (a Python with torch and numpy; default python3), THREADS (default: all cores),
# SEEDS (runs of each of the six cases, default: one per thread).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/turns.sh"
seeds="--seeds ${SEEDS:-${THREADS:-$(nproc)}}"
work=$(mktemp -d)
take_turns_on_cores training "${1:-3}" "$seeds --rounds 1 --export $work/data" \
    "benches/peers/training_torch.py $work/data $seeds" benches/peers/compare_training.py "torch, numpy"
