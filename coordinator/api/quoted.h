// quoted.h: a part of a request as an error shows it.
//
// Role:  pure.
// Tests: tests/coordinator/api/call_test.cc, gate_test.cc
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "common/api_limits.h"
#include "common/text.h"

namespace dt {

// Returns the first bytes of `text` in quotes, with control characters made visible.
inline std::string Quoted(const std::string& text) {
  return absl::StrCat("'", Printable(CleanText(text, limits::kQuotedBytes)), "'");
}

}  // namespace dt
