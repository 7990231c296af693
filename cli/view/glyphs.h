// glyphs.h: the characters that a terminal can show, and a bar made of them.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc
#pragma once

#include <string>

namespace dt::cli {

enum class Glyphs { kAscii, kUnicode };

// Returns a bar `width` columns wide, filled by `ratio`, which is clamped to 0 to 1.
std::string Bar(double ratio, int width, Glyphs glyphs);

}  // namespace dt::cli
