# shellcheck shell=bash disable=SC2154
# gpu-day.sh: everything worth knowing on a borrowed GPU machine, call by call (bench/gpu_day/day.py).
# shellcheck source=tools/gpu-test.sh
source "$root/tools/gpu-test.sh"

# What such a machine is given: its files are few, and it can fetch none.
readonly gpu_day_bundle="$root/build/bundle" gpu_day_mib=64

# gpu_day_pack: makes the bundle here, and says how much there is to carry.
gpu_day_pack() {
  local tree bundle
  if [ ! -d "$gpu_day_bundle/include" ]; then setup_bundle "$gpu_day_bundle"; fi
  tree="$(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 du -ck |
    awk '/total$/ {t += $1} END {print t}')"
  bundle="$(du -sk "$gpu_day_bundle" | cut -f1)"
  say "the tree has $((tree / 1024)) MiB and build/bundle $((bundle / 1024)); $gpu_day_mib MiB may be carried"
  [ "$((tree + bundle))" -le "$((gpu_day_mib * 1024))" ] || die "that is more than $gpu_day_mib MiB together"
  say "carry build/bundle along, and there: ./dev gpu-day; from the second machine on build/gpu-day too"
}

# gpu_day_build [--bundle DIR]: the trainer, its tests and gpu_step, and where the torch is that they link.
gpu_day_build() {
  local bundle="${DTRAIN_BUNDLE:-}"
  if [ "${1:-}" = --bundle ]; then bundle="$2"; fi
  if [ -z "$bundle" ] && [ -d "$gpu_day_bundle/include" ]; then bundle="$gpu_day_bundle"; fi
  # Such a machine's memory grows as it is used, so how much there is now says nothing.
  gpu_jobs="$(nproc)"
  build_gpu_trainer "$bundle" dttrain gpu_test gpu_step
  echo "$gpu_torch" >"$root/build/gpu/torch-folder"
}

# gpu-day [--pack | OPTION…]
command_gpu_day() {
  case "${1:-}" in
    --pack) gpu_day_pack ;;
    --build-only)
      shift
      gpu_day_build "$@"
      ;;
    *) exec python3 -B "$root/bench/gpu_day/day.py" "$@" ;;
  esac
}
