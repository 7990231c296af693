# shellcheck shell=bash disable=SC2154
# demo.sh: a coordinator and two CPU workers on this machine, a grid of four trials, and what came of it.
# Everything lives under build/demo; every process is listed in build/demo/pids.

demo_dir="$root/build/demo"
demo_bin="$root/build/dev/bin"
# shellcheck disable=SC2034  # for processes.sh
kept_dir="$demo_dir" kept_last=dtcoord
# shellcheck source=tools/processes.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/processes.sh"

# demo_wait_for FILE NAME: until a file is there, 30 s at most.
demo_wait_for() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    if [ -s "$1" ]; then return 0; fi
    keep_is_up "$2" || die "$2 ended; its log: $demo_dir/$2.log"$'\n'"$(tail -n 5 "$demo_dir/$2.log")"
    sleep 0.1
  done
  die "$2 is not up after 30 s; its log: $demo_dir/$2.log"
}

demo_prepare_data() {
  local folder inputs=()
  for folder in common corpus proto spec coordinator worker cli deploy docs tests README.md ARCHITECTURE.md \
    CONTRIBUTING.md CHANGELOG.md; do
    if [ -e "$root/$folder" ]; then inputs+=("$root/$folder"); fi
  done
  say "preparing a corpus from this repository's sources and documents"
  keep_run dtctl "$demo_bin/dtctl" data tokenize --tokenizer byte --output "$demo_dir/data/quickstart" \
    "${inputs[@]}" >&2
}

demo_begin() {
  keep_stop
  rm -rf -- "$demo_dir"
  mkdir -p "$demo_dir/data" "$demo_dir/storage" "$demo_dir/state"
  keep_note script
  demo_prepare_data
  say "starting a coordinator and two CPU workers (logs in ${demo_dir#"$root"/})"
  keep_start dtcoord "$demo_bin/dtcoord" --listen 127.0.0.1:0 --http 127.0.0.1:0 \
    --state-dir "$demo_dir/state" --addresses-file "$demo_dir/addresses.json"
  demo_wait_for "$demo_dir/addresses.json" dtcoord
  local slot
  for slot in cpu:0 cpu:1; do
    keep_start "dtworker-${slot/:/}" "$demo_bin/dtworker" --coordinator "$(demo_address grpc)" --slot "$slot" \
      --slots 2 --name "local/${slot/:/}" --data-root "$demo_dir/data" \
      --storage "$demo_dir/storage"
  done
}

# demo_address grpc|http
demo_address() {
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
    "$demo_dir/addresses.json" "$1"
}

# What --follow has not said: how to reach this coordinator from another shell, and how to stop it.
demo_show() {
  local address="$1" http="$2"
  cat <<SHOWN

The coordinator and its workers are still here:
  metrics   http://$http/metrics
  look on   export PATH="$demo_bin:\$PATH" DTCTL_ADDRESS=$address
            dtctl get trials last; dtctl explain last/1; dtctl metrics last -o csv
  stop      ./dev demo --stop
SHOWN
}

# demo_leave STATUS: whatever happened, an interrupted or failed demo leaves nothing behind; nor does one that is
# interrupted again on its way out.
demo_leave() {
  trap '' HUP INT TERM
  keep_stop
  trap - EXIT
  exit "$1"
}

# demo [--exit | --stop]
command_demo() {
  local stay=yes
  case "${1:-}" in
    '') ;;
    --exit) stay=no ;;
    --stop)
      keep_stop
      say "nothing of the demo runs any more"
      return 0
      ;;
    *) die "demo: unknown option '$1'; known: --exit, --stop" ;;
  esac
  setup --no-check
  build_preset dev dtcoord dtworker dtctl dttrain
  trap 'demo_leave "$?"' EXIT
  trap 'demo_leave 129' HUP
  trap 'demo_leave 130' INT
  trap 'demo_leave 143' TERM
  demo_begin
  local address http
  address="$(demo_address grpc)"
  http="$(demo_address http)"
  say "dtctl submit examples/quickstart.yaml --follow"
  keep_run dtctl "$demo_bin/dtctl" --address "$address" submit "$root/examples/quickstart.yaml" --follow
  if [ "$stay" = no ]; then
    keep_stop
    say "stopped; the state and checkpoints are in ${demo_dir#"$root"/}; /metrics was at http://$http/metrics"
  else
    demo_show "$address" "$http"
    trap - EXIT HUP INT TERM
  fi
}
