// step.cc: data, forward, backward, optimizer.
#include "worker/trainer/run/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/draw.h"
#include "worker/trainer/device/download.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/trial/schedule.h"

namespace dt::trainer {

Stepper::Stepper(const Parts& parts)
    : p_(parts),
      compute_(ResolveCompute(parts.spec.compute, parts.device.Torch().type())),
      actions_(StepActions(parts.plan.batch.micro_steps())),
      nonfinite_(parts.spec.nonfinite,
                 parts.loss_scale == nullptr ? NonFiniteSteps::Loss::kPlain
                                             : NonFiniteSteps::Loss::kScaled,
                 parts.device.Torch()),
      early_gradients_{parts.timeline, {}} {}

void Stepper::EndPhase(Phase phase) {
  const Timeline::Moment now = p_.timeline.Now();
  segments_.push_back({phase, last_, now});
  last_ = now;
}

// The backward pass then writes gradients instead of adding to them. DDP copies them into its
// buckets, which costs less than to fill the buckets with zeros and to add.
void Stepper::ClearGradients() {
  for (const NamedTensor& parameter : p_.model.Parameters()) {
    parameter.tensor.mutable_grad().reset();
  }
}

// Dropout is a function of (seed, step, micro-step, rank), so a resume continues it. Ranks of one
// layer drop out other heads and other tokens.
void Stepper::SeedDropout(int64_t step, int64_t micro_step) {
  if (p_.spec.model.dropout == 0) return;
  uint64_t seed = SplitMix64(static_cast<uint64_t>(p_.spec.seed));
  const int64_t rank =
      p_.plan.batch.rank * p_.mesh.size(Axis::kTensor) + p_.mesh.rank(Axis::kTensor);
  for (const int64_t part : {step, micro_step, rank}) {
    seed = SplitMix64(seed ^ static_cast<uint64_t>(part));
  }
  at::Generator generator = at::globalContext().defaultGenerator(p_.device.Torch());
  std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

absl::Status Stepper::Forward(const Action& action) {
  const int64_t micro_steps = p_.plan.batch.micro_steps();
  DT_ASSIGN_OR_RETURN(batch_, p_.loader.Next());
  const std::vector<int64_t> shape{p_.plan.batch.micro_batch, p_.spec.train.seq_len};
  const at::Tensor inputs = p_.device.Upload(at::from_blob(batch_.inputs.data(), shape, at::kLong));
  const at::Tensor targets =
      p_.device.Upload(at::from_blob(batch_.targets.data(), shape, at::kLong));
  EndPhase(kData);

  SeedDropout(step_, action.micro_step);
  {
    const AutocastScope autocast(compute_, p_.device.Torch().type());
    micro_loss_ = p_.model.Loss(inputs, targets, /*training=*/true, &early_gradients_);
  }
  if (micro_steps > 1) micro_loss_ = micro_loss_ / static_cast<double>(micro_steps);
  loss_ = action.micro_step == 0 ? micro_loss_.detach() : loss_ + micro_loss_.detach();
  EndPhase(kForward);
  return absl::OkStatus();
}

void Stepper::Backward(const Action& action) {
  p_.strategy.BeforeBackward(action.last);
  // A loss that is not finite may have a gradient that is. Infinity less itself is a NaN, so here
  // it has none, on any rank.
  const at::Tensor loss = std::exchange(micro_loss_, {});
  const at::Tensor difference = loss.detach() - loss.detach();
  // The step's loss is the mean over ranks of those that have a part of its tokens each.
  const double part = p_.model.PartOfTokens();
  loss.backward(p_.loss_scale != nullptr ? at::add(difference, p_.loss_scale->factor(), part)
                                         : difference + part);
  p_.strategy.AfterBackward(action.last);
  // A rank that has the whole batch takes the first micro-step as the smaller batch.
  const int64_t micro_steps = p_.plan.batch.micro_steps();
  if (p_.mesh.size(Axis::kWorld) == 1 && micro_steps > 1 && action.micro_step == 0 &&
      MeasuresShare(step_)) {
    const at::Tensor norm = GradientNorm(p_.strategy.pieces());
    local_squared_ = (norm * static_cast<double>(micro_steps)).square();
  }
  EndPhase(kBackward);
}

absl::Status Stepper::Run(int64_t step, Saved saved) {
  step_ = step;
  learning_rate_ = LearningRate(p_.spec.schedule, p_.plan, step);
  p_.timeline.Restart();
  segments_.clear();
  early_gradients_.spans.clear();
  last_ = p_.timeline.Now();
  ClearGradients();
  local_squared_.reset();
  p_.strategy.BeginStep(
      {.number = step, .measured = MeasuresShare(step), .saved = saved == Saved::kMaybe});
  EndPhase(kOptimizer);
  for (const Action& action : actions_) {
    switch (action.kind) {
      case Action::Kind::kForward:
        DT_RETURN_IF_ERROR(Forward(action));
        break;
      case Action::Kind::kBackward:
        Backward(action);
        break;
    }
  }
  return Update();
}

absl::Status Stepper::Update() {
  norm_ = p_.strategy.FinishGradients();
  if (const at::Tensor share = p_.strategy.ShareSquaredNorm(); share.defined()) {
    const auto parts = static_cast<double>(p_.plan.batch.micro_steps());
    local_squared_ = p_.strategy.MeasuresMicroStep() ? share * (parts * parts) : share;
  }
  at::Tensor scale;
  if (p_.loss_scale != nullptr) {
    scale = p_.loss_scale->factor();
    norm_ = norm_ / scale;
    if (local_squared_.defined()) local_squared_ = local_squared_ / scale.square();
  }
  const at::Tensor left_out = LeftOut(norm_);
  nonfinite_.Note(left_out);
  if (norm_.is_cpu() && !std::isfinite(norm_.item<float>())) {
    DT_RETURN_IF_ERROR(nonfinite_.Check(step_));
  } else {
    p_.optimizer.Step(learning_rate_, p_.spec.train.grad_clip, norm_, left_out, scale);
  }
  if (p_.loss_scale != nullptr) p_.loss_scale->Update(left_out);
  EndPhase(kOptimizer);
  p_.strategy.AfterUpdate(step_);
  EndPhase(kGather);
  return absl::OkStatus();
}

absl::Status Stepper::CheckFinite() {
  nonfinite_.Fetch();
  p_.device.Synchronize();
  p_.mesh.RequireIntact();
  return nonfinite_.Check(step_);
}

absl::StatusOr<StepMeasures> Stepper::Measure() {
  // All before the one wait: to ask for each number by itself is a wait of its own on a GPU.
  const at::Tensor loss = Download(loss_), norm = Download(norm_);
  const at::Tensor local_squared =
      local_squared_.defined() ? Download(local_squared_) : at::zeros({});
  DT_RETURN_IF_ERROR(CheckFinite());
  StepMeasures measures;
  measures.loss = loss.item<float>();
  measures.grad_norm = norm.item<float>();
  measures.nonfinite_steps = nonfinite_.Count();
  measures.local_squared = local_squared.item<float>();
  double seconds[kPhases] = {};
  for (const Segment& segment : segments_) {
    seconds[segment.phase] += p_.timeline.Seconds(segment.from, segment.to);
  }
  for (const auto& [from, to] : early_gradients_.spans) {
    const double moved = p_.timeline.Seconds(from, to);
    seconds[kForward] -= moved;
    seconds[kBackward] += moved;
  }
  measures.comm = p_.strategy.Totals();
  measures.phases.data = seconds[kData];
  const double awaited = std::min(measures.comm.forward_exposed_seconds, seconds[kForward]);
  measures.phases.forward = seconds[kForward] - awaited;
  measures.phases.comm_exposed =
      std::min(measures.comm.backward_exposed_seconds, seconds[kBackward]);
  measures.phases.backward = seconds[kBackward] - measures.phases.comm_exposed;
  measures.phases.comm_exposed += awaited + seconds[kGather];
  measures.phases.optimizer = seconds[kOptimizer];
  return measures;
}

}  // namespace dt::trainer
