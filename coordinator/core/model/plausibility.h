// plausibility.h: what a worker's report says of an attempt, held against what is known of it.
//
// Role:    pure. A worker that errs or lies must not write what cannot be: an end before the last
//          step, steps beyond the target or back, a checkpoint of another trial.
// Errors:  why it cannot be true, in words for the operator; "" where it may be.
// Tests:   tests/coordinator/core/plausibility_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/durable.h"
#include "coordinator/core/model/live.h"
#include "dtrain/v1/fleet.pb.h"

namespace dt {

// The rank that speaks, and of what.
struct Claimant {
  AttemptId id;
  const Trial& trial;
  const Attempt& attempt;
  const std::string& storage_id;  // of the worker
  ToldSteps told;
  // A program says when it has finished, whatever number of steps it was to make; 0: it said none.
  bool program = false;
  bool timed = false;  // train.max_time may end it before its last step
};

// `max_steps` of the specification, or of a program `steps`; 0: the target follows from the data, a
// program has none.
std::string DoubtAbout(const Claimant& claimant, const v1::Prepared& prepared, int64_t max_steps);
std::string DoubtAbout(const Claimant& claimant, const v1::Running& running);
// An attempt tells of a step's row, evaluation and checkpoint once each, and its steps rise: what
// it can tell is bounded by its target.
std::string DoubtAbout(const Claimant& claimant, const v1::RowChunk& rows);
std::string DoubtAbout(const Claimant& claimant, const v1::Evaluation& evaluation);
std::string DoubtAbout(const v1::LogChunk& log);
std::string DoubtAbout(const Claimant& claimant, const v1::CheckpointRef& checkpoint);
// `rank`: what others than rank 0 say of having finished decides nothing.
std::string DoubtAbout(const Claimant& claimant, const v1::Ended& ended, int32_t rank);
std::string DoubtAbout(const Claimant& claimant, const v1::AttemptStatus& status);
// Files are gone from a storage: only who sees it can tell, and no attempt of those of a later one.
// `saved_by`: the attempt that registered them; 0: none is known.
std::string DoubtAboutRemoval(const Claimant& claimant, const v1::CheckpointRef& removed,
                              uint32_t saved_by);

}  // namespace dt
