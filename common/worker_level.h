// worker_level.h: what a coordinator may ask of a worker and its trainer.
//
// Role: a number that grows with each field of an experiment, or order, that a worker has to know to
//       train what was meant. One that knows less would leave it out and train something else.
//       0 is version 0.1.0, whose workers tell none.
#pragma once

#include <cstdint>

namespace dt {

// Of this version. Raise it together with such a field, and write down which version has it first.
inline constexpr uint32_t kWorkerLevel = 1;
inline constexpr char kWorkerLevelSince[] = "0.2.0";

}  // namespace dt
