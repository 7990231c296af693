#include "coordinator/core/keep/stops.h"

#include <utility>

#include "common/limits.h"
#include "common/text.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/orders.h"

namespace dt {

bool AskToStop(Turn& turn, LiveAttempt& attempt, v1::StopRequested::Why why,
               const std::string& reason, const StopFor& what) {
  if (!attempt.Open() || FindAttempt(turn.durable(), attempt.id)->AskedToStop()) return false;
  v1::Record record;
  SetId(*record.mutable_stop_requested(), attempt.id);
  record.mutable_stop_requested()->set_why(why);
  record.mutable_stop_requested()->set_reason(CleanText(reason, limits::kTextBytes));
  record.mutable_stop_requested()->set_for_experiment(what.trial.experiment);
  record.mutable_stop_requested()->set_for_trial(what.trial.trial);
  record.mutable_stop_requested()->set_slots(what.slots);
  Journal(turn, std::move(record));
  if (attempt.saving) return true;  // a member drains: its gang saves already
  attempt.saving = true;
  MarkMembersDue(turn.live(), attempt);
  return true;
}

}  // namespace dt
