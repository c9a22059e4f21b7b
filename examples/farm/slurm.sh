#!/usr/bin/env bash
# Levels the files listed in a text file, one a line, with an array of Slurm tasks.
#   sbatch examples/farm/slurm.sh LIST OUT-FOLDER
# Submit it again to go on after a failure. For GPUs add --gres=gpu:1 and --backend gpu.
#SBATCH --job-name=autolevels
#SBATCH --array=0-31
#SBATCH --cpus-per-task=4
#SBATCH --time=12:00:00
set -euo pipefail
list=${1:?usage: slurm.sh LIST OUT-FOLDER} out=${2:?usage: slurm.sh LIST OUT-FOLDER}
awk -v n="${SLURM_ARRAY_TASK_COUNT:-1}" -v i="${SLURM_ARRAY_TASK_ID:-0}" 'NR % n == i' "$list" |
  xargs -r -d '\n' autolevels file --into "$out" --skip-existing --json
