#!/bin/sh
# The MSSA layer here and in PyTorch, in turn on the same cores; prints the ratios of their times.
#   benches/peers/run.sh [turns]          default 5
# Environment: PYTHON (a Python with torch; default python3), THREADS (default: all cores),
# TOKENS, DIM, HEADS (default 8192, 512, 4), ROUNDS (timings per turn, default 3).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/turns.sh"
size="--tokens ${TOKENS:-8192} --dim ${DIM:-512} --heads ${HEADS:-4} --rounds ${ROUNDS:-3}"
take_turns_on_cores streaming "${1:-5}" "$size" "benches/peers/mssa_torch.py $size" benches/peers/compare.py torch
