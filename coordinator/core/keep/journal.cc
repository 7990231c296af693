#include "coordinator/core/keep/journal.h"

#include <utility>

#include "common/check.h"
#include "common/mutant.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/keep/progress.h"
#include "coordinator/core/keep/search_index.h"

namespace dt {

void Journal(Turn& turn, v1::Record record) {
  record.set_wall_time_ms(turn.now.wall_ms);
  const absl::Status status = Apply(turn.durable(), record);
  DT_CHECK_OK(status);
  UpdateProgress(turn.state, record);
  Reindex(turn.state, record);
  if (Mutated(Mutant::kRecordDropped) && record.has_evaluation()) return;
  turn.effects.records.push_back(std::move(record));
}

}  // namespace dt
