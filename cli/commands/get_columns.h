// get_columns.h: the columns of `dtctl get experiments | trials | workers | checkpoints`.
//
// Role:  pure.
// Tests: tests/cli/commands/
#pragma once

#include <string>
#include <vector>

#include "cli/view/list_columns.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

ListColumns<v1::ExperimentSummary> ExperimentColumns();
// `metric` gets a column unless it is empty, and so does each of several objectives.
ListColumns<v1::TrialSummary> TrialColumns(const std::vector<v1::TrialSummary>& trials,
                                           const std::string& metric,
                                           const std::vector<std::string>& objectives = {});
ListColumns<v1::WorkerSummary> WorkerColumns();

struct ListedCheckpoint {
  v1::CheckpointSummary summary;
  bool gone = false;  // a user removed it by hand: a trainer reports what it removes
};

ListColumns<ListedCheckpoint> CheckpointColumns();
Json ListedJson(const ListedCheckpoint& one);

}  // namespace dt::cli
