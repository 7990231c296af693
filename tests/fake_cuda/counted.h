// counted.h: which calls of a step are work of the device, and their amount.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/fake_cuda/fake_cuda.h"

namespace dt::fake_cuda {

inline bool IsWork(const Call& call) {
  return call.kind == Kind::kLaunch || call.kind == Kind::kProduct || call.kind == Kind::kCopy ||
         call.kind == Kind::kFill || (call.kind == Kind::kPlan && call.what == "run");
}

template <typename Predicate>
size_t CountIf(const std::vector<Call>& calls, const Predicate& predicate) {
  return static_cast<size_t>(std::count_if(calls.begin(), calls.end(), predicate));
}

inline size_t CountOf(const std::vector<Call>& calls, Kind kind) {
  return CountIf(calls, [kind](const Call& call) { return call.kind == kind; });
}

}  // namespace dt::fake_cuda
