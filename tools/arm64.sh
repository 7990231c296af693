# shellcheck shell=bash disable=SC2154
# arm64.sh: a root folder of Debian 12's arm64 packages, for ./dev build arm64: 250 MB, made in 10 seconds. Nothing in
# it runs while it is made, and this machine's packages stay as they are. Sourced by ./dev after common.sh and setup.sh.
arm64_root="$cache_dir/arm64-root"
arm64_tools=(mmdebstrap g++-aarch64-linux-gnu qemu-user-static)
arm64_packages=(
  libc6-dev libstdc++-12-dev libgrpc++-dev libprotobuf-dev libabsl-dev libsqlite3-dev prometheus-cpp-dev
  libcivetweb-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libpq-dev libcurl4-openssl-dev libspdlog-dev
  libfmt-dev libre2-dev libssl-dev dash
)

# setup_arm64_root: makes the folder, completely or not at all, with the list of its packages.
setup_arm64_root() (
  local staging="$cache_dir/.arm64-root.$$" link target
  setup_packages "${arm64_tools[@]}"
  mkdir -p "$cache_dir" || die "could not make $cache_dir"
  exec 8>"$cache_dir/setup.lock"
  flock -w 1800 8 || die "another ./dev setup has held $cache_dir/setup.lock for 30 minutes"
  if [ "$(cat "$arm64_root/.packages" 2>/dev/null)" = "${arm64_packages[*]}" ]; then return 0; fi
  say "unpacking Debian's arm64 packages into $arm64_root (once)"
  trap 'rm -rf -- "$staging"' EXIT
  local IFS=,
  mmdebstrap --quiet --variant=extract --architectures=arm64 --include="${arm64_packages[*]}" bookworm "$staging" >&2 ||
    die "mmdebstrap failed; see above"
  unset IFS
  # Links of Debian's packages name / as their root. A linker of this machine would follow them into its own libraries.
  find "$staging" -type l -lname '/*' -not -path "$staging/dev/*" -print0 | while IFS= read -r -d '' link; do
    target="$(readlink "$link")"
    ln -sfnr "$staging$target" "$link" || die "could not change $link"
  done
  mkdir -p "$staging"/{proc,dev,srv} || die "could not make folders in $staging"  # for the mounts of arm64_test
  echo "${arm64_packages[*]}" >"$staging/.packages" || die "could not write $staging/.packages"
  rm -rf -- "$arm64_root"
  mv "$staging" "$arm64_root" || die "could not make $arm64_root"
)
