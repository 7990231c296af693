# shellcheck shell=bash disable=SC2154
# bench.sh: the benchmarks, each a program that prints a table. README quotes them with the command.

# Reads the build files, so that nothing has to be built to list the names.
bench_names() {
  sed -nE 's/^add_executable\((\w+).*/\1/p; s#^set\(launcher .*/bench/(\w+)\)#\1#p' \
    "$root"/bench/*/CMakeLists.txt | sort
}

# bench_training_on_gpu [ARGUMENT…]: like gpu-test, builds only the trainer, with the torch that python3
# imports, and uses no packages except those of DTRAIN_BUNDLE.
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
  local name="${1:-}"
  if [ "$#" -gt 0 ]; then shift; fi
  if [ "$name" = list ]; then
    bench_names
    return 0
  fi
  [ -z "$name" ] || bench_names | grep -qx -- "$name" ||
    die "there is no benchmark '$name'; choose one of: $(bench_names | xargs)"
  setup --no-check
  build_preset bench
  if [ -n "$name" ]; then
    "$root/build/bench/bench/$name" "$@"
    return 0
  fi
  for name in $(bench_names); do
    say "bench $name"
    "$root/build/bench/bench/$name"
  done
}
