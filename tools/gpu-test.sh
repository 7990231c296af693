# shellcheck shell=bash disable=SC2154
# gpu-test.sh: builds only the trainer and runs the tests labelled gpu. Needs a compiler, CMake and LibTorch,
# and of packages only those in a bundle (./dev setup --bundle DIR).

# Prints the folder with the torch that python3 imports, if that is the version to build for.
python_torch() {
  python3 - "$torch_version" <<'PYTHON' 2>/dev/null || true
import importlib.metadata, importlib.util, pathlib, sys
if importlib.metadata.version("torch").split("+")[0] == sys.argv[1]:
    print(pathlib.Path(importlib.util.find_spec("torch").origin).parents[1])
PYTHON
}

# configure_gpu_build TORCH BUILD BUNDLE: fails unless all of CUDA's headers and libraries are found.
configure_gpu_build() {
  local generator=()
  say "trainer with the LibTorch in $1"
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake -S "$root" -B "$2" "${generator[@]}" --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
    -DDTRAIN_COMPONENTS=trainer -DDTRAIN_BENCH=OFF -DDTRAIN_WERROR=OFF -DDTRAIN_CUDA=ON -DDTRAIN_LIBTORCH="$1" \
    ${3:+-DCMAKE_PREFIX_PATH="$3"} >&2
}

# build_gpu_trainer BUNDLE [TARGET…]: builds into build/gpu; leaves the folder of the torch that it links in
# gpu_torch.
build_gpu_trainer() {
  local bundle="$1" build="$root/build/gpu" targets=()
  shift
  if [ -n "$bundle" ]; then bundle="$(cd -- "$bundle" && pwd)"; fi
  if [ "$#" -gt 0 ]; then targets=(--target "$@"); fi
  gpu_torch="$(python_torch)"
  if [ -n "${DTRAIN_LIBTORCH:-}" ]; then gpu_torch="$libtorch_dir"; fi
  if [ -z "$gpu_torch" ] || ! configure_gpu_build "$gpu_torch" "$build" "$bundle"; then
    # There is no torch, or it lacks parts of CUDA: use the pinned ones.
    setup --cuda
    gpu_torch="$libtorch_dir"
    rm -f "$build/CMakeCache.txt"
    configure_gpu_build "$gpu_torch" "$build" "$bundle"
  fi
  cmake --build "$build" --parallel "${gpu_jobs:-$(build_jobs)}" "${targets[@]}" >&2
}

# gpu-test [--bundle DIR]
command_gpu_test() {
  local bundle="${DTRAIN_BUNDLE:-}"
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --bundle)
        [ "$#" -ge 2 ] || die "--bundle needs a folder"
        bundle="$2"
        shift
        ;;
      *) die "gpu-test: unknown option '$1'; known: --bundle DIR" ;;
    esac
    shift
  done
  build_gpu_trainer "$bundle"
  # Without a GPU the tests report that and are skipped.
  ctest --test-dir "$root/build/gpu" --output-on-failure --no-tests=error -L '^gpu$'
}
