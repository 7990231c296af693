// hash.h: sha256 over durable state, the oracle of replay; and the tokens of attempts.
//
// Tests: tests/coordinator/core/apply_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/ids.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// Hex, over every durable field in a fixed order: equal states have equal hashes.
std::string HashOf(const DurableState& state);

// Random because the entropy of its event is; tokens of one event differ because the attempts do.
AttemptToken MakeToken(const std::array<uint64_t, 2>& entropy, const AttemptId& id);

}  // namespace dt
