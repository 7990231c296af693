#!/usr/bin/env bash
# compile.sh CCACHE COMPILER ARGUMENT…: runs the compiler through ccache. With DTRAIN_CLANG, it runs that clang in
# place of g++, with g++'s arguments, of which clang passes over those that it does not know.
#
# A precompiled header never comes from the cache: GCC writes it differently each time, and a damaged one (zeros
# within a macro's name, seen once) broke every build that found it there. So it is built here and tried. Objects
# that use it are cached under FILE.sum, the checksum of the compiler, the flags and the header's content.
set -euo pipefail
ccache=$1
shift
if [ -n "${DTRAIN_CLANG:-}" ]; then
  set -- "$DTRAIN_CLANG" -Wno-unknown-warning-option -Wno-unused-command-line-argument -Xclang -fno-pch-timestamp \
    "${@:2}"
fi

output=
preprocess=()
header=no
last=
for argument in "$@"; do
  case "$last" in
    -o) output=$argument ;;
    -MT | -MF) ;;
    *)
      case "$argument" in
        -o | -c | -MD | -MT | -MF) ;;
        *) preprocess+=("$argument") ;;
      esac
      ;;
  esac
  if [ "$argument" = c++-header ]; then header=yes; fi
  last=$argument
done

if [ "$header" = no ]; then exec "$ccache" "$@"; fi
# With this flag clang makes the header's templates once, with the header, instead of in each unit. CMake gives it to
# clang by itself, but takes the compiler for g++ here.
if [ -n "${DTRAIN_CLANG:-}" ]; then
  set -- "$1" -fpch-instantiate-templates "${@:2}"
  preprocess+=(-fpch-instantiate-templates)
fi

# Otherwise the compiler would use the old one instead of the text.
rm -f -- "$output"
# Another checkout differs only in its folder, which occurs in flags, and in the text wherever a macro names its file.
{
  "$1" --version
  printf '%s\n' "${preprocess[@]}"
  "${preprocess[@]}" -E -P
} | python3 -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read().replace(sys.argv[1].encode(), b""))' \
  "${CCACHE_BASEDIR:-//}" | sha256sum >"$output.sum"

# Compiles an empty unit that uses the header as its users do.
tries() {
  local flags=() argument
  for argument in "${preprocess[@]}"; do
    case "$argument" in
      -x | c++-header | "${@: -1}") ;;
      *) flags+=("$argument") ;;
    esac
  done
  "${flags[@]}" -Winvalid-pch -Werror -fsyntax-only -x c++ /dev/null
}
for attempt in 1 2 3; do
  "$@"
  if [ "$(basename -- "$output" .gch)" = "$(basename -- "$output")" ] || tries "$@"; then exit 0; fi
  echo "compile.sh: try $attempt of 3: the compiler refuses $output, which it has just built" >&2
done
exit 1
