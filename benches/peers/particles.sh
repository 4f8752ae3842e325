#!/bin/sh
# The velocity of tokens on a sphere here, in NumPy and in PyTorch, in turn on the same cores; prints the ratios.
#   benches/peers/particles.sh [turns]    default 5
# Environment: PYTHON (a Python with numpy and torch; default python3), THREADS (default: all cores), TOKENS, DIM
# (default 10000, 3), ROUNDS (timings per turn, default 5).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/turns.sh"
size="--tokens ${TOKENS:-10000} --dim ${DIM:-3} --rounds ${ROUNDS:-5}"
peers=benches/peers/particles_peers.py
take_turns_on_cores particles "${1:-5}" "$size" "$peers $size" "$peers compare" "torch, numpy"
