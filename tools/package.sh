# shellcheck shell=bash disable=SC2154
# package.sh: packages of a release build, in build/packages. Sourced by ./dev after common.sh and setup.sh.

# package [--cuda] [--static] [--wheel] [--libtorch]
command_package() {
  local cuda=() static=no wheel=no libtorch=no
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --cuda) cuda=(--cuda) ;;
      --static) static=yes ;;
      --wheel) wheel=yes ;;
      --libtorch) libtorch=yes ;;
      *) die "package: unknown option '$1'; known: --cuda, --static, --wheel," \
        "--libtorch" ;;
    esac
    shift
  done
  setup --no-check "${cuda[@]}"
  setup_packages "${package_packages[@]}"
  local out="$root/build/packages"
  rm -rf -- "$out"
  # The same commit gives the same bytes: files in archives have its time.
  SOURCE_DATE_EPOCH="$(git -C "$root" show -s --format=%ct HEAD 2>/dev/null || echo 315532800)"
  export SOURCE_DATE_EPOCH
  if [ "$libtorch" = yes ]; then make_libtorch_wheel "$out"; fi
  if [ "$static$wheel$libtorch" = nonoyes ]; then return; fi
  if [ "$static$wheel" = nono ]; then
    build_preset release
    make_debs release "$out"
    ls -- "$out"/*.deb
    return
  fi
  setup_static_libraries
  (cd "$root" && cmake --preset static -DDTRAIN_STATIC_LIBRARIES="$static_dir/lib" --log-level=WARNING >&2)
  build_preset static
  mkdir -p "$out"
  local stage="$out/stage"
  install_static "$stage"
  if [ "$wheel" = yes ]; then make_platform_wheel "$stage" "$out"; fi
  if [ "$static" = yes ]; then
    make_archive_of "$stage" "$out"
    make_debs static "$out"
  fi
  rm -rf -- "$stage"
  (cd "$out" && sha256sum -- *.* >SHA256SUMS && cat SHA256SUMS)
}

# make_debs PRESET OUT
make_debs() {
  say "making Debian packages in $2; packing LibTorch takes some minutes"
  (cd "$root/build/$1" && cpack -B "$2") >&2
  rm -rf -- "$2/_CPack_Packages"
}

# install_static STAGE: installs the programs and manual pages, without LibTorch, and checks where they start.
install_static() {
  local component
  for component in coordinator worker cli trainer; do
    cmake --install "$root/build/static" --component "$component" --prefix "$1/dtrain" --strip >/dev/null
  done
  # LibTorch comes from elsewhere; units and accounts, which name their prefix, from the Debian packages.
  rm -rf -- "$1/dtrain/lib"
  python3 -B "$root/tools/floor.py" "$1"/dtrain/bin/* >&2 || die "a program would not start on every system; see above"
  python3 -B "$root/tools/bill.py" --version "$(project_version)" --libraries "$static_dir" --output "$1/bill" \
    "$root"/build/static/bin/*.linked
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
make_libtorch_wheel() {
  say "making the wheel of LibTorch for CPUs; packing it takes a minute"
  python3 -B "$root/python/make_libtorch_wheel.py" --libtorch "$libtorch_dir" --tag "manylinux_2_28_$(uname -m)" \
    --output "$1"
}

# make_platform_wheel STAGE OUT
make_platform_wheel() {
  say "making the wheel with the programs"
  python3 -B "$root/python/make_platform_wheel.py" \
    --client "$root/build/static/bin/dtrain-$(project_version)-py3-none-any.whl" --installed "$1/dtrain" \
    --bill "$1/bill" --readme "$root/python/README.md" --torch "$torch_version" --tag "manylinux_2_34_$(uname -m)" \
    --output "$2" >&2
}
