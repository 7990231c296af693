// attempt_options.h: the options of an attempt that its specification does not have.
#pragma once

#include <cstdint>

namespace dt::trainer {

struct AttemptOptions {
  uint16_t store_port = 0;  // where rank 0's store listens; 0: the system chooses
  // What a rank without peers does. Through the Reducer it costs a copy of the gradients; tests
  // compare the two.
  enum class Alone { kPlain, kDataParallel } alone = Alone::kPlain;
};

}  // namespace dt::trainer
