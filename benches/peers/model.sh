#!/bin/sh
# Training throughput of a network, here and in PyTorch (eager, compiled), in turn; prints the ratios.
#   benches/peers/model.sh pack DIR [FEATURES]   builds (default train; train-vulkan for a card), and
#                                                puts all that is needed into DIR (no network there)
#   DIR/model.sh run [turns]                     default 3 turns
# Environment: PYTHON (a Python with torch; default python3), NETWORK (icl-aot-mssa or aot-mssa-l-base),
# BATCH (default 64), STEPS per timing (3), ROUNDS (5), BACKEND (cpu or gpu), OUT (default DIR/out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)

pack() {
    mkdir -p "$1"
    target=$(cd "$1" && pwd)
    cd "$here/../.."
    binary=$(cargo bench --features "$2" --bench model --no-run --message-format=json |
        sed -n 's/.*"name":"model".*"executable":"\([^"]*\)".*/\1/p' | tail -1)
    cp "$binary" "$target/bench-model"
    strip "$target/bench-model"
    cp "$here/model.sh" "$here/model_torch.py" "$here/compare_model.py" "$target"
    echo "packed into $target; there: model.sh run"
}

run() {
    python=${PYTHON:-python3}
    out=${OUT:-$here/out}
    size="--network ${NETWORK:-icl-aot-mssa} --batch ${BATCH:-64} --steps ${STEPS:-3}"
    size="$size --rounds ${ROUNDS:-5} --backend ${BACKEND:-cpu}"
    "$python" -c 'import torch' || { echo "PYTHON=$python has no torch; see benches/peers/README.md" >&2; exit 2; }
    mkdir -p "$out"
    : >"$out/lines"
    turn=0
    while [ "$turn" -lt "$1" ]; do
        # shellcheck disable=SC2086  # $size is several words
        "$here/bench-model" --json $size >>"$out/lines"
        # shellcheck disable=SC2086
        "$python" "$here/model_torch.py" $size >>"$out/lines"
        turn=$((turn + 1))
    done
    "$python" "$here/compare_model.py" "$out/lines" | tee "$out/ratios.txt"
}

case ${1:-} in
    pack) pack "${2:?write the folder to pack into}" "${3:-train}" ;;
    run) run "${2:-3}" ;;
    *) sed -n '2,7p' "$0" >&2; exit 2 ;;
esac
