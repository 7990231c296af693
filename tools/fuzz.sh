# shellcheck shell=bash disable=SC2154
# fuzz.sh: the fuzz targets of tests/fuzz, from their seeds, under ASan and UBSan. What a run finds new stays in
# build/fuzz/found and is where the next begins.

# Slower than this, or larger, an input of at most 64 KiB is a fault too.
readonly fuzz_timeout_s=10 fuzz_rss_mib=2048 fuzz_bytes_max=65536

# fuzz_one SECONDS TARGET: prints how many inputs it tried; fails with what was found.
fuzz_one() {
  local seconds="$1" name="$2" kept="$root/build/fuzz/found/$2"
  local log="$kept.log"
  mkdir -p "$kept"
  local status=0
  ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
    LSAN_OPTIONS="suppressions=$root/tools/lsan.supp:print_suppressions=0" \
    "$root/build/fuzz/fuzz/$name" -max_total_time="$seconds" -timeout="$fuzz_timeout_s" \
    -rss_limit_mb="$fuzz_rss_mib" -max_len="$fuzz_bytes_max" -print_final_stats=1 -artifact_prefix="$kept-" \
    "$kept" "$root/tests/fuzz/seeds/$name" >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 60 "$log"
    printf '%s found something: its input is named above; run build/fuzz/fuzz/%s FILE\n' "$name" "$name"
    return 1
  fi
  printf '%-22s %10s executions\n' "$name" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
}

# fuzz [SECONDS] [TARGET]
command_fuzz() {
  local seconds="${1:-60}" only="${2:-}" names=() name
  [[ "$seconds" =~ ^[0-9]+$ ]] || die "fuzz: '$seconds' is not a number of seconds"
  for name in "$root"/tests/fuzz/*_fuzz.cc; do
    name="$(basename "$name" .cc)"
    if [ -z "$only" ] || [ "$only" = "$name" ] || [ "${only}_fuzz" = "$name" ]; then names+=("$name"); fi
  done
  [ "${#names[@]}" -gt 0 ] || die "fuzz: no target '$only' in tests/fuzz"
  build_preset fuzz "${names[@]}"
  export root
  export -f fuzz_one
  export fuzz_timeout_s fuzz_rss_mib fuzz_bytes_max
  printf '%s\0' "${names[@]}" |
    xargs -0 --max-args=1 --max-procs="$(nproc)" bash -c 'fuzz_one "$@"' fuzz "$seconds" >&2
}
