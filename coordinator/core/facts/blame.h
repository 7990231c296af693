// blame.h: decides which crashes speak against a worker.
//
// A crash alone proves nothing: the program may be at fault as well as the worker. It speaks
// against the worker once the same trial, or a later attempt of the same experiment, makes progress
// elsewhere. It speaks for the worker once the trial crashes elsewhere too, or the experiment has
// the same error on a worker that has made progress since. A fault that the worker reports itself
// needs no proof, unless the experiment meets the same fault elsewhere. If a gang crashed, nobody
// knows which member is at fault: then only the same trial counts.
//
// Role:      pure; reads only durable facts, so that a restarted coordinator decides the same.
// Cost:      a few trials for an open end; all attempts of an experiment for one that may be
//            proved.
// Tests:     tests/coordinator/core/blame_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/model/durable.h"

namespace dt {

// Returns the ends on `worker` that speak against it.
std::vector<AttemptId> Proved(const DurableState& state, const std::string& worker,
                              const std::vector<CountedEnd>& ends);
// Returns the ends on `worker` that nothing refutes.
std::vector<AttemptId> NotRefuted(const DurableState& state, const std::string& worker,
                                  const std::vector<AttemptId>& ends);
// Whether the worker was in quarantine before. The first time, a quarantine needs several ends of
// several trials; after a rest one end is enough.
enum class PriorQuarantine : uint8_t { kNever, kQuarantined };
bool Suffice(const std::vector<AttemptId>& ends, PriorQuarantine before);

}  // namespace dt
