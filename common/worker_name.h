// worker_name.h: the names that a worker may have. Its name becomes part of paths, and a token for
// "beta" covers "beta/0" too.
//
// Role:  pure.
// Tests: tests/coordinator/access/rights_test.cc
#pragma once

#include <string_view>

#include "common/limits.h"

namespace dt {

// Accepts parts with a / between them, as in "gpu07/cuda:0": no part is empty, "." or "..", and
// there is no control character.
inline bool IsWorkerName(std::string_view name) {
  if (name.empty() || name.size() > limits::kNameBytes) return false;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') return false;
  }
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

inline constexpr char kWorkerNameRule[] =
    "parts with / between them, none of which is empty, . or .., without control characters and "
    "backslashes";

}  // namespace dt
