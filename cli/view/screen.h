// screen.h: the bytes that bring a terminal from one full screen of lines to the next.
//
// Role:   pure. Only lines that differ are written, so that nothing flickers and a frame over ssh
//         is small. The caller writes all bytes at once.
// Source: ECMA-48; the alternate screen is xterm's mode 1049.
// Tests:  tests/cli/view/top_keys_test.cc; tests/cli/commands/top_terminal_test.cc, at a terminal
#pragma once

#include <string>
#include <vector>

namespace dt::cli {

// Enters the alternate screen and hides the cursor; leaves it again.
inline constexpr char kEnterScreen[] = "\x1b[?1049h\x1b[?25l\x1b[2J";
inline constexpr char kLeaveScreen[] = "\x1b[0m\x1b[?25h\x1b[?1049l";

// Returns the bytes from `before` to `now`, both rendered and at most as wide as the screen; "" where
// they are equal. An empty `before` means an unknown screen.
std::string Difference(const std::vector<std::string>& before, const std::vector<std::string>& now);

}  // namespace dt::cli
