// retrying.h: what the end of an attempt costs its trial, and when the next one follows.
//
// Role:      pure.
// Tests:     tests/coordinator/core/attempts_test.cc, editing_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "coordinator/core/durable.h"
#include "coordinator/core/live.h"

namespace dt {

// Whether the end counts against a budget of retries.
Charge ChargeOf(const Attempt& recorded, v1::Cause cause);
// The backoff before the next attempt; nullopt: none follows. `tries`: with the end of the newest.
std::optional<absl::Duration> BackoffOf(const Trial& trial, const Tries& tries,
                                        const v1::Retries& retries, v1::Cause cause);
// The message of an end that would have been followed by another attempt: why none follows.
std::string WithLimit(const std::string& message, size_t attempts, const v1::Retries& retries);
// `message` with who had the attempt stop: its worker knows of orders alone.
std::string MessageOf(const LiveAttempt& attempt, const Attempt& recorded, v1::Cause cause,
                      const std::string& message);

}  // namespace dt
