# shellcheck shell=bash disable=SC2154
# lint.sh: every check besides the tests. Each check runs even if an earlier one failed, so that one run
# shows everything to fix.

# shellcheck source=tools/fuzz.sh
source "$root/tools/fuzz.sh"

lint_failures=()
lint_times=()

# check NAME COMMAND…: runs it, times it, records a failure.
check() {
  local name="$1" start=$SECONDS
  shift
  say "lint: $name"
  # A subshell with errexit of its own: `if` and `||` would switch it off inside.
  set +e
  (
    set -e
    "$@"
  ) >&2
  local status=$?
  set -e
  lint_times+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
  if [ "$status" -ne 0 ]; then lint_failures+=("$name"); fi
}

lint_format() {
  cd "$root"
  git ls-files -z -- '*.h' '*.cc' 'coordinator/http/page/*.js' |
    xargs -0 --no-run-if-empty --max-args=100 --max-procs="$(nproc)" clang-format-14 --dry-run -Werror
}

lint_shell() {
  cd "$root"
  git grep -lzE '^#!.*(bash|/sh)|^# shellcheck shell=' -- ':!*.md' | xargs -0 --no-run-if-empty shellcheck
}

# sanitized_tests PRESET all|changed: prints the tests that run in the sanitizer build PRESET, asan or tsan: all, or
# those of this commit: a third in turns, and those of changed rooms. cmake/Rooms.cmake has their labels.
sanitized_tests() {
  local all='^(unit|sim)$' label=sanitized changed
  if [ "$1" = tsan ]; then all='^tsan$' label=tsan; fi
  configure_preset "$1"
  if [ "$2" = all ]; then
    ctest --test-dir "$root/build/$1" --show-only -L "$all" | sed -n 's/^ *Test *#[0-9]*: //p'
  else
    mapfile -t changed < <(changed_paths)
    ctest --test-dir "$root/build/$1" --show-only=json-v1 |
      python3 -B "$root/tools/turns.py" tests "$label" "$root/build/$1" "$(commit_hash)" "${changed[@]}"
  fi
}

# run_sanitized PRESET all|changed: builds these tests, and runs them.
run_sanitized() {
  local names targets
  mapfile -t names < <(sanitized_tests "$1" "$2")
  targets=("${names[@]}")
  # Tests in Python are no targets. The programs are built for clang's analysis of their threads.
  if [ "$1 $2" = 'asan all' ]; then targets=(dtcoord dtworker dtctl fast_tests); fi
  build_preset "$1" "${targets[@]}"
  ctest --test-dir "$root/build/$1" --output-on-failure --no-tests=error --parallel "$(test_jobs)" \
    -R "^($(IFS='|'; echo "${names[*]}"))\$"
}

# Thread-safety analysis, ASan and UBSan, without LibTorch. lint_asan all|changed
lint_asan() {
  ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
    LSAN_OPTIONS="suppressions=$root/tools/lsan.supp:print_suppressions=0" run_sanitized asan "$1"
}

# TSan for the rooms that have threads of our own. The distribution's gRPC is not instrumented, so nothing that calls it
# has dt_test's label tsan. lint_tsan all|changed
lint_tsan() { TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 run_sanitized tsan "$1"; }

# Fuzz targets take turns at half a minute, two at a time: half a minute for all would take a quarter of CI's time.
readonly lint_fuzz_turns=15

# Prints the hash of this commit: what takes turns takes them by it.
commit_hash() { git -C "$root" rev-parse --short=8 HEAD 2>/dev/null || echo 0; }

# Prints the fuzz targets whose turn it is at this commit: by its hash, since a shallow clone knows no number.
fuzz_turn() {
  local names=() place
  mapfile -t names < <(fuzz_names)
  for ((place = 16#$(commit_hash) % lint_fuzz_turns; place < ${#names[@]}; place += lint_fuzz_turns)); do
    echo "${names[$place]}"
  done
}

# Prints the fuzz targets of this commit: a third in turns, those that changed or have a new seed, and those whose turn
# it is at half a minute.
fuzz_targets() {
  local changed=()
  mapfile -t changed < <(changed_paths)
  {
    fuzz_turn
    fuzz_names | python3 -B "$root/tools/turns.py" fuzz "$(commit_hash)" "${changed[@]}"
  } | sort -u
}

# Fuzzes parsers of input from others, and the core, on kept seeds and inputs made from them, in the same build.
# lint_fuzz all|changed: each target for a minute; or those of this commit for two seconds, and for half a minute where
# it is their turn.
lint_fuzz() {
  local names=() turn=() kept status=0
  # Starts from the seeds alone, so that a run does not depend on earlier runs here. Failures stay.
  kept="$(mktemp -d "$root/build/fuzz-XXXXXX")"
  if [ "$1" = all ]; then
    mapfile -t names < <(fuzz_names)
    fuzz_all 60 "$kept" "${names[@]}" || status=$?
  else
    mapfile -t names < <(fuzz_targets)
    fuzz_all 2 "$kept" "${names[@]}" || status=$?
    mapfile -t turn < <(fuzz_turn)
    fuzz_all 30 "$kept" "${turn[@]}" || status=$?
  fi
  if [ "$status" -eq 0 ]; then rm -rf -- "$kept"; fi
  return "$status"
}

# Prints files that differ since this branch left main; on main itself, those of the last commit.
changed_paths() {
  local base
  base="$(git -C "$root" merge-base HEAD origin/main 2>/dev/null ||
    git -C "$root" merge-base HEAD main 2>/dev/null || true)"
  if [ -z "$base" ] || [ "$base" = "$(git -C "$root" rev-parse HEAD)" ]; then base=HEAD~1; fi
  git -C "$root" diff --name-only --diff-filter=d "$base" 2>/dev/null || true
}

# Prints the units of which they, or their headers, are among them.
changed_sources() { changed_paths | sed -n 's/\.\(cc\|h\)$/.cc/p' | sort -u; }

# clang-tidy takes 10 to 20 s for a unit, so a large change is only checked in part; --all checks the rest.
readonly lint_tidy_files_max=24

# lint_clang_tidy all|changed
lint_clang_tidy() {
  local files=() file chosen=()
  if [ "$1" = all ]; then
    mapfile -t files < <(git -C "$root" ls-files -- '*.cc')
  else
    mapfile -t files < <(changed_sources)
  fi
  configure_preset tidy
  # Only units of the clang build: LibTorch units are built by g++ with a precompiled header.
  for file in "${files[@]}"; do
    if grep -qF "\"$root/$file\"" "$root/build/tidy/compile_commands.json"; then chosen+=("$root/$file"); fi
  done
  if [ "$1" = changed ] && [ "${#chosen[@]}" -gt "$lint_tidy_files_max" ]; then
    echo "clang-tidy: ${#chosen[@]} files changed, the first $lint_tidy_files_max are checked;" \
      "./dev lint --all does all"
    chosen=("${chosen[@]:0:$lint_tidy_files_max}")
  fi
  if [ "${#chosen[@]}" -eq 0 ]; then
    echo "clang-tidy: no changed source"
    return 0
  fi
  # The precompiled headers that these units include.
  local headers=()
  mapfile -t headers < <(printf -- '-c %s\n' "${chosen[@]}" |
    grep -hFf - "$root/build/tidy/compile_commands.json" |
    grep -oE "$root/build/tidy/[^ \"]*cmake_pch\.hxx\.pch" | sed "s#^$root/build/tidy/##" | sort -u)
  if [ "${#headers[@]}" -gt 0 ]; then ninja -C "$root/build/tidy" "${headers[@]}"; fi
  printf '%s\0' "${chosen[@]}" |
    xargs -0 --max-args=1 --max-procs="$(nproc)" clang-tidy-14 --quiet -p "$root/build/tidy"
}

# Checks the units as installed, with the programs' paths replaced by an existing one: verify looks for them.
lint_units() {
  local staged
  staged="$(mktemp -d)"
  local unit
  for unit in dtcoord.service dtworker@.service; do
    sed -e 's#@CMAKE_INSTALL_FULL_BINDIR@/[a-z]*#/bin/true#' \
      "$root/deploy/systemd/$unit.in" >"$staged/$unit"
  done
  cp "$root/deploy/systemd/dtworker.target" "$staged"
  systemd-analyze verify --man=no "$staged/dtcoord.service" "$staged/dtworker@.service" "$staged/dtworker.target"
  # Exposure of at most 1.5 and 2.0 of 10; a bare unit has 9.6.
  systemd-analyze security --no-pager --offline=true --threshold=15 "$staged/dtcoord.service" |
    grep -E 'Overall' || return 1
  systemd-analyze security --no-pager --offline=true --threshold=20 "$staged/dtworker@.service" |
    grep -E 'Overall' || return 1
  rm -rf "$staged"
}

lint_monitoring() {
  promtool check config "$root/deploy/prometheus/prometheus.yml"
  promtool test rules "$root/deploy/prometheus/rules_test.yml"
  python3 "$root/deploy/grafana/make_dashboard.py" --check
}

# Builds what lint runs, so that it finds it done.
build_lint() {
  local preset names
  for preset in asan tsan; do
    mapfile -t names < <(sanitized_tests "$preset" changed)
    build_preset "$preset" "${names[@]}"
  done
  mapfile -t names < <(fuzz_targets)
  build_preset asan "${names[@]}"
}

# lint [--all | --build]
command_lint() {
  local scope=changed
  case "${1:-}" in
    '' | --build) ;;
    --all) scope=all ;;
    *) die "lint: unknown option '$1'; known: --all, --build" ;;
  esac
  setup_packages "${build_packages[@]}" "${check_packages[@]}"
  if [ "${1:-}" = --build ]; then
    build_lint
    return
  fi
  check 'format' lint_format
  check 'house rules' python3 "$root/tools/tidy.py"
  check 'shell scripts' lint_shell
  check 'GPU kernels' python3 -B "$root/tools/check_ptx.py"
  check 'systemd units' lint_units
  check 'alert rules and dashboard' lint_monitoring
  check "clang: thread safety, ASan, UBSan ($scope)" lint_asan "$scope"
  check "fuzzing ($scope)" lint_fuzz "$scope"
  check "TSan ($scope)" lint_tsan "$scope"
  check "clang-tidy ($scope)" lint_clang_tidy "$scope"
  printf '%s\n' "${lint_times[@]}" >&2
  if [ "${#lint_failures[@]}" -gt 0 ]; then
    printf 'lint: failed: %s\n' "${lint_failures[@]}" >&2
    exit 1
  fi
  say 'lint: all clean'
}
