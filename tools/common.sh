# shellcheck shell=bash
# common.sh: functions that the parts of ./dev share. Sourced, never run; expects `root`, the
# repository's folder.

readonly torch_version=2.11.0
cache_dir="${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/dtrain"
libtorch_dir="${DTRAIN_LIBTORCH:-$cache_dir/libtorch-$torch_version}"

if [ -t 2 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'
else
  bold='' red='' plain=''
fi

say() { printf '%s==>%s %s\n' "$bold" "$plain" "$*" >&2; }
die() {
  printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2
  exit 1
}

# Prints the number of compiler processes: one for each core, but only one for each 2 GiB of memory,
# since a LibTorch unit takes up to 1.5 GiB.
build_jobs() {
  local cores memory_gib
  cores="$(nproc)"
  memory_gib="$(awk '/^MemTotal/ {print int($2 / 1048576)}' /proc/meminfo)"
  local by_memory=$((memory_gib / 2))
  [ "$by_memory" -ge 1 ] || by_memory=1
  if [ "$by_memory" -lt "$cores" ]; then echo "$by_memory"; else echo "$cores"; fi
}

# test_jobs: prints how many quarter cores tests may take: four for each core (cmake/Rooms.cmake).
test_jobs() { echo $((4 * $(nproc))); }

configure_preset() {
  local more=(-DDTRAIN_LIBTORCH="$libtorch_dir")
  if [ "$1" = arm64 ]; then more=(-DDTRAIN_ARM64_ROOT="$arm64_root"); fi
  (cd "$root" && cmake --preset "$1" "${more[@]}" --log-level=WARNING >&2)
}

# build_preset PRESET [TARGET…]: configures if needed, and builds.
build_preset() {
  local preset="$1"
  shift
  local targets=()
  if [ "$#" -gt 0 ]; then targets=(--target "$@"); fi
  configure_preset "$preset"
  (cd "$root" && cmake --build "build/$preset" --parallel "$(build_jobs)" "${targets[@]}" >&2)
}
