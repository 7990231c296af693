// failure.h: LibTorch's exceptions as our errors. Every try of the trainer ends here.
#pragma once

#include "common/result.h"

namespace dt::trainer {

// The error that the exception being handled stands for. REQUIRES: called in a catch block.
Error ErrorOfException();

// Runs `body`, which returns a Result, and turns what it throws into an Error.
template <typename Body>
auto Guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return ErrorOfException();
  }
}

}  // namespace dt::trainer
