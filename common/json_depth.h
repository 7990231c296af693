// json_depth.h: whether a text of JSON nests too deep to be handled, found before it is read.
//
// Role:  pure. nlohmann's reader needs no stack for depth, but copying and writing what it read
//        recurse: a message that is all brackets would end the process that takes it.
// Tests: tests/worker/agent/convert_test.cc, tests/coordinator/api/acts_test.cc
#pragma once

#include <cstddef>
#include <string_view>

namespace dt {

// Many times what a specification or a body has, and some KiB of stack.
inline constexpr size_t kJsonDepthMax = 64;

inline bool NestsTooDeep(std::string_view json) {
  size_t depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;  // what it escapes ends no text
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
