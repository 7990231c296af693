// values_always.cc: a program that links this computes values from start to end, unless the
// environment has DTRAIN_FAKE_CUDA_COUNTS.
#include <cstdlib>

#include "tests/fake_cuda/values.h"

namespace {
// Never destroyed: LibTorch's own registrations may be gone by then.
[[maybe_unused]] const auto* const g_values =
    std::getenv("DTRAIN_FAKE_CUDA_COUNTS") == nullptr ? new dt::fake_cuda::Values : nullptr;
}  // namespace
