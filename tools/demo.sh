# shellcheck shell=bash disable=SC2154
# demo.sh: a coordinator and two CPU workers on this machine, a grid of four trials, and what came of it.
# Everything lives under build/demo; every process is known by its id, kept in build/demo/pids.

demo_dir="$root/build/demo"
demo_bin="$root/build/dev/bin"

# demo_alive PID: whether that id is still a program of ours; ids are reused.
demo_alive() {
  local program
  program="$(readlink "/proc/$1/exe" 2>/dev/null)" || return 1
  [[ "$program" == "$demo_bin"/* ]]
}

# demo_end PID…: asks all of them to end, waits until they are gone, and kills what is left after 10 s.
demo_end() {
  local pid waited=0
  for pid in "$@"; do
    if demo_alive "$pid"; then kill -TERM "$pid" 2>/dev/null || true; fi
  done
  for pid in "$@"; do
    while demo_alive "$pid"; do
      if [ "$waited" -ge 100 ]; then kill -KILL "$pid" 2>/dev/null || true; fi
      sleep 0.1
      waited=$((waited + 1))
    done
  done
}

# demo_stop: ends what an earlier or this run started. The workers go first (each ends its own trainer), while
# the coordinator is there to take their last reports; it was started first.
demo_stop() {
  [ -f "$demo_dir/pids" ] || return 0
  local pids
  mapfile -t pids <"$demo_dir/pids"
  demo_end "${pids[@]:1}"
  demo_end "${pids[0]}"
  rm -f "$demo_dir/pids"
}

# demo_start NAME PROGRAM ARGUMENT…: in the background, in a session of its own, so that Ctrl-C in this
# terminal reaches this script alone and a closed terminal nobody.
demo_start() {
  local name="$1" pid
  shift
  setsid "$@" </dev/null >"$demo_dir/$name.log" 2>&1 &
  pid=$!
  echo "$pid" >>"$demo_dir/pids"
}

# demo_wait_for FILE PID NAME: until a file is there, 30 s at most.
demo_wait_for() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    if [ -s "$1" ]; then return 0; fi
    demo_alive "$2" || die "$3 ended; its log: $demo_dir/$3.log"$'\n'"$(tail -n 5 "$demo_dir/$3.log")"
    sleep 0.1
  done
  die "$3 is not up after 30 s; its log: $demo_dir/$3.log"
}

demo_prepare_data() {
  local folder inputs=()
  for folder in common corpus proto spec coordinator worker cli deploy docs tests README.md ARCHITECTURE.md \
    CONTRIBUTING.md CHANGELOG.md; do
    if [ -e "$root/$folder" ]; then inputs+=("$root/$folder"); fi
  done
  say "preparing a corpus from this repository's sources and documents"
  "$demo_bin/dtctl" data tokenize --tokenizer byte --output "$demo_dir/data/quickstart" "${inputs[@]}" >&2
}

demo_begin() {
  demo_stop
  rm -rf -- "$demo_dir"
  mkdir -p "$demo_dir/data" "$demo_dir/storage" "$demo_dir/state"
  demo_prepare_data
  say "starting a coordinator and two CPU workers (logs in ${demo_dir#"$root"/})"
  demo_start dtcoord "$demo_bin/dtcoord" --listen 127.0.0.1:0 --http 127.0.0.1:0 \
    --state-dir "$demo_dir/state" --addresses-file "$demo_dir/addresses.json"
  demo_wait_for "$demo_dir/addresses.json" "$(tail -n 1 "$demo_dir/pids")" dtcoord
  local slot
  for slot in cpu:0 cpu:1; do
    demo_start "dtworker-${slot/:/}" "$demo_bin/dtworker" --coordinator "$(demo_address grpc)" --slot "$slot" \
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

# demo [--exit | --stop]
command_demo() {
  local stay=yes
  case "${1:-}" in
    '') ;;
    --exit) stay=no ;;
    --stop)
      demo_stop
      say "nothing of the demo runs any more"
      return 0
      ;;
    *) die "demo: unknown option '$1'; known: --exit, --stop" ;;
  esac
  setup --no-check
  build_preset dev dtcoord dtworker dtctl dttrain
  # Whatever happens from here on, an interrupted or failed demo leaves nothing behind.
  trap 'demo_stop' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  demo_begin
  local address http
  address="$(demo_address grpc)"
  http="$(demo_address http)"
  say "dtctl submit examples/quickstart.yaml --follow"
  "$demo_bin/dtctl" --address "$address" submit "$root/examples/quickstart.yaml" --follow
  if [ "$stay" = no ]; then
    demo_stop
    say "stopped; the state and checkpoints are in ${demo_dir#"$root"/}; /metrics was at http://$http/metrics"
  else
    trap - EXIT
    demo_show "$address" "$http"
  fi
}
