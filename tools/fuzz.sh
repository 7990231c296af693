# shellcheck shell=bash disable=SC2154
# fuzz.sh: runs the fuzz targets of tests/fuzz, of the preset asan: first each of their kept seeds, unchanged, then
# inputs made from them. ./dev lint runs them for some seconds, ./dev fuzz for longer. Its new findings stay in
# build/asan/found, where the next run begins.

# An input that takes longer than this on a loaded machine, or more memory, is a fault too.
readonly fuzz_timeout_s=30 fuzz_rss_mib=2048
# Size of generated inputs: a fault of a large input also shows in a smaller one, and sooner. Seeds may be larger.
readonly fuzz_bytes_max=4096

# fuzz_run LOG TARGET OPTION…: on a finding, fails and prints how to repeat it.
fuzz_run() {
  local log="$1" name="$2" status=0
  shift 2
  ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
    LSAN_OPTIONS="suppressions=$root/tools/lsan.supp:print_suppressions=0" \
    "$root/build/asan/fuzz/$name" -timeout="$fuzz_timeout_s" -rss_limit_mb="$fuzz_rss_mib" "$@" \
    >"$log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then return 0; fi
  local input
  input="$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
  # A failing seed is not written again.
  if [ -z "$input" ]; then input="$(sed -n 's/^Running: //p' "$log" | tail -n 1)"; fi
  tail -n 60 "$log"
  printf '%s found something in %s\n  again: build/asan/fuzz/%s %s\n' "$name" "$input" "$name" "$input"
  printf '  once it is fixed: keep the file in tests/fuzz/seeds/%s\n' "$name"
  return 1
}

# fuzz_one SECONDS KEPT TARGET: prints how many inputs it tried. KEPT: the folder for findings.
fuzz_one() {
  local seconds="$1" kept="$2" name="$3"
  local seeds="$root/tests/fuzz/seeds/$name" log="$2/$3.log"
  mkdir -p "$kept/$name"
  fuzz_run "$log" "$name" -artifact_prefix="$kept/$name-" "$seeds"/* || return 1
  fuzz_run "$log" "$name" -artifact_prefix="$kept/$name-" -max_total_time="$seconds" -max_len="$fuzz_bytes_max" \
    -print_final_stats=1 "$kept/$name" "$seeds" || return 1
  printf '%-22s %10s executions\n' "$name" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
}

# fuzz_all SECONDS KEPT TARGET…: builds the targets and runs as many at once as there are cores.
fuzz_all() {
  local seconds="$1" kept="$2"
  shift 2
  build_preset asan "$@" || return  # a caller's || has switched set -e off
  export root
  export -f fuzz_one fuzz_run
  export fuzz_timeout_s fuzz_rss_mib fuzz_bytes_max
  printf '%s\0' "$@" |
    xargs -0 --max-args=1 --max-procs="$(nproc)" bash -c 'fuzz_one "$@"' fuzz "$seconds" "$kept" >&2
}

# Prints the names of all targets, or of the requested one.
fuzz_names() {
  local only="${1:-}" name
  for name in "$root"/tests/fuzz/*_fuzz.cc; do
    name="$(basename "$name" .cc)"
    if [ -z "$only" ] || [ "$only" = "$name" ] || [ "${only}_fuzz" = "$name" ]; then echo "$name"; fi
  done
}

# fuzz [--coverage] [SECONDS] [TARGET]
command_fuzz() {
  local coverage=no
  if [ "${1:-}" = --coverage ]; then
    coverage=yes
    shift
  fi
  local seconds="${1:-60}" only="${2:-}" names=()
  [[ "$seconds" =~ ^[0-9]+$ ]] || die "fuzz: '$seconds' is not a number of seconds"
  mapfile -t names < <(fuzz_names "$only")
  [ "${#names[@]}" -gt 0 ] || die "fuzz: no target '$only' in tests/fuzz"
  if [ "$coverage" = yes ]; then
    build_preset cover "${names[@]}"
    python3 "$root/tools/fuzz_coverage.py" "$root/build/cover" "$seconds" "$fuzz_bytes_max" "${names[@]}"
    return
  fi
  fuzz_all "$seconds" "$root/build/asan/found" "${names[@]}"
}
