// columns.h: text in columns of a terminal.
//
// Role:  pure functions.
// Tests: tests/common/columns_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

// Returns the columns that `text` takes on a terminal; wide East Asian characters count twice.
int DisplayWidth(std::string_view text);
// Cuts `text` to at most `width` columns; an ellipsis marks the cut.
std::string Truncate(std::string_view text, int width);

}  // namespace dt
