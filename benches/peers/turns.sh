# Turns of a benchmark and its peer, for gpu.sh, model.sh, run.sh, training.sh and particles.sh, which read this file
# from the folder that they lie in.

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

# $2 turns of the benchmark $1 with the options $3 and of the Python program $4 with its options, in turn on the same
# cores; the Python program $5 prints the ratios. $6 are the modules that Python needs. The lines are in $work.
take_turns_on_cores() {
    work=${work:-$(mktemp -d)}
    trap 'rm -rf "$work"' EXIT
    cd "$here/../.."
    python=${PYTHON:-python3}
    threads=${THREADS:-$(nproc)}
    "$python" -c "import $6" ||
        { echo "PYTHON=$python has no $(echo "$6" | sed 's/, / or /'); see benches/peers/README.md" >&2; exit 2; }
    cargo build --release --bench "$1"
    turn=0
    while [ "$turn" -lt "$2" ]; do
        # shellcheck disable=SC2086  # the options are several words
        RAYON_NUM_THREADS=$threads cargo bench --quiet --bench "$1" -- --json $3 >>"$work/lines"
        # shellcheck disable=SC2086
        OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$python" $4 --threads "$threads" >>"$work/lines"
        turn=$((turn + 1))
    done
    # shellcheck disable=SC2086
    "$python" $5 "$work/lines"
}
