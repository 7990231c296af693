# shellcheck shell=bash disable=SC2154
# package.sh: Debian packages of a release build, in build/packages. Sourced by ./dev after common.sh and setup.sh.

# package [--cuda]
command_package() {
  local cuda=()
  case "${1:-}" in
    '') ;;
    --cuda) cuda=(--cuda) ;;
    *) die "package: unknown option '$1'; known: --cuda" ;;
  esac
  setup --no-check "${cuda[@]}"
  setup_packages "${package_packages[@]}"
  build_preset release
  local out="$root/build/packages"
  rm -rf -- "$out"
  say "making packages in $out; packing LibTorch takes some minutes"
  (cd "$root/build/release" && cpack -B "$out") >&2
  rm -rf -- "$out/_CPack_Packages"
  ls -- "$out"/*.deb
}
