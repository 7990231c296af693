// actions.cc: see actions.h.
#include "worker/trainer/parallel/actions.h"

#include "plan/stages.h"

namespace dt::trainer {
namespace {

using Kind = Action::Kind;

// Returns the n-th forward or backward pass of a stage. A turn takes as many micro-steps as there
// are stages through each chunk in order: forward from the first chunk to the last, backward from
// the last to the first.
Action Nth(Kind kind, int64_t n, const PipelineShape& shape) {
  const int64_t stages = shape.chunks == 1 ? 1 : shape.stages;
  const int64_t turn = n / (stages * shape.chunks), within = n % (stages * shape.chunks);
  const int64_t chunk = within / stages;
  return {.kind = kind,
          .micro_step = turn * stages + within % stages,
          .chunk = kind == Kind::kForward ? chunk : shape.chunks - 1 - chunk};
}

}  // namespace

std::vector<Action> StepActions(const PipelineShape& shape, int64_t micro_steps, int stage) {
  const int64_t passes = micro_steps * shape.chunks;
  const auto order = shape.schedule == PipelineSchedule::kGPipe ? plan::PassOrder::kForwardFirst
                                                                : plan::PassOrder::kAlternating;
  const int64_t warm_up = plan::WarmUpPasses(order, shape.stages, shape.chunks, stage, passes);
  std::vector<Action> actions;
  for (int64_t n = 0; n < warm_up; ++n) actions.push_back(Nth(Kind::kForward, n, shape));
  for (int64_t n = 0; n < passes; ++n) {
    if (warm_up + n < passes) actions.push_back(Nth(Kind::kForward, warm_up + n, shape));
    actions.push_back(Nth(Kind::kBackward, n, shape));
    actions.back().completes = actions.back().micro_step == micro_steps - 1;
  }
  actions.back().last = true;
  return actions;
}

}  // namespace dt::trainer
