# shellcheck shell=bash disable=SC2154
# gpu-test.sh: builds the trainer alone and runs the tests labelled gpu. Needs a compiler, CMake and LibTorch;
# of packages only what a bundle (./dev setup --bundle DIR) carries.

# The folder that holds the torch that python3 imports, if that is the version built for.
python_torch() {
  python3 - "$torch_version" <<'PYTHON' 2>/dev/null || true
import importlib.metadata, importlib.util, pathlib, sys
if importlib.metadata.version("torch").split("+")[0] == sys.argv[1]:
    print(pathlib.Path(importlib.util.find_spec("torch").origin).parents[1])
PYTHON
}

# configure_gpu_build TORCH BUILD BUNDLE: fails when CUDA's headers and libraries are not all found.
configure_gpu_build() {
  local generator=()
  say "trainer with the LibTorch in $1"
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake -S "$root" -B "$2" "${generator[@]}" --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
    -DDTRAIN_COMPONENTS=trainer -DDTRAIN_BENCH=OFF -DDTRAIN_CUDA=ON -DDTRAIN_LIBTORCH="$1" \
    ${3:+-DCMAKE_PREFIX_PATH="$3"} >&2
}

# gpu-test [--bundle DIR]
command_gpu_test() {
  local bundle="${DTRAIN_BUNDLE:-}" torch build="$root/build/gpu"
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --bundle)
        [ "$#" -ge 2 ] || die "--bundle needs a folder"
        bundle="$(cd -- "$2" && pwd)"
        shift
        ;;
      *) die "gpu-test: unknown option '$1'; known: --bundle DIR" ;;
    esac
    shift
  done
  torch="$(python_torch)"
  if [ -n "${DTRAIN_LIBTORCH:-}" ]; then torch="$libtorch_dir"; fi
  if [ -z "$torch" ] || ! configure_gpu_build "$torch" "$build" "$bundle"; then
    # No torch, or parts of CUDA are missing where it is: the pinned ones.
    setup --cuda
    rm -f "$build/CMakeCache.txt"
    configure_gpu_build "$libtorch_dir" "$build" "$bundle"
  fi
  cmake --build "$build" --parallel "$(build_jobs)" >&2
  # Tests without a GPU say so and are skipped.
  ctest --test-dir "$build" --output-on-failure --no-tests=error -L '^gpu$'
}
