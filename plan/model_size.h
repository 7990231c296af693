// model_size.h: the sizes of a transformer that determine its cost and how its layers are divided.
#pragma once

#include <cstdint>

namespace dt::plan {

struct ModelSize {
  int64_t layers = 0;
  int64_t width = 0;
  int64_t feed_forward = 0;
  int64_t learned_positions = 0;  // 0: positions have no parameters
  int64_t rows = 0;               // of the embedding
  bool bias = false;
  bool tied_head = false;
  bool head_bias = false;
  bool final_norm = false;
};

}  // namespace dt::plan
