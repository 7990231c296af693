// json_lines.h: the text of one line of a JSON lines file.
//
// Role:   pure. A line is an object; the text is the string in one of its fields, at the top level.
// Errors: DataError, saying what is wrong with the line; the caller knows its file and number.
// Tests:  tests/corpus/json_lines_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/status.h"

namespace dt::corpus {

// A longer line is no document but a file with its line ends lost.
inline constexpr size_t kJsonLineBytesMax = size_t{100} << 20;

// True for the names of such files: .jsonl and .json-lines.
bool IsJsonLines(std::string_view path);
// When a field appears twice the last one counts, as in most readers.
absl::StatusOr<std::string> TextOfJsonLine(std::string_view line, const std::string& field);

}  // namespace dt::corpus
