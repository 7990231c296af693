// entropy.h: random bits for events, from the kernel. The core has no random source of its own.
//
// Threads: thread-safe; each thread keeps a small reserve.
#pragma once

#include <array>
#include <cstdint>

namespace dt {

std::array<uint64_t, 2> FreshEntropy();

}  // namespace dt
