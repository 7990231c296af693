// blame.h: which crashes speak against a worker.
//
// A crash alone says nothing: a program may be at fault as well as the worker. It speaks against
// the worker once the same trial, or a later attempt of the same experiment, got on elsewhere. It
// speaks for the worker once the trial crashes elsewhere too, or the experiment has the same error
// on a worker that has got on since. A fault that the worker tells of needs no proof. Where a gang
// crashed nobody knows which member is at fault: there only the same trial counts.
//
// Role:      pure; reads durable facts alone, so that a coordinator that was killed decides the
//            same.
// Cost:      a few trials for what is open; all attempts of an experiment for what may be proved.
// Tests:     tests/coordinator/core/blame_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/model/durable.h"

namespace dt {

// Returns those of the ends on `worker` that speak against it.
std::vector<AttemptId> Proved(const DurableState& state, const std::string& worker,
                              const std::vector<CountedEnd>& ends);
// Returns those of the ends on `worker` which nothing refutes.
std::vector<AttemptId> NotRefuted(const DurableState& state, const std::string& worker,
                                  const std::vector<AttemptId>& ends);
// Whether so many ends are enough for a quarantine: several of several trials, the first time;
// after a rest one is enough.
enum class Before : uint8_t { kNever, kQuarantined };
bool Suffice(const std::vector<AttemptId>& ends, Before before);

}  // namespace dt
