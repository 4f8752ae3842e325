#!/usr/bin/env bash
# Runs the commands of the README in a temporary folder and fails if one fails or a result is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# What the checkout has built and locked is used again, so in its profile.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$here/../../target}
cp "$here/../../Cargo.lock" "$here/Cargo.lock"

commands=$(sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$here/README.md")
# cargo on this package, wherever we are; `set -x` shows each command.
cargo() {
    command cargo "$1" --quiet --config "$here/../../.cargo/config.toml" --config "$here/../../.ci/strangers.toml" \
        --manifest-path "$here/Cargo.toml" "${@:2}"
}
cp "$here/map.toml" "$out"
cd "$out"
(set -x; eval "$commands") | tee printed

expect() { grep --quiet --fixed-strings -- "$1" printed || { echo "not printed: $1" >&2; exit 1; }; }
expect "own.projection: supported (as expected)"
expect "own.support: supported (as expected)"
expect "own.projection / mutant near: refuted (as expected)"
expect "own.support / mutant near: refuted (as expected)"
expect "own.support = 11.0"
expect "9 cells: 9 supported."
for file in report.html plots/support_over_tokens.{svg,png,csv} \
    runs/support/{run.json,rows.jsonl} runs/map-all/{run.json,rows.jsonl,cells.csv,own_support.svg}; do
    [ -s "$file" ] || { echo "missing: $file" >&2; exit 1; }
done
echo "every command ran, and every result is there"
