# shellcheck shell=bash disable=SC2154
# gpu-day.sh: all measurements on a borrowed GPU machine, call by call (bench/gpu_day/day.py).
# shellcheck source=tools/gpu-test.sh
source "$root/tools/gpu-test.sh"

# Such a machine gets only a few files, and can download none.
readonly gpu_day_bundle="$root/build/bundle" gpu_day_mib=64

# gpu_day_pack: makes the bundle here, and prints how much has to be carried.
gpu_day_pack() {
  local tree bundle
  if [ ! -d "$gpu_day_bundle/include" ]; then setup_bundle "$gpu_day_bundle"; fi
  tree="$(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 du -ck |
    awk '/total$/ {t += $1} END {print t}')"
  bundle="$(du -sk "$gpu_day_bundle" | cut -f1)"
  say "the tree has $((tree / 1024)) MiB and build/bundle $((bundle / 1024)); $gpu_day_mib MiB may be carried"
  [ "$((tree + bundle))" -le "$((gpu_day_mib * 1024))" ] || die "that is more than $gpu_day_mib MiB together"
  say "take build/bundle to the machine, and run ./dev gpu-day there; from the second machine on, also build/gpu-day"
}

# gpu_day_build [--bundle DIR]: builds the trainer, its tests and gpu_step, and records the folder of the
# torch that they link.
gpu_day_build() {
  local bundle="${DTRAIN_BUNDLE:-}"
  if [ "${1:-}" = --bundle ]; then bundle="$2"; fi
  if [ -z "$bundle" ] && [ -d "$gpu_day_bundle/include" ]; then bundle="$gpu_day_bundle"; fi
  # Such a machine's memory grows with use, so the current amount means nothing.
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
