#!/bin/sh
# Training throughput of a network, here and in PyTorch (eager, compiled), in turn; prints the ratios.
#   benches/peers/model.sh pack DIR [FEATURES]   builds (default train; train-vulkan for a card), and
#                                                puts all that is needed into DIR (no network there)
#   DIR/model.sh run [turns]                     default 3 turns
# Environment: PYTHON (a Python with torch; default python3), NETWORK (icl-aot-mssa or aot-mssa-l-base),
# BATCH (default 64), STEPS per timing (3), ROUNDS (5), BACKEND (cpu or gpu), OUT (default DIR/out).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/turns.sh"

pack() {
    mkdir -p "$1"
    target=$(cd "$1" && pwd)
    cd "$here/../.."
    binary=$(bench_binary model "$2")
    cp "$binary" "$target/bench-model"
    strip "$target/bench-model"
    cp "$here/model.sh" "$here/turns.sh" "$here/model_torch.py" "$here/compare_model.py" "$target"
    echo "packed into $target; there: model.sh run"
}

run() {
    size="--network ${NETWORK:-icl-aot-mssa} --batch ${BATCH:-64} --steps ${STEPS:-3}"
    size="$size --rounds ${ROUNDS:-5} --backend ${BACKEND:-cpu}"
    take_turns model "$1" "$size"
}

case ${1:-} in
    pack) pack "${2:?write the folder to pack into}" "${3:-train}" ;;
    run) run "${2:-3}" ;;
    *) sed -n '2,7p' "$0" >&2; exit 2 ;;
esac
