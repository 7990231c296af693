// failure.h: turns LibTorch's exceptions into our errors. Every catch of the trainer ends here.
//
// Tests: tests/worker/trainer/model/model_test.cc
#pragma once

#include <string>

#include "common/status.h"

namespace dt::trainer {

// Returns the error for the exception being handled. REQUIRES: called in a catch block.
absl::Status ErrorOfException();

// Runs `body`, which returns a Status or StatusOr, and turns an exception into an error.
template <typename Body>
auto Guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return ErrorOfException();
  }
}

// Returns the message for the user about an allocation that failed with the text `raw`: the amount,
// the limit, and what to change. `bound` is a phrase like "the 700 MiB that --memory-limit allows";
// `whose` names the rank, like "rank 1 of 2", with details.
std::string DescribeOutOfMemory(const std::string& raw, const std::string& bound,
                                const std::string& whose);

}  // namespace dt::trainer
