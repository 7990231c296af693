// json_lines.h: extracts the text from one line of a JSON lines file.
//
// Role:   pure. A line is an object; the text is the string in one of its fields, at the top level.
// Errors: DataError with the reason; the caller has the file and the line's number.
// Tests:  tests/corpus/json_lines_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/status.h"

namespace dt::corpus {

// A longer line is not a document but a file whose line ends were lost.
inline constexpr size_t kJsonLineBytesMax = size_t{100} << 20;

// Returns true for such files: .jsonl and .json-lines.
bool IsJsonLines(std::string_view path);
// If a field appears twice the last one counts, as in most parsers.
absl::StatusOr<std::string> TextOfJsonLine(std::string_view line, const std::string& field);

}  // namespace dt::corpus
