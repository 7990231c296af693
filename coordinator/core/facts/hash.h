// hash.h: SHA-256 over durable state, which tests of replay compare; and the tokens of attempts.
//
// Tests: tests/coordinator/core/apply_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/ids.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// Returns hex, over every durable field in a fixed order: equal states have equal hashes.
std::string HashOf(const DurableState& state);

// Returns a token, random by the entropy of the event. Tokens of one event differ by their
// attempts.
AttemptToken MakeToken(const std::array<uint64_t, 2>& entropy, const AttemptId& id);

}  // namespace dt
