// trainer_look.h: whether this host has a trainer that starts, found out without starting it.
//
// Role:    dttrain needs LibTorch, which is installed apart from it. The loader lists a program's
//          libraries within milliseconds; to start it would take 0.4 s of each worker's start.
// Threads: any; blocks until the loader has ended.
// Tests:   tests/worker/shell/trainer_look_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace dt {

// Returns why the trainer cannot start, and the fix; "" if nothing speaks against it. nullopt: the
// loader needed longer than `patience`.
std::optional<std::string> WhyNoTrainer(const std::string& path, absl::Duration patience);

// Returns why a program does not start, from the loader's list of its libraries; "" if it does. The
// caller adds how this host gets LibTorch.
std::string FaultInList(std::string_view list, std::string_view program);

}  // namespace dt
