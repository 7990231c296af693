// search_text.h: what an experiment searches, for people: who chooses its trials, how many there
// are to be, what varies, and where rungs stand.
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

// "grid, minimize val_loss", "asha (random), minimize val_loss, until it is 3.1"
std::string MethodText(const spec::v1::ExperimentSpec& spec);
// Says in brackets that a program's goal was assumed; "": the file says it.
std::string AssumedText(const spec::v1::ExperimentSpec& spec);
// "The trial with the lowest val_loss is the best."
std::string BestText(const spec::v1::ExperimentSpec& spec);
// "8, 16, 32", "1.0e-5 … 0.01, log", "128 … 1024 by 64"
std::string VariesText(const spec::v1::Parameter& parameter);

// What a search that proposes its trials waits for where none runs or waits itself: "a worker: none
// is connected; …". "": it waits for nothing that can be seen from here.
std::string WaitsText(const spec::v1::ExperimentSpec& spec,
                      const spec::v1::ExperimentSummary& experiment,
                      const std::vector<spec::v1::WorkerSummary>& workers);

// Whether its trainers have validations before them, so that nobody need look what was reported.
bool AwaitsValidation(const spec::v1::ExperimentSummary& experiment);
// Why no trial has the metric that they are compared by, and what to do; `reported`: what they
// reported instead. "": it may still come.
std::string NoMetricText(const spec::v1::ExperimentSummary& experiment,
                         const std::vector<std::string>& reported);

struct SearchPlan {
  size_t trials = 0;  // that there are to be; under bayes at most
  std::vector<std::string> lines;
  Json json;  // trials, method, metric, goal, varies, rungs
};
// `expanded`: how many trials the experiment begins with.
SearchPlan PlanOf(const spec::v1::ExperimentSpec& spec, size_t expanded);

}  // namespace dt::cli
