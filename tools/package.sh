# shellcheck shell=bash disable=SC2154
# package.sh: packages of a release build, in build/packages. Sourced by ./dev after common.sh and setup.sh.

# The versions of PyTorch besides $torch_version that the wheel gets a trainer for (--torch).
wheel_torch_versions=()
static_folder=static  # of build/

# package [--cuda] [--static] [--wheel] [--libtorch] [--torch VERSION]... [--quick] [--repository KEY]
command_package() {
  local cuda=() static=no wheel=no libtorch=no key='' quick=no
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --cuda) cuda=(--cuda) ;;
      --static) static=yes ;;
      --wheel) wheel=yes ;;
      --libtorch) libtorch=yes ;;
      --torch)
        [ "$#" -ge 2 ] || die "--torch needs a version of PyTorch, such as 2.12.1"
        [ -f "$root/tools/wheels-cpu-$(minor_of "$2").txt" ] ||
          die "--torch $2: its wheels are not pinned: there is no tools/wheels-cpu-$(minor_of "$2").txt"
        wheel_torch_versions+=("$2")
        shift
        ;;
      --quick) quick=yes static_folder=quick ;;
      --repository)
        [ "$#" -ge 2 ] || die "--repository needs the key that signs it, as gpg --list-secret-keys names it"
        key="$2"
        shift
        ;;
      *) die "package: unknown option '$1'; known: --cuda, --static, --wheel," \
        "--libtorch, --torch VERSION, --quick, --repository KEY" ;;
    esac
    shift
  done
  if [ -n "$key" ]; then check_key "$key"; fi
  setup --no-check "${cuda[@]}"
  setup_packages "${package_packages[@]}"
  local out="$root/build/packages"
  rm -rf -- "$out"
  # The same commit gives the same bytes: files in archives have its time, and modes do not depend on the caller's.
  umask 022
  SOURCE_DATE_EPOCH="$(git -C "$root" show -s --format=%ct HEAD 2>/dev/null || echo 315532800)"
  export SOURCE_DATE_EPOCH
  if [ "$libtorch" = yes ]; then make_libtorch_wheel "$out"; fi
  if [ "$static$wheel" = nono ]; then
    # Without another option: packages for this release of Debian.
    if [ "$libtorch" = no ] || [ -n "$key" ]; then
      build_preset release
      make_debs release "$out"
    fi
  else
    package_static "$out" "$static" "$wheel"
  fi
  if [ -n "$key" ]; then
    python3 -B "$root/tools/repository.py" --key "$key" --output "$out/repository" "$out"/*.deb >&2
  fi
  (cd "$out" && sha256sum -- *.* >SHA256SUMS && cat SHA256SUMS)
}

# check_key KEY: a missing key would only be noticed after the build.
check_key() {
  command -v gpg >/dev/null || die "--repository needs gpg (package gpg)"
  gpg --batch --list-secret-keys -- "$1" >/dev/null 2>&1 || die "gpg has no secret key '$1'; see gpg --list-secret-keys"
}

minor_of() { echo "${1%.*}"; }

# package_static OUT STATIC WHEEL
package_static() {
  local out="$1" stage="$1/stage"
  setup_static_libraries
  configure_static "$torch_version" "$static_folder"
  cmake --build "$root/build/$static_folder" --parallel "$(build_jobs)" --target \
    dtctl dtcoord dtworker dtprogram trainers trainer_starter python_wheel >&2
  local version
  for version in "${wheel_torch_versions[@]}"; do build_trainer "$version"; done
  mkdir -p "$out"
  install_static "$stage"
  if [ "$3" = yes ]; then make_platform_wheel "$stage" "$out"; fi
  if [ "$2" = yes ]; then
    make_archive_of "$stage" "$out"
    make_debs "$static_folder" "$out"
  fi
  rm -rf -- "$stage"
}

# configure_static TORCH-VERSION FOLDER [OPTION…]: configures build/FOLDER.
configure_static() {
  local version="$1" folder="$2" preset=(static)
  shift 2
  # The objects of ./dev build come from ccache, so that only the links are new.
  if [ "$quick" = yes ]; then
    preset=(dev -DDTRAIN_STATIC=ON -DDTRAIN_STATIC_OBJECTS=OFF -DDTRAIN_QUICK_LINK=OFF
      -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON)
  fi
  (cd "$root" && cmake --preset "${preset[@]}" -B "build/$folder" -DDTRAIN_STATIC_LIBRARIES="$static_dir/lib" \
    -DDTRAIN_LIBTORCH="$libtorch_dir" -DDTRAIN_LIBTORCH_VERSION="$version" "$@" --log-level=WARNING >&2)
}

# build_trainer TORCH-VERSION: the trainer alone, in build/static-2.N or build/quick-2.N. A subshell, since LibTorch is
# another one.
# shellcheck disable=SC2030
build_trainer() (
  local minor
  minor="$(minor_of "$1")"
  libtorch_dir="$cache_dir/libtorch-$1"
  unset DTRAIN_LIBTORCH
  setup_libtorch "$root/tools/wheels-cpu-$minor.txt"
  say "building dttrain-$minor"
  configure_static "$1" "$static_folder-$minor" -DDTRAIN_COMPONENTS=trainer -DDTRAIN_CUDA=OFF
  cmake --build "$root/build/$static_folder-$minor" --parallel "$(build_jobs)" --target trainers >&2
)

# make_debs PRESET OUT
make_debs() {
  local more=()
  if [ "$quick" = yes ]; then more=(-D CPACK_DEBIAN_COMPRESSION_TYPE=none); fi
  say "making Debian packages in $2; packing LibTorch takes some minutes"
  (cd "$root/build/$1" && cpack -B "$2" "${more[@]}") >&2
  rm -rf -- "$2/_CPack_Packages"
}

# install_static STAGE: installs the programs and manual pages, without LibTorch, and checks where they start.
install_static() {
  local component version minor linked=("$root/build/$static_folder/bin"/*.linked)
  for component in coordinator worker cli trainer; do
    cmake --install "$root/build/$static_folder" --component "$component" --prefix "$1/dtrain" --strip >/dev/null
  done
  for version in "${wheel_torch_versions[@]}"; do
    minor="$(minor_of "$version")"
    strip -o "$1/dtrain/bin/dttrain-$minor" "$root/build/$static_folder-$minor/bin/dttrain-$minor"
    linked+=("$root/build/$static_folder-$minor/bin/dttrain.linked")
  done
  # LibTorch comes from elsewhere; units and accounts, which name their prefix, from the Debian packages.
  rm -rf -- "$1/dtrain/lib"
  python3 -B "$root/tools/floor.py" "$1"/dtrain/bin/* >&2 || die "a program would not start on every system; see above"
  python3 -B "$root/tools/bill.py" --version "$(project_version)" --libraries "$static_dir" --output "$1/bill" \
    "${linked[@]}"
}

project_version() { sed -n 's/^project(dtrain VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"; }

# make_archive_of STAGE OUT: dtrain-VERSION-linux-x86_64.tar.xz, to unpack anywhere: bin/, share/.
make_archive_of() {
  local name
  name="dtrain-$(project_version)-linux-$(uname -m)"
  say "packing $name.tar.xz"
  # The archive has a single bill for all programs. Those in linked/ are for the Debian packages.
  rm -rf -- "$1"/dtrain/share/doc/*/linked
  cp -r -- "$1/bill/." "$1/dtrain/share/doc/dtrain-cli/"
  tar -C "$1/dtrain" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=u-w \
    -cf - . | xz -6 -T1 >"$2/$name.tar.xz"
}

# make_libtorch_wheel OUT
# shellcheck disable=SC2031
make_libtorch_wheel() {
  say "making the wheel of LibTorch for CPUs; packing it takes a minute"
  python3 -B "$root/python/make_libtorch_wheel.py" --libtorch "$libtorch_dir" --tag "manylinux_2_28_$(uname -m)" \
    --output "$1"
}

# make_platform_wheel STAGE OUT
make_platform_wheel() {
  say "making the wheel with the programs"
  python3 -B "$root/python/make_platform_wheel.py" \
    --client "$root/build/$static_folder/bin/dtrain-$(project_version)-py3-none-any.whl" --installed "$1/dtrain" \
    --bill "$1/bill" --readme "$root/python/README.md" --torch "$torch_version" --tag "manylinux_2_34_$(uname -m)" \
    --output "$2" >&2
}
