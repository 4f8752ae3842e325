# What gpu.sh and model.sh share; they read it from the folder that they lie in.

# The program of `cargo bench --features $2 --bench $1`, built.
bench_binary() {
    cargo bench --features "$2" --bench "$1" --no-run --message-format=json |
        sed -n 's/.*"name":"'"$1"'".*"executable":"\([^"]*\)".*/\1/p' | tail -1
}

# $2 turns of bench-$1 and of $1_torch.py, with the options $3, in turn on the same machine; compare_$1.py
# prints the ratios. The lines and the text stay in OUT.
take_turns() {
    python=${PYTHON:-python3}
    out=${OUT:-$here/out}
    "$python" -c 'import torch' || { echo "PYTHON=$python has no torch; see benches/peers/README.md" >&2; exit 2; }
    mkdir -p "$out"
    : >"$out/lines"
    turn=0
    while [ "$turn" -lt "$2" ]; do
        # shellcheck disable=SC2086  # the options are several words
        "$here/bench-$1" --json $3 >>"$out/lines"
        # shellcheck disable=SC2086
        "$python" "$here/$1_torch.py" $3 >>"$out/lines"
        turn=$((turn + 1))
    done
    "$python" "$here/compare_$1.py" "$out/lines" | tee "$out/ratios.txt"
}
