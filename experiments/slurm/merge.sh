#!/usr/bin/env bash
# Merges the parts that an array of experiments/slurm/array.sh computed, as a job that waits for it:
#
#   sbatch --dependency=afterany:"$job" experiments/slurm/merge.sh runs/map --out runs/map-all
#
#SBATCH --job-name=attnlab-merge
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=attnlab-merge-%j.log
set -euo pipefail
exec "${ATTNLAB:-target/debug/attnlab}" merge "$@"
