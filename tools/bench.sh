# shellcheck shell=bash disable=SC2154
# bench.sh: the benchmarks, each a program that prints a table. README quotes them with the command.

bench_names() {
  local program
  for program in "$root"/build/bench/bench/*; do
    if [ -f "$program" ] && [ -x "$program" ]; then basename -- "$program"; fi
  done
}

# bench_training_on_gpu [ARGUMENT…]: as gpu-test, the trainer alone with the torch that python3 imports, and no
# package but what DTRAIN_BUNDLE carries.
bench_training_on_gpu() {
  # shellcheck source=tools/gpu-test.sh
  source "$root/tools/gpu-test.sh"
  python3 -B "$root/bench/training/gpu.py" || return
  build_gpu_trainer "${DTRAIN_BUNDLE:-}" dttrain
  python3 -B "$root/bench/training/training_bench.py" --dttrain "$root/build/gpu/bin/dttrain" \
    --libtorch "$gpu_torch" "$@"
}

# bench [list | NAME [ARGUMENT…]]
command_bench() {
  if [ "${1:-}" = training_bench ] && [[ " $* " == *" --device cuda "* || " $* " == *" --device=cuda "* ]]; then
    shift
    bench_training_on_gpu "$@"
    return
  fi
  setup --no-check
  build_preset bench
  local name="${1:-}"
  if [ "$#" -gt 0 ]; then shift; fi
  if [ "$name" = list ]; then
    bench_names
    return 0
  fi
  if [ -n "$name" ]; then
    [ -x "$root/build/bench/bench/$name" ] || die "no benchmark '$name'; there are: $(bench_names | xargs)"
    "$root/build/bench/bench/$name" "$@"
    return 0
  fi
  for name in $(bench_names); do
    say "bench $name"
    "$root/build/bench/bench/$name"
  done
}
