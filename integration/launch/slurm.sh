#!/usr/bin/env bash
# Two nodes of four GPUs, a process a GPU. Submit it again to go on where it was:
#   sbatch --export=ALL,OUT=/shared/runs/first slurm.sh
#SBATCH --job-name=mnist-gan
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
# SIGTERM to the processes two minutes before the time is up: they save, and end with 42.
#SBATCH --signal=TERM@120
#SBATCH --requeue
set -uo pipefail

OUT=${OUT:?a folder that all nodes see, or gs://...}
srun --kill-on-bad-exit=1 mnist-gan train \
  --out="$OUT" --resume=auto --recipe=best --batch-size=1024 --mesh=data=8
code=$?
# 0 done, 2 cannot be done as asked, 3 diverged; all else goes on from the last checkpoint.
case $code in
0 | 2 | 3) exit "$code" ;;
esac
scontrol requeue "$SLURM_JOB_ID"
