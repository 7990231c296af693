// step.cc: data, forward, backward, optimizer.
#include "worker/trainer/run/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/draw.h"
#include "worker/trainer/device/download.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/trial/schedule.h"

namespace dt::trainer {

namespace {

PipelineShape PipelineOf(const Stepper::Parts& parts) {
  const StagePart& part = parts.model.part();
  if (part.IsAll()) return {};
  return {parts.spec.pipeline_schedule, part.stages(), static_cast<int>(part.chunks().size())};
}

}  // namespace

Stepper::Stepper(const Parts& parts)
    : p_(parts),
      compute_(ResolveCompute(parts.spec.compute, parts.device.Torch().type())),
      nonfinite_(parts.spec.nonfinite,
                 parts.loss_scale == nullptr ? NonFiniteSteps::Loss::kPlain
                                             : NonFiniteSteps::Loss::kScaled,
                 parts.device.Torch()),
      early_gradients_{parts.timeline, {}} {
  TakeShares();
}

void Stepper::TakeShares() {
  actions_ = StepActions(PipelineOf(p_), p_.plan.batch.own_micro_steps(), p_.model.part().stage());
  for (size_t i = 0; i < actions_.size(); ++i) {
    if (actions_[i].kind == Action::Kind::kForward) last_forward_ = i;
  }
}

void Stepper::EndPhase(Phase phase) {
  const Timeline::Moment now = p_.timeline.Now();
  segments_.push_back({phase, last_, now});
  last_ = now;
}

// Returns false for weights that are present only while they are used.
bool Stepper::SharesCasts() const {
  const bool stay = p_.spec.sharing != Sharing::kZero3 && p_.spec.sharing != Sharing::kHsdp;
  return stay && p_.spec.model.keep == ModelSpec::Keep::kAll;
}

// Drops the gradients, so that the backward pass writes them instead of adding. DDP then copies
// them into its buckets, which costs less than zeroing the buckets and adding.
void Stepper::ClearGradients() {
  for (const NamedTensor& parameter : p_.model.Parameters()) {
    parameter.tensor.mutable_grad().reset();
  }
}

// Seeds dropout from (seed, step, micro-batch, chunk), so that a resume continues it, whichever
// rank computes what. Tensor ranks drop different heads and tokens.
void Stepper::SeedDropout(const Action& action) {
  if (p_.spec.model.dropout == 0) return;
  uint64_t seed = SplitMix64(static_cast<uint64_t>(p_.spec.seed));
  // Use the rank that would have this micro-batch if all ranks had the same number.
  const int64_t micro_batch = p_.plan.batch.MicroBatch(action.micro_step);
  const int64_t data_ranks = p_.plan.batch.world_size;
  const int64_t rank =
      micro_batch % data_ranks * p_.mesh.size(Axis::kTensor) + p_.mesh.rank(Axis::kTensor);
  std::vector<int64_t> parts{step_, micro_batch / data_ranks, rank};
  const StagePart& stage = p_.model.part();
  if (!stage.IsAll()) parts.push_back(action.chunk * stage.stages() + stage.stage());
  for (const int64_t part : parts) seed = SplitMix64(seed ^ static_cast<uint64_t>(part));
  at::Generator generator = at::globalContext().defaultGenerator(p_.device.Torch());
  std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

void Stepper::Expect(const Action& action) {
  const StagePart& part = p_.model.part();
  const bool forward = action.kind == Action::Kind::kForward;
  if (forward ? part.IsFirst(action.chunk) : part.IsLast(action.chunk)) return;
  const AutocastScope autocast(compute_, p_.device.Torch().type());
  p_.stages->Expect(forward ? StageLink::Way::kForward : StageLink::Way::kBack,
                    p_.model.HiddenShape(p_.plan.batch.micro_batch, p_.spec.train.seq_len),
                    p_.model.HiddenTypeNow(p_.device.Torch().type()));
}

absl::Status Stepper::Forward(const Action& action) {
  const StagePart& part = p_.model.part();
  Flight& flight = flights_[{action.micro_step, action.chunk}];
  const bool first = part.IsFirst(action.chunk), last = part.IsLast(action.chunk);
  at::Tensor in, targets;
  if (first || last) {
    DT_ASSIGN_OR_RETURN(flight.batch, p_.loader.Next());
    const std::vector<int64_t> shape{p_.plan.batch.micro_batch, p_.spec.train.seq_len};
    in = p_.device.Upload(at::from_blob(flight.batch.inputs.data(), shape, at::kLong));
    targets = p_.device.Upload(at::from_blob(flight.batch.targets.data(), shape, at::kLong));
  }
  EndPhase(kData);

  if (!first) {
    in = p_.stages->Take(StageLink::Way::kForward, CommTimes::During::kForward);
    flight.in = in.requires_grad_();
  }
  SeedDropout(action);
  {
    const AutocastScope autocast(compute_, p_.device.Torch().type());
    flight.out = p_.model.Forward(action.chunk, in, targets, &early_gradients_);
  }
  if (last) {
    // All micro-batches of the step have the same weight: the gradient becomes the mean over ranks.
    const int64_t micro_steps = p_.plan.batch.micro_steps();
    if (micro_steps > 1) flight.out = flight.out / static_cast<double>(micro_steps);
    loss_ = loss_.defined() ? loss_ + flight.out.detach() : flight.out.detach();
  } else {
    p_.stages->Send(StageLink::Way::kForward, flight.out.detach());
  }
  EndPhase(kForward);
  return absl::OkStatus();
}

// Starts the backward pass. A loss that is not finite may have a finite gradient. Infinity minus
// itself is NaN, so here the gradient becomes NaN too, on every rank.
void Stepper::BackwardOfLoss(const at::Tensor& loss) {
  const at::Tensor difference = loss.detach() - loss.detach();
  // The step's loss is the mean over ranks that each have a part of the tokens.
  const double part = p_.model.PartOfTokens();
  loss.backward(p_.loss_scale != nullptr ? at::add(difference, p_.loss_scale->factor(), part)
                                         : difference + part);
}

void Stepper::Backward(const Action& action) {
  const auto found = flights_.find({action.micro_step, action.chunk});
  DT_CHECK(found != flights_.end());
  Flight flight = std::move(found->second);
  flights_.erase(found);
  p_.strategy.BeforeBackward(action);
  const at::Tensor out = std::exchange(flight.out, {});
  if (p_.model.part().IsLast(action.chunk)) {
    BackwardOfLoss(out);
  } else {
    out.backward(p_.stages->Take(StageLink::Way::kBack, CommTimes::During::kBackward));
  }
  if (flight.in.defined()) p_.stages->Send(StageLink::Way::kBack, flight.in.grad());
  p_.strategy.AfterBackward(action);
  EndPhase(kBackward);
}

absl::Status Stepper::Run(int64_t step, Saved saved, bool logged) {
  step_ = step;
  learning_rate_ = LearningRate(p_.spec.schedule, p_.plan, step);
  p_.timeline.Restart();
  segments_.clear();
  early_gradients_.spans.clear();
  last_ = p_.timeline.Now();
  ClearGradients();
  flights_.clear();
  loss_.reset();
  local_squared_.reset();
  shares_loss_ = p_.losses != nullptr && logged;
  if (p_.losses != nullptr) p_.losses->Restart();
  p_.strategy.BeginStep(
      {.number = step, .measured = MeasuresShare(step), .saved = saved == Saved::kMaybe});
  EndPhase(kOptimizer);
  DT_RETURN_IF_ERROR(PassAll());
  return Update();
}

absl::Status Stepper::PassAll() {
  const SharedCasts casts(SharesCasts());
  Expect(actions_[0]);
  for (size_t i = 0; i < actions_.size(); ++i) {
    const Action& action = actions_[i];
    // Receive the next input while this action is computed.
    if (i + 1 < actions_.size()) Expect(actions_[i + 1]);
    switch (action.kind) {
      case Action::Kind::kForward:
        DT_RETURN_IF_ERROR(Forward(action));
        if (shares_loss_ && i == last_forward_) ShareLoss();
        break;
      case Action::Kind::kBackward:
        Backward(action);
        break;
    }
  }
  return absl::OkStatus();
}

void Stepper::ShareLoss() {
  p_.losses->Begin(loss_.defined() ? std::optional<double>(loss_.item<float>()) : std::nullopt);
}

absl::Status Stepper::Update() {
  // The norm is gathered by the ranks of a replica, and by no others: all of them update, or none
  // does, unless an order ends a gather on one of them only.
  if (p_.losses != nullptr) p_.losses->Finish();
  norm_ = p_.strategy.FinishGradients();
  if (const at::Tensor share = p_.strategy.ShareSquaredNorm(); share.defined()) {
    // The loss was divided by the mean number of micro-steps per rank, not by this rank's own.
    const auto parts = static_cast<double>(p_.plan.batch.micro_steps());
    const double own =
        p_.strategy.MeasuresMicroStep() ? 1 : static_cast<double>(p_.plan.batch.own_micro_steps());
    const double larger = parts / own;
    local_squared_ = larger == 1 ? share : share * (larger * larger);
  }
  at::Tensor scale;
  if (p_.loss_scale != nullptr) {
    scale = p_.loss_scale->factor();
    norm_ = norm_ / scale;
    if (local_squared_.defined()) local_squared_ = local_squared_ / scale.square();
  }
  updating_ = true;
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
  updating_ = false;
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
  // Start all copies before the one wait: reading each number separately would be several waits on
  // a GPU.
  const at::Tensor loss = loss_.defined() ? Download(loss_) : loss_;
  const at::Tensor norm = Download(norm_);
  const at::Tensor local_squared =
      local_squared_.defined() ? Download(local_squared_) : at::zeros({});
  DT_RETURN_IF_ERROR(CheckFinite());
  StepMeasures measures;
  if (loss.defined()) measures.loss = loss.item<float>();
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
