#include "api/pipeline_wait.h"

#include "spec/collectives.h"
#include "spec/sizes.h"
#include "spec/spec.h"
#include "spec/step_columns.h"

namespace dt::api {

namespace v1 = ::dtrain::v1;

std::optional<PipelineWait> PipelineWaitOf(const v1::TrialSummary& trial,
                                           const v1::ExperimentSpec& file) {
  const v1::StepRow& row = trial.latest();
  const double waited = spec::StageWaitSeconds(row);
  double phases = 0;
  for (const spec::StepColumn& column : spec::kPartsOfStep) phases += column.Of(row);
  if (waited < 0 || !(phases > 0)) return std::nullopt;
  const auto& assignments = trial.assignments();
  const auto spec = spec::ResolveTrial(file, {assignments.begin(), assignments.end()});
  if (!spec.ok()) return std::nullopt;
  return PipelineWait{waited / phases, spec::BubbleOf(*spec)};
}

}  // namespace dt::api
