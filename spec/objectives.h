// objectives.h: the metrics that a search compares trials by, and its constraints.
//
// Role:    pure; the coordinator, dtctl and the checks of a file use the same functions.
// Tests:   tests/spec/file/goals_file_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/model.pb.h"
#include "spec/constraint.h"

namespace dt::spec {

struct Objective {
  std::string metric;
  std::string goal;  // minimize or maximize; "": unknown
};

// Returns whether search.metrics has several objectives.
bool HasSeveralObjectives(const ::dtrain::v1::Search& search);
// Returns the objectives of search.metrics, or the only one of search.metric.
std::vector<Objective> ObjectivesOf(const ::dtrain::v1::Search& search);
// Returns "minimize val_loss and maximize accuracy".
std::string ObjectivesText(const ::dtrain::v1::Search& search);
// Constraints of a search, and the metrics whose newest values a trial keeps.
struct Watches {
  std::vector<Constraint> constraints;  // of a specification that Validate accepts; no others
  // Several objectives in their order, then those of constraints. Each once. Empty: one objective
  // without constraints.
  std::vector<std::string> metrics;
};
// Reads the constraints.
Watches WatchesOf(const ::dtrain::v1::Search& search);

// Metrics that dtrain measures for every trial, besides those of evaluations.
inline constexpr char kTrainingSeconds[] = "training_seconds";
inline constexpr char kTokensPerSecond[] = "tokens_per_second";
inline constexpr char kModelParameters[] = "model_parameters";
// Returns these and the peaks of memory in a step's row. All are known when an attempt has ended.
const std::vector<std::string>& MeasuredMetrics();
// Returns whether a model that dtrain trains may have this metric.
bool IsTrainerMetric(std::string_view metric);

}  // namespace dt::spec
