// entropy.h: random bits for the events, from the kernel: the core has none of its own.
//
// Threads: thread-safe; each thread keeps a small reserve.
#pragma once

#include <array>
#include <cstdint>

namespace dt {

std::array<uint64_t, 2> FreshEntropy();

}  // namespace dt
