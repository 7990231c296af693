// attempt_options.h: options of an attempt that are not in its specification.
#pragma once

#include <cstdint>

namespace dt::trainer {

struct AttemptOptions {
  uint16_t store_port = 0;  // port of rank 0's store; 0: the system chooses
  // Strategy of a rank without peers. Going through the Reducer costs a copy of the gradients;
  // tests compare the two.
  enum class Alone { kPlain, kDataParallel } alone = Alone::kPlain;
};

}  // namespace dt::trainer
