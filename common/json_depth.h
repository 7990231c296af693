// json_depth.h: detects JSON that nests too deep, before it is parsed.
//
// Role:  pure. nlohmann's parser needs no stack for depth, but copying and writing its result
//        recurse: a message of nothing but brackets would crash the process that takes it.
// Tests: tests/worker/agent/convert_test.cc, tests/coordinator/api/acts_test.cc
#pragma once

#include <cstddef>
#include <string_view>

namespace dt {

// Many times the depth of a specification or a request body; costs some KiB of stack.
inline constexpr size_t kJsonDepthMax = 64;

inline bool NestsTooDeep(std::string_view json) {
  size_t depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;  // an escaped character ends no string
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kJsonDepthMax) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace dt
