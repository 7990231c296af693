// worker_level.h: the level of features that a coordinator may ask of a worker and its trainer.
//
// Role:  a number that grows with each field of an experiment or of an order, and each word of such
//        a field, that a worker must know to train as meant. An older worker would ignore it and
//        train something else. 0 is version 0.1.0, whose workers report no level.
// Tests: tests/proto/worker_level_test.cc, which checks each new field
#pragma once

#include <cstdint>

namespace dt {

inline constexpr uint32_t kWorkerLevel = 2;  // of this version

}  // namespace dt
