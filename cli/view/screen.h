// screen.h: a whole screen of lines as the bytes that change what a terminal shows.
//
// Role:   pure. Only lines that differ are written, so that nothing flickers and a frame over ssh
//         is small; a caller writes all of it at once.
// Source: ECMA-48; the alternate screen is xterm's mode 1049.
// Tests:  tests/cli/view/top_keys_test.cc; tests/cli/commands/top_terminal_test.cc, at a terminal
#pragma once

#include <string>
#include <vector>

namespace dt::cli {

// The alternate screen, with the cursor hidden; and back.
inline constexpr char kEnterScreen[] = "\x1b[?1049h\x1b[?25l\x1b[2J";
inline constexpr char kLeaveScreen[] = "\x1b[0m\x1b[?25h\x1b[?1049l";

// From `before` to `now`, both rendered and as wide as the screen at most. `before` empty: nothing
// is known of what the screen shows. Returns "" where they are equal.
std::string Difference(const std::vector<std::string>& before, const std::vector<std::string>& now);

}  // namespace dt::cli
