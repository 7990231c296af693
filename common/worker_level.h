// worker_level.h: what a coordinator may ask of a worker and its trainer.
//
// Role:  a number that grows with each field of an experiment or of an order, and each word of such
//        a field, that a worker has to know to train what was meant. One that knows less would
//        leave it out and train something else. 0 is version 0.1.0, whose workers tell none.
// Tests: tests/proto/worker_level_test.cc, which asks of each new field whether it is one
#pragma once

#include <cstdint>

namespace dt {

inline constexpr uint32_t kWorkerLevel = 2;  // of this version

}  // namespace dt
