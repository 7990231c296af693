// glob.h: finds the files that a data pattern of a specification means on this machine.
//
// Errors: ConfigError for a pattern that no machine could use, DataError when nothing here matches,
//         or when some of the shards are not in place yet (publish.h).
// Tests:  tests/corpus/glob_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace dt::corpus {

// A pattern with more files than this is wrong: 10 B tokens are a hundred shards.
inline constexpr size_t kGlobFilesMax = 65536;

// Returns the regular files that match `pattern`, the value of `field`, sorted by path as bytes, so
// that every host has the same order. `*`, `?` and `[…]` match within one path component. A pattern
// is looked up under `data_root`, which it cannot leave: absolute patterns and `..` are refused;
// links placed there by the machine's owner are followed. Without a data root (dttrain started by
// hand) a path means the same as in a shell, except `..`.
absl::StatusOr<std::vector<std::string>> ResolveGlob(const std::string& data_root,
                                                     const std::string& field,
                                                     const std::string& pattern);

}  // namespace dt::corpus
