#!/usr/bin/env bash
# One part of a sweep or an experiment, as a task of a Slurm job array.
#
#   job=$(sbatch --parsable experiments/slurm/array.sh sweep map.toml --out runs/map)
#   sbatch --dependency=afterany:"$job" experiments/slurm/merge.sh runs/map --out runs/map-all
#
# The words after the script are those of the command `attnlab`; its part and its threads are added.
# Other sizes: sbatch --array=0-63 --cpus-per-task=4 --time=8:00:00 experiments/slurm/array.sh ...
#
# Safe to requeue, at any moment: a task that is given again goes on where its rows end, and the
# merged rows are the same to the bit. ATTNLAB names the program (default: the build below
# the folder from which the job was submitted).
#
# Without Slurm the same script runs under any tool that sets the two variables:
#   seq 0 3 | SLURM_ARRAY_TASK_COUNT=4 xargs -P 2 -I{} env SLURM_ARRAY_TASK_ID={} \
#     experiments/slurm/array.sh sweep map.toml --out runs/map
#
#SBATCH --job-name=attnlab
#SBATCH --array=0-3
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=attnlab-%A_%a.log
set -euo pipefail

: "${SLURM_ARRAY_TASK_ID:?is not set: submit this script with sbatch}"
# An array may begin at another number than 0; its numbers must follow each other.
part=$((SLURM_ARRAY_TASK_ID - ${SLURM_ARRAY_TASK_MIN:-0}))
parts=${SLURM_ARRAY_TASK_COUNT:?is not set: submit this script with sbatch --array}
last=${SLURM_ARRAY_TASK_MAX:-$((parts - 1))}
if ((last - ${SLURM_ARRAY_TASK_MIN:-0} + 1 != parts)); then
    echo "--array has gaps: write it as 0-$((parts - 1))" >&2
    exit 2
fi
# exec: Slurm's signals reach the program itself.
exec "${ATTNLAB:-target/debug/attnlab}" "$@" \
    --shard "$part/$parts" --threads "${SLURM_CPUS_PER_TASK:-1}"
