// columns.h: text in columns of a terminal.
//
// Role:  pure functions.
// Tests: tests/common/columns_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

// Columns that `text` takes on a terminal, wide East Asian characters counted twice.
int DisplayWidth(std::string_view text);
// At most `width` columns; what is cut off is marked by an ellipsis.
std::string Truncate(std::string_view text, int width);

}  // namespace dt
