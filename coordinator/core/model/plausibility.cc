#include "coordinator/core/model/plausibility.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/view.h"
#include "spec/table/field.h"

namespace dt {
namespace {

// Bound of the specification: beyond it a double is not exact.
constexpr auto kStepsMax = static_cast<uint64_t>(spec::kWholeMax);

// Returns why the step is beyond the target. Until an attempt has prepared, the target is unknown.
std::string Beyond(const Claimant& claimant, uint64_t step) {
  const uint64_t target = claimant.trial.target_steps;
  if (target == 0 || step <= target) return {};
  return absl::StrCat("step ", step, " is beyond the last, ", target);
}

std::string OtherStorage(const Claimant& claimant, const v1::CheckpointRef& checkpoint) {
  if (checkpoint.storage_id() == claimant.storage_id) return {};
  return absl::StrCat("a checkpoint on storage '", checkpoint.storage_id(), "'; its worker's is '",
                      claimant.storage_id, "'");
}

}  // namespace

std::string DoubtAbout(const Claimant& claimant, const v1::Prepared& prepared, int64_t max_steps) {
  if (claimant.program) {
    if (prepared.target_steps() == static_cast<uint64_t>(max_steps)) return {};
    return absl::StrCat("it prepared for ", prepared.target_steps(), " steps; steps is ",
                        max_steps);
  }
  if (prepared.target_steps() == 0) return "it prepared for no step";
  if (prepared.target_steps() > kStepsMax) {
    return absl::StrCat("it prepared for ", prepared.target_steps(), " steps; the limit is ",
                        kStepsMax);
  }
  if (max_steps <= 0 || prepared.target_steps() == static_cast<uint64_t>(max_steps)) return {};
  return absl::StrCat("it prepared for ", prepared.target_steps(), " steps; ",
                      claimant.program ? "steps" : "train.max_steps", " is ", max_steps);
}

std::string DoubtAbout(const Claimant& claimant, const v1::Running& running) {
  // If the checkpoint of its orders is damaged or gone, the trainer takes another one, which may be
  // newer.
  if (claimant.attempt.resume.has_value() || running.resumed_step() == 0) {
    return Beyond(claimant, running.resumed_step());
  }
  return absl::StrCat("it says that it resumed from step ", running.resumed_step(),
                      "; it was to begin anew");
}

std::string DoubtAbout(const Claimant& claimant, const v1::RowChunk& rows) {
  const uint64_t resumed = claimant.attempt.resumed_step;
  if (HasToldItsRows(claimant.attempt)) {
    return absl::StrCat("a row of step ", rows.first_step(), " after it finished");
  }
  // A program that counts from 0 reports a row of step 0.
  const bool begins = claimant.program && rows.first_step() == 0 && resumed == 0 &&
                      claimant.told.row == 0 && !claimant.told.first_row;
  if (rows.first_step() <= resumed && !begins) {
    return absl::StrCat("a row of step ", rows.first_step(), "; the attempt resumed from step ",
                        resumed);
  }
  if (rows.first_step() <= claimant.told.row && !begins) {
    return absl::StrCat("a row of step ", rows.first_step(), " after that of step ",
                        claimant.told.row);
  }
  return Beyond(claimant, rows.last_step());
}

std::string DoubtAbout(const Claimant& claimant, const v1::Evaluation& evaluation) {
  const uint64_t resumed = claimant.attempt.resumed_step;
  if (evaluation.step() < resumed) {
    return absl::StrCat("an evaluation of step ", evaluation.step(),
                        "; the attempt resumed from step ", resumed);
  }
  // Only evaluations of the newest attempt are taken, so its newest one is the trial's.
  const std::vector<KnownEvaluation>& taken = claimant.trial.evaluations;
  if (!taken.empty() && taken.back().attempt == claimant.id.attempt &&
      (evaluation.step() < taken.back().step ||
       (evaluation.step() == taken.back().step && !claimant.program))) {
    return absl::StrCat("an evaluation of step ", evaluation.step(), " after that of step ",
                        taken.back().step);
  }
  return Beyond(claimant, evaluation.step());
}

std::string DoubtAbout(const v1::LogChunk& log) {
  return log.text().empty() && log.dropped_lines() == 0 ? "a piece of its log without a line" : "";
}

std::string DoubtAbout(const Claimant& claimant, const v1::CheckpointRef& checkpoint) {
  const std::string expected = absl::StrCat(ToString(claimant.id.trial), "/a", claimant.id.attempt,
                                            "/step-", checkpoint.step());
  if (checkpoint.path() != expected) {
    return absl::StrCat("a checkpoint at '", checkpoint.path(), "'; its place is ", expected);
  }
  if (std::string doubt = OtherStorage(claimant, checkpoint); !doubt.empty()) return doubt;
  uint64_t newest = claimant.told.checkpoint;
  for (const KnownCheckpoint& known : claimant.trial.checkpoints) {
    if (known.attempt == claimant.id.attempt) newest = std::max(newest, known.ref.step());
  }
  if (checkpoint.step() <= newest) {
    return absl::StrCat("a checkpoint of step ", checkpoint.step(), " after that of step ", newest);
  }
  return Beyond(claimant, checkpoint.step());
}

std::string DoubtAbout(const Claimant& claimant, const v1::Ended& ended, int32_t rank) {
  const uint64_t target = claimant.trial.target_steps;
  if (!v1::Cause_IsValid(ended.cause()) || ended.cause() == v1::CAUSE_UNSPECIFIED) {
    return absl::StrCat("it ended for cause ", static_cast<int>(ended.cause()));
  }
  if (rank != 0) return {};
  // Only the coordinator stops a trial early, and it has not.
  if (ended.cause() == v1::CAUSE_STOPPED_EARLY) return "it says that it was stopped early";
  if (ended.cause() != v1::CAUSE_FINISHED) return {};
  if (!claimant.attempt.ran) return "it says that it finished, and it never trained";
  if (ended.step() == target) return {};
  if (claimant.program || claimant.timed) return Beyond(claimant, ended.step());
  return absl::StrCat("it says that it finished at step ", ended.step(), " of ", target);
}

std::string DoubtAbout(const Claimant& claimant, const v1::AttemptStatus& status) {
  const uint64_t most = std::max({status.step(), status.latest().step(), status.holds_step()});
  return Beyond(claimant, most);
}

std::string DoubtAboutRemoval(const Claimant& claimant, const v1::CheckpointRef& removed,
                              uint32_t saved_by) {
  if (saved_by > claimant.id.attempt) {
    return absl::StrCat("that files of the later attempt ", saved_by, " are gone");
  }
  return OtherStorage(claimant, removed);
}

}  // namespace dt
