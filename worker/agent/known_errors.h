// known_errors.h: fixes for the errors by which most programs end.
//
// Role:  pure. A table of parts of lines as Python, PyTorch, CUDA, NCCL, JAX and
//        shells print them.
// Tests: tests/worker/agent/known_errors_test.cc
#pragma once

#include <string_view>

namespace dt {

// Returns a sentence without a full stop, such as "install it for the interpreter …"; "" for an
// error that is not in the table.
std::string_view FixFor(std::string_view error);

// Returns whether a device's memory was too small. Such an end comes again with the same values.
bool SaysDeviceMemoryIsFull(std::string_view error);

}  // namespace dt
