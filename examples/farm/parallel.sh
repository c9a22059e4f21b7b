#!/usr/bin/env bash
# Levels all files named on stdin, several at a time, with GNU parallel.
#   find footage -name '*.mp4' | examples/farm/parallel.sh OUT-FOLDER
# Environment:
#   JOBS  processes at a time (default: one for every four cores)
#   GPUS  number of GPUs: process i works on adapter i modulo this (default: the automatic choice)
#   HOSTS file of ssh hosts, which must see the same folders; see --sshloginfile in parallel(1)
set -euo pipefail
out=${1:?usage: parallel.sh OUT-FOLDER < LIST}
jobs=${JOBS:-$((($(nproc) + 3) / 4))}
adapter=()
# {%} is the number of the process, from 1.
[[ -z ${GPUS:-} ]] || adapter=(--backend gpu --adapter "\$((({%} - 1) % $GPUS))")
mkdir -p "$out"
parallel --jobs "$jobs" ${HOSTS:+--sshloginfile "$HOSTS" --workdir .} --joblog "$out/jobs.log" --resume-failed \
  autolevels file {} --into "$out" --skip-existing --json "${adapter[@]}" >>"$out/levelled.jsonl"
