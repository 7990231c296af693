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

// The regular files that match `pattern`, which `field` of a specification says, sorted by path as
// bytes, so that every host has the same order. `*`, `?` and `[…]` match within one path component.
// A pattern is looked up under `data_root`, which it cannot leave: an absolute one is refused, and
// a component `..`; links placed there by the machine's owner are followed. Without a data root
// (dttrain in a person's hands) a path is what it is to a shell, `..` aside.
absl::StatusOr<std::vector<std::string>> ResolveGlob(const std::string& data_root,
                                                     const std::string& field,
                                                     const std::string& pattern);

}  // namespace dt::corpus
