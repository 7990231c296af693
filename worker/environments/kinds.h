// kinds.h: the kinds of environments under one roof: uv.h, image.h, conda.h and module.h.
//
// Threads: any.
// Errors:  as those of the kind.
// Tests:   tests/worker/environments/kinds_test.cc, and the tests of each kind
#pragma once

#include <string>

#include "common/status.h"
#include "worker/environments/wanted.h"

namespace dt::environments {

// Returns whether the first trial finds something out, such as exact packages or a digest, that the
// coordinator keeps for the others.
bool IsResolved(const Wanted& wanted);
// Returns the name under which the store keeps such an environment: a hash of all that it depends
// on. Errors: ConfigError if its file is not in the folder of code.
absl::StatusOr<std::string> StoreName(const Wanted& wanted, const std::string& lock);
// Returns the work of the first trial in words, "resolves its packages", and the content in words,
// "34 packages".
std::string ResolvingText(const Wanted& wanted);
std::string ContentText(const Wanted& wanted, const std::string& lock);
// Returns the number of packages of a lock; an image counts as one.
size_t SizeOf(const Wanted& wanted, const std::string& lock);

}  // namespace dt::environments
