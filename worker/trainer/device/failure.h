// failure.h: LibTorch's exceptions as our errors. Every try of the trainer ends here.
//
// Tests: tests/worker/trainer/model/model_test.cc
#pragma once

#include <string>

#include "common/status.h"

namespace dt::trainer {

// The error that the exception being handled stands for. REQUIRES: called in a catch block.
absl::Status ErrorOfException();

// Runs `body`, which returns a Status or StatusOr, and turns what it throws into an error.
template <typename Body>
auto Guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return ErrorOfException();
  }
}

// What a person is told of an allocation that failed with the words `raw`: how much it was, what
// there is, what to change. `bound` as in "the 700 MiB that --memory-limit allows"; `whose`: "rank 1
// of 2", and more of it.
std::string DescribeOutOfMemory(const std::string& raw, const std::string& bound,
                                const std::string& whose);

}  // namespace dt::trainer
