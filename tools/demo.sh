# shellcheck shell=bash disable=SC2154
# demo.sh: runs `dtctl up` with two CPU slots and a grid of four trials, and shows the results. Sourced after common.sh.
# Everything lives where `dtctl up --name demo` puts it; only dtctl starts and ends programs, and nothing is removed.

demo_dtctl="$root/build/dev/bin/dtctl"

# demo_run ARGUMENT…: runs dtctl in the background, so that a signal for this script is handled before it ends.
demo_run() {
  "$demo_dtctl" "$@" &
  wait "$!"
}

demo_down() { "$demo_dtctl" down --name demo; }

# demo_data: prints the folder to which paths in experiment files are relative.
demo_data() {
  "$demo_dtctl" up --name demo --slots 2 -o json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["data"])'
}

# demo_prepare FOLDER: makes a corpus of this repository's text, completely or not at all; keeps an existing one.
demo_prepare() {
  local folder part="$1/.quickstart.part" inputs=()
  if [ -e "$1/quickstart" ]; then
    say "the corpus exists already: $1/quickstart"
    return 0
  fi
  for folder in common corpus proto spec coordinator worker cli deploy docs tests README.md ARCHITECTURE.md \
    CONTRIBUTING.md CHANGELOG.md; do
    if [ -e "$root/$folder" ]; then inputs+=("$root/$folder"); fi
  done
  say "preparing a corpus from this repository's sources and documents"
  demo_run data tokenize --tokenizer byte --overwrite --output "$part" "${inputs[@]}" >&2
  mv -- "$part" "$1/quickstart"
}

# demo_leave STATUS: makes sure that an interrupted or failed demo leaves no program behind.
demo_leave() {
  local child
  trap '' HUP INT TERM
  # The shell knows its child from the fork on; a variable would have it only a moment later.
  for child in $(jobs -p); do kill "$child" 2>/dev/null || true; done
  demo_down || true
  trap - EXIT
  exit "$1"
}

# demo [--exit | --stop]
command_demo() {
  local stay=yes data
  case "${1:-}" in
    '') ;;
    --exit) stay=no ;;
    --stop)
      if [ -x "$demo_dtctl" ]; then demo_down; fi
      return 0
      ;;
    *) die "demo: unknown option '$1'; known: --exit, --stop" ;;
  esac
  setup --no-check
  build_preset dev dtcoord dtworker dtctl dttrain dtprogram
  trap 'demo_leave "$?"' EXIT
  trap 'demo_leave 129' HUP
  trap 'demo_leave 130' INT
  trap 'demo_leave 143' TERM
  say "dtctl up --name demo --slots 2"
  demo_run up --name demo --slots 2
  data="$(demo_data)"
  demo_prepare "$data"
  say "dtctl submit examples/quickstart.yaml --follow"
  demo_run --context demo submit "$root/examples/quickstart.yaml" --follow
  if [ "$stay" = no ]; then
    demo_down
  else
    cat <<SHOWN

The coordinator and its workers are still here; experiments that you submit train on them:
  look on   export PATH="$root/build/dev/bin:\$PATH" DTCTL_CONTEXT=demo
            dtctl get trials last; dtctl explain last/1; dtctl plot last; dtctl metrics last -o csv
  data      $data
  stop      ./dev demo --stop
SHOWN
  fi
  trap - EXIT HUP INT TERM
}
