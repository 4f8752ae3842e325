#!/bin/sh
# The MSSA layer on a GPU, here and in PyTorch, in turn on the same card; prints the ratios.
#   benches/peers/gpu.sh pack DIR      builds, and puts all that is needed into DIR (no network there)
#   DIR/gpu.sh run [turns]             on the machine with the card; default 3 turns
# Environment: PYTHON (a Python with torch; default python3), TOKENS, DIM, HEADS (default 32768, 512,
# 2), ROUNDS (timings per turn, default 5), OUT (folder for the lines and the text; default DIR/out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/turns.sh"

pack() {
    target=$1
    mkdir -p "$target"
    target=$(cd "$target" && pwd)
    cd "$here/../.."
    cargo build --release --features gpu --bin attnlab
    binary=$(bench_binary gpu gpu)
    folder=$(cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    cp "$binary" "$target/bench-gpu"
    cp "$folder/release/attnlab" "$target/attnlab"
    strip "$target/bench-gpu" "$target/attnlab"
    cp "$here/gpu.sh" "$here/turns.sh" "$here/gpu_torch.py" "$here/compare_gpu.py" "$target"
    echo "packed into $target; there: gpu.sh run"
}

run() {
    size="--tokens ${TOKENS:-32768} --dim ${DIM:-512} --heads ${HEADS:-2} --rounds ${ROUNDS:-5}"
    take_turns gpu "$1" "$size"
}

case ${1:-} in
    pack) pack "${2:?write the folder to pack into}" ;;
    run) run "${2:-3}" ;;
    *) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
