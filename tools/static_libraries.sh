# shellcheck shell=bash disable=SC2154
# static_libraries.sh: static forms of the libraries for which Debian 12 has only shared ones, for ./dev package
# --static and --wheel. Sourced by ./dev after common.sh and setup.sh.
#
# They are made from Debian's source packages, of the versions of Debian's headers, and cached. Each file is pinned by
# its hash. If Debian replaces a version, its source package goes: raise the pin.
static_sources=(fmtlib=9.1.0+ds1-2 spdlog=1:1.10.0+ds-0.4 prometheus-cpp=1.0.1-1 curl=7.88.1-10+deb12u15)
static_hashes='
84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583  fmtlib_9.1.0+ds1.orig.tar.gz
aead535c0b3d7a02a89f6e004ac62d1e15bdbf8d34c36cd37038dcc7d37bc9e3  fmtlib_9.1.0+ds1-2.debian.tar.xz
620ca6842b5c21014470bd42eb4716024674214fb973b5ffa3aaea33310ad327  spdlog_1.10.0+ds.orig.tar.xz
7f0858d7441992fe53c3c8a6849e7b8efb28ab55b973c1a5a9016f7810e0e675  spdlog_1.10.0+ds-0.4.debian.tar.xz
593e028d401d3298eada804d252bc38d8cab3ea1c9e88bcd72095281f85e6d16  prometheus-cpp_1.0.1.orig.tar.gz
81df336acb7796ae93bbcb66c4a7a5225c3086e85ccc268998ea71497f4e0d54  prometheus-cpp_1.0.1-1.debian.tar.xz
cdb38b72e36bc5d33d5b8810f8018ece1baa29a8f215b4495e495ded82bbf3c7  curl_7.88.1.orig.tar.gz
961b78bc48492c5693e4decb352ddd176f343260a8956f48b2887874048ef23b  curl_7.88.1-10+deb12u15.debian.tar.xz'
static_dir="$cache_dir/static-libraries"
static_packages=(dpkg-dev make zlib1g-dev libc-ares-dev libre2-dev)

# fetch_static_sources DIR: gets the source packages with apt, which checks their signatures, and compares the pins.
# The machine's own lists rarely name sources, so apt gets lists of its own, made from the machine's.
fetch_static_sources() {
  local dir="$1" codename=bookworm
  local options=(-o "Dir::Etc::SourceList=$dir/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root
    -o Acquire::Retries=3 -q)
  mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" || die "could not make $dir/apt"
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg signed=''
  if [ -f "$keys" ]; then signed="[signed-by=$keys] "; fi
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' | sort -u |
    while read -r component release uri; do
      case "$component $release" in
        "main $codename" | "main $codename-updates" | "main $codename-security")
          echo "deb-src $signed$uri $release main"
          ;;
      esac
    done >"$dir/apt/sources.list"
  [ -s "$dir/apt/sources.list" ] ||
    die "apt knows no Debian 12 (apt-get update first); static programs are built on Debian 12 alone"
  apt-get "${options[@]}" update >&2 || die "apt-get update failed; see above"
  (cd "$dir" && apt-get "${options[@]}" source --download-only "${static_sources[@]}" >&2) ||
    die "apt-get source failed; if Debian has a newer version, raise the pins in tools/static_libraries.sh"
  (cd "$dir" && echo "$static_hashes" | sed '/^$/d' | sha256sum --quiet --check >&2) ||
    die "a source package differs from its pin in tools/static_libraries.sh"
}

# make_archive NAME SOURCE-FOLDER FLAGS… -- FILES…: compiles C++ files of a package into lib/libNAME.a.
make_archive() {
  local name="$1" source="$2" file objects=() flags=()
  shift 2
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  mkdir -p "$source/objects" || die "could not make $source/objects"
  for file in "$@"; do
    local object="$source/objects/${file//\//_}.o"
    (cd "$source" && g++ -std=c++17 -O2 -g0 -DNDEBUG -fPIC -ffunction-sections -fdata-sections \
      "-ffile-prefix-map=$source=." "${flags[@]}" -c "$file" -o "$object") || die "could not compile $file of $name"
    objects+=("$object")
  done
  ar rcsD "$staging/lib/lib$name.a" "${objects[@]}" || die "could not make lib$name.a"
}

# make_curl SOURCE: HTTP and HTTPS alone.
make_curl() {
  local source="$1" off=() part
  for part in ldap ldaps rtsp dict telnet tftp pop3 imap smb smtp gopher mqtt ftp file manual ares ntlm alt-svc \
    libcurl-option; do
    off+=("--disable-$part")
  done
  for part in zlib brotli zstd libssh2 librtmp libidn2 libpsl nghttp2 gssapi; do off+=("--without-$part"); done
  (cd "$source" &&
    CFLAGS="-O2 -g0 -fPIC -ffunction-sections -fdata-sections -ffile-prefix-map=$source=." \
      ./configure --quiet --disable-shared --enable-static --with-openssl --disable-dependency-tracking \
      --with-ca-bundle=/etc/ssl/certs/ca-certificates.crt "${off[@]}" &&
    make -s -C lib -j "$(build_jobs)" libcurl.la) >"$source.log" 2>&1 || {
    tail -n 30 "$source.log" >&2
    die "could not build libcurl"
  }
  cp "$source/lib/.libs/libcurl.a" "$staging/lib/" || die "could not copy libcurl.a"
}

# static_libraries_are WANTED: returns whether the folder was made from this.
static_libraries_are() { [ -f "$static_dir/.made-of" ] && [ "$1" = "$(cat "$static_dir/.made-of")" ]; }

# setup_static_libraries: makes the folder, completely or not at all, with the list of its pins. A subshell, so that its
# end releases the lock and removes what is not complete. A caller that tests its result turns `set -e` off, so each
# step has its own `|| die`.
setup_static_libraries() (
  local wanted name files=() staging="$cache_dir/.static.$$"
  local sources="$staging/sources"
  wanted="$(declare -f fetch_static_sources make_archive make_curl setup_static_libraries &&
    echo "${static_sources[*]} $static_hashes" && g++ -dumpfullversion)" || die "g++ is missing"
  if static_libraries_are "$wanted"; then return 0; fi
  setup_packages "${static_packages[@]}"
  mkdir -p "$cache_dir" || die "could not make $cache_dir"
  exec 8>"$cache_dir/setup.lock"
  flock -w 1800 8 || die "another ./dev setup has held $cache_dir/setup.lock for 30 minutes"
  if static_libraries_are "$wanted"; then return 0; fi
  say "building static fmt, spdlog, prometheus-cpp and libcurl into $static_dir (once)"
  trap 'rm -rf -- "$staging"' EXIT
  rm -rf -- "$staging"
  mkdir -p "$staging/lib" "$staging/licences" "$sources" || die "could not make $staging"
  fetch_static_sources "$sources"
  for name in fmtlib spdlog prometheus-cpp curl; do
    dpkg-source --no-check -x "$sources/$name"_*.dsc "$sources/$name" >/dev/null || die "could not unpack $name"
    cp "$sources/$name/debian/copyright" "$staging/licences/$name" || die "$name has no debian/copyright"
  done
  make_archive fmt "$sources/fmtlib" -Iinclude -- src/format.cc src/os.cc
  make_archive spdlog "$sources/spdlog" -Iinclude -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL -- \
    src/{spdlog,stdout_sinks,color_sinks,file_sinks,async,cfg}.cpp
  mapfile -t files < <(cd "$sources/prometheus-cpp" && find core/src -name '*.cc' | LC_ALL=C sort)
  [ "${#files[@]}" -gt 0 ] || die "prometheus-cpp has no sources in core/src"
  make_archive prometheus-cpp-core "$sources/prometheus-cpp" -Icore/include -- "${files[@]}"
  make_curl "$sources/curl"
  rm -rf -- "$sources"
  printf '%s\n' "${static_sources[@]}" >"$staging/versions" || die "could not write $staging/versions"
  echo "$wanted" >"$staging/.made-of" || die "could not write $staging/.made-of"
  rm -rf -- "$static_dir"
  mv "$staging" "$static_dir" || die "could not make $static_dir"
)
