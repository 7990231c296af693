// error_text.h: the text of an error without the parts that differ from one try to the next.
//
// Role:      pure.
// Tests:     tests/coordinator/core/error_text_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

// Returns the text without folders, numbers, addresses and random names: two ends by one fault give
// the same text. A program's exit status and a signal's number stay.
std::string ErrorOf(std::string_view message);
// Returns whether a signal from outside ended the process: that is no fault of the program.
bool EndedFromOutside(std::string_view message);
// Returns whether the host's disk was full: that is no fault of the program.
bool IsFullDisk(std::string_view message);

}  // namespace dt
