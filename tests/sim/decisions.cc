#include "tests/sim/decisions.h"

#include "absl/strings/str_cat.h"

namespace dt::sim {

namespace v1 = ::dtrain::v1;

std::vector<std::string> DecisionsOf(const std::vector<v1::Record>& journal) {
  std::vector<std::string> decisions;
  for (v1::Record record : journal) {
    record.clear_wall_time_ms();
    if (record.has_rung_decided()) record.mutable_rung_decided()->clear_attempt();
    if (record.has_trial_mutated()) record.mutable_trial_mutated()->clear_checkpoint();
    if (record.has_trials_added() || record.has_rung_decided() || record.has_trial_mutated() ||
        record.has_search_ended()) {
      decisions.push_back(record.ShortDebugString());
    }
    const v1::AttemptEnded& ended = record.attempt_ended();
    if (record.has_attempt_ended() && ended.retry_after_ms() < 0) {
      decisions.push_back(absl::StrCat("trial ", ended.trial(), " ended: ",
                                       v1::Cause_Name(ended.cause()), " ", ended.message()));
    }
  }
  return decisions;
}

}  // namespace dt::sim
