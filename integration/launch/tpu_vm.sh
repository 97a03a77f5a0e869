#!/usr/bin/env bash
# A TPU slice of Compute Engine through a queued resource: the same command on all hosts.
#
#   PROJECT=... ZONE=... BUCKET=... REPO=... ./tpu_vm.sh ACTION
set -euo pipefail

NAME=${NAME:-mnist-gan}
TYPE=${TYPE:-v5litepod-16}
RUNTIME=${RUNTIME:-v2-alpha-tpuv5-lite}
: "${PROJECT:?the project}" "${ZONE:?such as us-west4-a}"
WHERE=(--project="$PROJECT" --zone="$ZONE")

everywhere() {
  gcloud compute tpus tpu-vm ssh "$NAME" "${WHERE[@]}" --worker=all --command="$1"
}

case ${1:-} in
create)
  gcloud compute tpus queued-resources create "$NAME" "${WHERE[@]}" \
    --node-id="$NAME" --accelerator-type="$TYPE" --runtime-version="$RUNTIME" --spot
  echo "wait until it is ACTIVE: $0 status"
  ;;
status)
  gcloud compute tpus queued-resources describe "$NAME" "${WHERE[@]}" \
    --format='value(state.state)'
  ;;
setup)
  : "${REPO:?the address of the repository}"
  everywhere "curl -LsSf https://astral.sh/uv/install.sh | sh; \
    test -d quiver || git clone --depth 1 '$REPO' quiver; \
    ~/.local/bin/uv venv --allow-existing --python 3.13 ~/env; \
    ~/.local/bin/uv pip install --python ~/env/bin/python -e 'quiver/integration[tpu,gs]'"
  ;;
run)
  : "${BUCKET:?where the run goes}"
  # Detached: it goes on when this terminal closes. It starts again by itself after a
  # crash, not after 0 (done), 2 or 3 (no use), and goes on where it was.
  everywhere "nohup bash -c 'while true; do ~/env/bin/mnist-gan train \
    --out=gs://$BUCKET/runs/first --resume=auto --recipe=best --batch-size=1024; \
    code=\$?; case \$code in 0|2|3) exit \$code;; esac; sleep 10; done' \
    > mnist-gan.log 2>&1 < /dev/null &"
  ;;
doctor)
  everywhere "~/env/bin/mnist-gan doctor"
  ;;
logs)
  everywhere "tail -n 20 mnist-gan.log"
  ;;
delete)
  gcloud compute tpus queued-resources delete "$NAME" "${WHERE[@]}" --force --quiet
  ;;
*)
  echo "usage: PROJECT=... ZONE=... $0 create|status|setup|run|doctor|logs|delete" >&2
  exit 2
  ;;
esac
