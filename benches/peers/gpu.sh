#!/bin/sh
# The MSSA layer on a GPU, here and in PyTorch, in turn on the same card; prints the ratios.
#   benches/peers/gpu.sh pack DIR      builds, and puts all that is needed into DIR (no network there)
#   DIR/gpu.sh run [turns]             on the machine with the card; default 3 turns
# Environment: PYTHON (a Python with torch; default python3), TOKENS, DIM, HEADS (default 32768, 512,
# 2), ROUNDS (timings per turn, default 5), OUT (folder for the lines and the text; default DIR/out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)

pack() {
    target=$1
    mkdir -p "$target"
    target=$(cd "$target" && pwd)
    cd "$here/../.."
    cargo build --release --features gpu --bin attnlab
    binary=$(cargo bench --features gpu --bench gpu --no-run --message-format=json |
        sed -n 's/.*"name":"gpu".*"executable":"\([^"]*\)".*/\1/p' | tail -1)
    folder=$(cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    cp "$binary" "$target/bench-gpu"
    cp "$folder/release/attnlab" "$target/attnlab"
    strip "$target/bench-gpu" "$target/attnlab"
    cp "$here/gpu.sh" "$here/gpu_torch.py" "$here/compare_gpu.py" "$target"
    echo "packed into $target; there: gpu.sh run"
}

run() {
    turns=${1:-3}
    python=${PYTHON:-python3}
    out=${OUT:-$here/out}
    size="--tokens ${TOKENS:-32768} --dim ${DIM:-512} --heads ${HEADS:-2} --rounds ${ROUNDS:-5}"
    "$python" -c 'import torch' || { echo "PYTHON=$python has no torch; see benches/peers/README.md" >&2; exit 2; }
    mkdir -p "$out"
    : >"$out/lines"
    turn=0
    while [ "$turn" -lt "$turns" ]; do
        # shellcheck disable=SC2086  # $size is several words
        "$here/bench-gpu" --json $size >>"$out/lines"
        # shellcheck disable=SC2086
        "$python" "$here/gpu_torch.py" $size >>"$out/lines"
        turn=$((turn + 1))
    done
    "$python" "$here/compare_gpu.py" "$out/lines" | tee "$out/ratios.txt"
}

case ${1:-} in
    pack) pack "${2:?write the folder to pack into}" ;;
    run) run "${2:-3}" ;;
    *) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
