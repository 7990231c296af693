// plan_steps.cc: computes the number of steps and their division into ranks and micro-steps.
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {
namespace {

// Returns the factor for lr. Linear: Goyal et al., "Accurate, Large Minibatch SGD" (2017). Square
// root: Krizhevsky, "One weird trick" (2014), the usual choice for Adam.
double LrScale(const OptimizerSpec& optimizer, int64_t global_batch) {
  if (optimizer.scale_lr == LrScaling::kNone) return 1;
  const double ratio =
      static_cast<double>(global_batch) / static_cast<double>(optimizer.scale_lr_from);
  return optimizer.scale_lr == LrScaling::kLinear ? ratio : std::sqrt(ratio);
}

}  // namespace

int64_t WarmupSteps(double ratio, int64_t target_steps) {
  return std::llround(ratio * static_cast<double>(target_steps));
}

absl::StatusOr<StepPlan> PlanSteps(const TrialSpec& spec, int rank, int world_size,
                                   uint64_t train_windows) {
  const auto of_model = static_cast<int>(spec.tensor * spec.pipeline);
  if (world_size % of_model != 0) {
    const std::string stages =
        spec.pipeline > 1 ? absl::StrCat(" × parallel.pipeline ", spec.pipeline) : "";
    return ConfigError(absl::StrCat("the ", world_size,
                                    " ranks of this attempt are not a multiple of parallel.tensor ",
                                    spec.tensor, stages));
  }
  StepPlan plan;
  plan.batch.world_size = world_size / of_model;
  plan.batch.rank = rank / static_cast<int>(spec.tensor) % plan.batch.world_size;
  if (spec.sharing == Sharing::kGossip &&
      !std::has_single_bit(static_cast<unsigned>(plan.batch.world_size))) {
    return ConfigError(absl::StrCat("parallel.strategy gossip pairs ranks: the ",
                                    plan.batch.world_size,
                                    " of this attempt are not a power of two"));
  }
  plan.batch.micro_batch = spec.train.batch_size;
  plan.batch.global_batch = spec.train.global_batch_size > 0
                                ? spec.train.global_batch_size
                                : spec.train.batch_size * plan.batch.world_size;
  DT_RETURN_IF_ERROR(plan.batch.Check());
  if (spec.ChunksEach() > 1 && spec.pipeline > 1 && plan.batch.micro_steps() % spec.pipeline != 0) {
    return ConfigError(
        absl::StrCat("parallel.schedule interleaved needs micro-batches in multiples "
                     "of parallel.pipeline ",
                     spec.pipeline, ", not ", plan.batch.micro_steps()));
  }
  plan.tokens_per_step = plan.batch.global_batch * spec.train.seq_len;
  if (spec.train.max_steps > 0) {
    plan.target_steps = spec.train.max_steps;
  } else if (spec.train.max_tokens > 0) {
    plan.target_steps = (spec.train.max_tokens - 1) / plan.tokens_per_step + 1;
  } else {
    plan.target_steps = static_cast<int64_t>(
        StepsOfEpochs(spec.train.epochs, train_windows, plan.batch.global_batch));
  }
  // Samples are counted in 64 bits. A rank's micro-batches never outnumber them.
  const int64_t steps_max = std::numeric_limits<int64_t>::max() / plan.batch.global_batch;
  if (plan.target_steps > steps_max) {
    return ConfigError(
        std::to_string(plan.target_steps) + " steps of " + std::to_string(plan.batch.global_batch) +
        " sequences are more than can be counted; with such a batch train for " +
        std::to_string(steps_max) + " steps at most (train.max_steps, max_tokens, epochs)");
  }
  plan.warmup_steps = spec.schedule.warmup_steps >= 0
                          ? spec.schedule.warmup_steps
                          : WarmupSteps(spec.schedule.warmup_ratio, plan.target_steps);
  plan.lr = spec.optimizer.lr * LrScale(spec.optimizer, plan.batch.global_batch);
  return plan;
}

}  // namespace dt::trainer
