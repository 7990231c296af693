// glyphs.h: which characters a terminal can show, and a bar made of them.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc
#pragma once

#include <string>

namespace dt::cli {

enum class Glyphs { kAscii, kUnicode };

// `ratio` of a bar `width` columns wide; 0 to 1, anything else is clamped.
std::string Bar(double ratio, int width, Glyphs glyphs);

}  // namespace dt::cli
