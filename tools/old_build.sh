#!/usr/bin/env bash
# old_build.sh FOLDER: builds the programs of version 0.1.0 in FOLDER, without LibTorch, for e2e_upgrade_test:
#
#   tools/old_build.sh /tmp/old && DTRAIN_OLD_BUILD=/tmp/old/build/asan build/dev/tests/e2e_upgrade_test
#
# ctest does both under the label long. Needs a clone with its history; else it ends with 77.
set -euo pipefail
readonly folder="${1:?a folder for the sources and the build}"
# The revision of tests/proto/0.1.0.schema and the journal 0.1.0.db; messages and journals changed after it.
readonly revision=9e17ce08
readonly skipped=77
root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"

if ! git -C "$root" cat-file -e "$revision^{commit}" 2>/dev/null; then
  echo "skipped: this checkout has no history back to $revision"
  exit "$skipped"
fi
mkdir -p "$folder"
git -C "$root" archive "$revision" | tar --extract --directory "$folder"
cd -- "$folder"
# The preset without LibTorch, with today's compiler and without its sanitizers.
cmake --preset asan -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DDTRAIN_SANITIZE= \
  -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
# At -O1 g++ 12 gives warnings that it does not give at -O2.
sed --in-place 's/ -Werror / /' build/asan/build.ninja
cmake --build build/asan --target dtcoord dtworker dtctl fake_trainer
