// plausibility.h: compares a worker's report on an attempt with what is known of the attempt.
//
// Role:    pure. A faulty or lying worker must not record impossible facts: an end before the last
//          step, steps beyond the target or backwards, a checkpoint of another trial.
// Errors:  functions return why the report cannot be true, in words for the operator; "": it may
//          be.
// Tests:   tests/coordinator/core/plausibility_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/durable.h"
#include "coordinator/core/model/live.h"
#include "dtrain/v1/fleet.pb.h"

namespace dt {

// The reporting rank, and its attempt.
struct Claimant {
  AttemptId id;
  const Trial& trial;
  const Attempt& attempt;
  const std::string& storage_id;  // of the worker
  ReportedSteps told;
  // A program reports itself when it has finished, whatever its number of steps.
  bool program = false;
  bool timed = false;  // train.max_time may end it before its last step
};

// Checks the report. `max_steps` is train.max_steps, or `steps` of a program; 0: the target follows
// from the data, or the program has no target.
std::string DoubtAbout(const Claimant& claimant, const v1::Prepared& prepared, int64_t max_steps);
std::string DoubtAbout(const Claimant& claimant, const v1::Running& running);
// Checks the report. An attempt reports the row, evaluation and checkpoint of a step once each, and
// its steps rise: so its target bounds the number of its reports.
std::string DoubtAbout(const Claimant& claimant, const v1::RowChunk& rows);
std::string DoubtAbout(const Claimant& claimant, const v1::Evaluation& evaluation);
std::string DoubtAbout(const v1::LogChunk& log);
std::string DoubtAbout(const Claimant& claimant, const v1::CheckpointRef& checkpoint);
// Checks the end. Only rank 0 decides that the attempt finished.
std::string DoubtAbout(const Claimant& claimant, const v1::Ended& ended, int32_t rank);
std::string DoubtAbout(const Claimant& claimant, const v1::AttemptStatus& status);
// Checks a report that files are gone from a storage. Only a worker that sees the storage can know,
// and no attempt knows files of a later one. `saved_by`: the attempt that registered them; 0:
// unknown.
std::string DoubtAboutRemoval(const Claimant& claimant, const v1::CheckpointRef& removed,
                              uint32_t saved_by);

}  // namespace dt
