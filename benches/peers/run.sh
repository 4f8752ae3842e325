#!/bin/sh
# The MSSA layer here and in PyTorch, in turn on the same cores; prints the ratios of their times.
#   benches/peers/run.sh [turns]          default 5
# Environment: PYTHON (a Python with torch; default python3), THREADS (default: all cores),
# TOKENS, DIM, HEADS (default 8192, 512, 4), ROUNDS (timings per turn, default 3).
set -eu
cd "$(dirname "$0")/../.."
turns=${1:-5}
python=${PYTHON:-python3}
threads=${THREADS:-$(nproc)}
size="--tokens ${TOKENS:-8192} --dim ${DIM:-512} --heads ${HEADS:-4} --rounds ${ROUNDS:-3}"
"$python" -c 'import torch' || { echo "PYTHON=$python has no torch; see benches/peers/README.md" >&2; exit 2; }
cargo build --release --bench streaming
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
turn=0
while [ "$turn" -lt "$turns" ]; do
    # shellcheck disable=SC2086  # $size is several words
    RAYON_NUM_THREADS=$threads cargo bench --quiet --bench streaming -- --json $size >>"$lines"
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=$threads "$python" benches/peers/mssa_torch.py --threads "$threads" $size >>"$lines"
    turn=$((turn + 1))
done
"$python" benches/peers/compare.py "$lines"
