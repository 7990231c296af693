// gpt2.h: the sizes of GPT-2 124M, for several tests.
#pragma once

#include "plan/cost.h"

namespace dt::plan {

inline constexpr double kGiB = 1 << 30;

inline constexpr ModelSize kGpt2{.layers = 12,
                                 .width = 768,
                                 .feed_forward = 3072,
                                 .learned_positions = 1024,
                                 .rows = 50257,
                                 .bias = true,
                                 .tied_head = true,
                                 .head_bias = false,
                                 .final_norm = true};

}  // namespace dt::plan
