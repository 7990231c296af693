// error_text.h: what an error's text says, without what differs from one try to the next.
//
// Role:      pure.
// Tests:     tests/coordinator/core/error_text_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

// The text with folders, numbers, addresses and random names left out: two ends of one fault give
// the same. The status that a program exits with, and a signal's number, stay.
std::string ErrorOf(std::string_view message);
// A process was ended by a signal that others send: to be killed is no fault of a program's.
bool EndedFromOutside(std::string_view message);
// Something of the host, and no fault of the program: its disk is full.
bool IsFullDisk(std::string_view message);

}  // namespace dt
