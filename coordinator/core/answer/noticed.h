// noticed.h: within which times faults of a trial would be noticed, in words.
//
// Role:  pure. The limits are those of model/patience.h.
// Tests: tests/coordinator/core/noticed_test.cc
#pragma once

#include <string>

#include "coordinator/core/model/live.h"

namespace dt {

// Returns the times for a live attempt, by what its workers and its gang have shown:
// "; would be noticed within: a worker that ends 1s, a silent host 3s, …"; "" if it ends, or if a
// client runs it.
std::string NoticedText(const LiveState& live, const LiveAttempt& attempt);
// Returns the times for trials that have shown nothing yet.
std::string NoticedNote(const v1::Spec& spec);

}  // namespace dt
