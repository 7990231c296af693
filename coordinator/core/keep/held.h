// held.h: workers that take no work: drained, or resting in quarantine.
//
// Tests: tests/coordinator/core/drains_test.cc
#pragma once

#include <string>

#include "common/device.h"
#include "coordinator/core/model/state.h"

namespace dt {

// Returns whether the worker takes no work: drained, or resting in quarantine.
bool IsHeld(const State& state, const std::string& worker);
WorkerState StateOf(const State& state, const Worker& worker);
// Returns ", 2 more drained by ann" for connected workers of this kind that take no work, or "".
std::string HeldText(const State& state, DeviceKind device);

}  // namespace dt
