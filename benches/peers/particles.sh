#!/bin/sh
# The velocity of tokens on a sphere here, in NumPy and in PyTorch, in turn on the same cores; prints the ratios.
#   benches/peers/particles.sh [turns]    default 5
# Environment: PYTHON (a Python with numpy and torch; default python3), THREADS (default: all cores), TOKENS, DIM
# (default 10000, 3), ROUNDS (timings per turn, default 5).
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
threads=${THREADS:-$(nproc)}
size="--tokens ${TOKENS:-10000} --dim ${DIM:-3} --rounds ${ROUNDS:-5}"
"$python" -c 'import torch, numpy' || { echo "PYTHON=$python has no torch or numpy; see benches/peers/README.md" >&2; exit 2; }
cargo build --release --bench particles
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
turn=0
while [ "$turn" -lt "${1:-5}" ]; do
    # shellcheck disable=SC2086  # $size is several words
    RAYON_NUM_THREADS=$threads cargo bench --quiet --bench particles -- --json $size >>"$lines"
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$python" benches/peers/particles_peers.py --threads "$threads" $size >>"$lines"
    turn=$((turn + 1))
done
"$python" benches/peers/particles_peers.py compare "$lines"
