// search_text.h: texts on the search of an experiment: method, number of trials, varied parameters,
// and rungs.
//
// Role:  pure.
// Tests: tests/cli/commands/submit_test.cc, tests/cli/commands/describe_command_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/view/json.h"
#include "dtrain/v1/control.pb.h"
#include "spec/spec.h"

namespace dt::cli {

// Returns "grid, minimize val_loss" or "asha (random), minimize val_loss, until it is 3.1".
std::string MethodText(const spec::v1::ExperimentSpec& spec);
// Returns a note in brackets that a program's goal was assumed; "" if the file has it.
std::string AssumedText(const spec::v1::ExperimentSpec& spec);
// Returns "The trial with the lowest val_loss is the best."
std::string BestText(const spec::v1::ExperimentSpec& spec);
// Returns "8, 16, 32", "1.0e-5 … 0.01, log" or "128 … 1024 by 64".
std::string VariesText(const spec::v1::Parameter& parameter);

// Returns the reason that a search proposes no trial, where no trial runs or waits: "a worker: none
// is connected; …". Returns "" if no reason is visible here.
std::string WaitsText(const spec::v1::ExperimentSpec& spec,
                      const spec::v1::ExperimentSummary& experiment,
                      const std::vector<spec::v1::WorkerSummary>& workers);

// Returns whether trainers will still validate, so that the reported metrics need no check.
bool AwaitsValidation(const spec::v1::ExperimentSummary& experiment);
// Returns why no trial has the metric that trials are compared by, and what to do; "" if it may
// still come. `reported` has the metrics that were reported instead.
std::string NoMetricText(const spec::v1::ExperimentSummary& experiment,
                         const std::vector<std::string>& reported);

struct SearchPlan {
  size_t trials = 0;  // planned; with bayes the maximum
  std::vector<std::string> lines;
  Json json;  // trials, method, metric, goal, varies, rungs
};
// Returns the summary. `expanded` is the number of trials at the start.
SearchPlan PlanOf(const spec::v1::ExperimentSpec& spec, size_t expanded);

}  // namespace dt::cli
