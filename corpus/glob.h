// glob.h: which files a data pattern of a specification means on this machine.
//
// Errors: ConfigError for a pattern that no machine could use, DataError when nothing here matches,
//         or shards of which a part is still to come (publish.h).
// Tests:  tests/corpus/glob_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace dt::corpus {

// More files than this are a pattern gone wrong: 10 B tokens are a hundred shards.
inline constexpr size_t kGlobFilesMax = 65536;

// The regular files that match `pattern`, sorted by path as bytes, so that every host has the same
// order. `*`, `?` and `[…]` match within one path component. A relative pattern is looked up under
// `data_root`; a component `..` is refused, links placed there by the machine's owner are followed.
absl::StatusOr<std::vector<std::string>> ResolveGlob(const std::string& data_root,
                                                     const std::string& pattern);

}  // namespace dt::corpus
