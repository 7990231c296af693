// pipeline_wait.h: how long the stages of a trial's pipeline waited for one another, measured and
// by the formula.
//
// Role:  pure; dtctl describe, /api/v1 and the page show the same.
// Units: shares of a step, from 0 to 1.
// Tests: tests/e2e/page_test.cc, tests/e2e/strategies_test.cc
#pragma once

#include <optional>

#include "dtrain/v1/control.pb.h"

namespace dt::api {

struct PipelineWait {
  double waited_ratio = 0;   // of the newest logged step, mean over the ranks
  double formula_ratio = 0;  // if all stages cost the same
};
// Returns nullopt if there is no pipeline, or no step is logged yet.
std::optional<PipelineWait> PipelineWaitOf(const ::dtrain::v1::TrialSummary& trial,
                                           const ::dtrain::v1::ExperimentSpec& file);

}  // namespace dt::api
