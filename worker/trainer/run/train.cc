// train.cc: the life of an attempt.
#include "worker/trainer/run/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "common/shares.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/eval/eval.h"
#include "worker/trainer/link/cause.h"
#include "worker/trainer/link/long_work.h"
#include "worker/trainer/parallel/agreement.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/run/choose_wire.h"
#include "worker/trainer/run/deal_micro_steps.h"
#include "worker/trainer/run/membership.h"
#include "worker/trainer/run/prepare.h"
#include "worker/trainer/run/shortage.h"
#include "worker/trainer/run/step.h"
#include "worker/trainer/run/step_report.h"
#include "worker/trainer/run/training_attempt.h"
#include "worker/trainer/tracking/tracked_conversation.h"
#include "worker/trainer/trial/flops.h"
#include "worker/trainer/trial/seconds_between.h"
#include "worker/trainer/trial/time_budget.h"

namespace dt::trainer {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

frames::End TrainingAttempt::Run() {
  absl::Status result = Guarded([&] { return Go(); });
  const bool offers = holds_ && conversation_.CurrentStopRequest() == StopRequest::kNone;
  if (offers) {
    const absl::Status saved = Guarded([&] { return OfferState(); });
    if (!saved.ok()) std::fprintf(stderr, "not saved: %s\n", std::string(saved.message()).c_str());
  }
  // A stop may first appear as a failed collective, because a peer was quicker. A CPU still has the
  // parameters of the last complete step; a GPU may have stepped with incomplete gradients.
  const StopRequest stop = conversation_.CurrentStopRequest();
  const bool answered = offers && stop == StopRequest::kStop;  // the failure came first
  if (!result.ok() && stop != StopRequest::kNone && !answered &&
      (result.code() == kCancelledError || result.code() == kCollectiveError)) {
    const bool intact = device_.Torch().is_cpu() || result.code() == kCancelledError;
    result = CancelledError("stopped at step " + std::to_string(step_));
    // State that needs all ranks, or a noted step, was saved before the ranks left, or is lost.
    if (stop == StopRequest::kStopAfterCheckpoint && intact && RootSavesAlone()) {
      absl::Status saved = Guarded([&]() -> absl::Status {
        DT_RETURN_IF_ERROR(Save());
        return state_.keeper != nullptr ? state_.keeper->Settle() : absl::OkStatus();
      });
      if (!saved.ok()) result = std::move(saved);
    }
  }
  result = DescribeShortage(std::move(result), start_, state_.spec, members_.plan, device_);
  if (!result.ok() && state_.keeper && (stop != StopRequest::kStop || answered)) {
    state_.keeper->SettleSoon();
  }
  frames::End end;
  end.token = start_.token;
  end.step = static_cast<uint64_t>(step_);
  end.cause = CauseWord(result);
  end.message = std::string(result.message());
  if (result.ok() && step_ < target_steps()) end.message = budget_.Text();
  std::fprintf(stderr, "%s at step %lld%s%s\n", end.cause.c_str(), static_cast<long long>(step_),
               end.message.empty() ? "" : ": ", end.message.c_str());
  // Report before the group ends, which peers take for a failure: the cause must come first.
  conversation_.Say(end);
  // Otherwise peers would wait for this rank until their timeout.
  if (!result.ok()) members_.mesh->Abort();
  return end;
}

absl::Status TrainingAttempt::Go() {
  const Clock::time_point begun = Clock::now();
  DT_RETURN_IF_ERROR(Prepare());
  const Clock::time_point prepared = Clock::now();
  DT_RETURN_IF_ERROR(Meet(start_, state_.spec, device_, conversation_, options_, members_.mesh));
  const Clock::time_point met = Clock::now();
  DT_RETURN_IF_ERROR(Build());
  const Clock::time_point built = Clock::now();
  std::fprintf(stderr, "set up in %.2f s: data %.2f s, other ranks %.2f s, model %.2f s\n",
               SecondsBetween(begun, built), SecondsBetween(begun, prepared),
               SecondsBetween(prepared, met), SecondsBetween(met, built));
  return Train();
}

absl::Status TrainingAttempt::Prepare() {
  DT_ASSIGN_OR_RETURN(const frames::Prepared prepared,
                      trainer::Prepare(start_, state_, members_.plan));
  shares_ = ShareSteps(start_.share_every, static_cast<uint64_t>(target_steps()));
  std::vector<int64_t> compared(shares_.begin(), shares_.end());
  for (const uint64_t divisor : start_.validate_at) {
    compared.push_back(ShareOfSteps(target_steps(), divisor));
  }
  members_.sync = SyncStepsOf(state_.spec, members_.plan, std::move(compared));
  conversation_.Say(prepared);
  return absl::OkStatus();
}

absl::Status TrainingAttempt::Build() {
  const TrialSpec& spec = state_.spec;
  const c10::Device torch = device_.Torch();
  const Compute compute = ResolveCompute(spec.compute, torch.type());
  SetMatmulPrecision(compute, torch.type());
  peak_flops_ = PeakFlops(device_.Facts().name, compute);
  if (compute == Compute::kFp16) state_.loss_scale = std::make_unique<LossScale>(torch);
  device_.RestartPeak();
  members_.timeline = device_.NewTimeline();
  members_.tensor = MakeTensorGroup(spec, members_);
  members_.stages = MakeStageLink(members_, torch);
  state_.home = MakeHome(spec, torch, *members_.mesh);
  state_.model = std::make_unique<Transformer>(
      spec.model, static_cast<uint64_t>(spec.seed), *state_.home,
      members_.tensor == nullptr ? TensorAxis() : members_.tensor->axis(),
      StagesOf(spec, members_));
  state_.model->KeepHiddenIn(HiddenType(compute, torch.type()));
  const std::vector<Piece>& parameters = state_.home->pieces();
  state_.optimizer = std::make_unique<AdamW>(parameters, spec.optimizer);
  state_.outer = MakeOuter(spec, *members_.mesh, parameters);
  budget_ = {spec.train.max_time, 0, 0};
  Restored restored;
  if (start_.resume) {
    DT_ASSIGN_OR_RETURN(restored,
                        RestoreSnapshot(start_, *members_.mesh, parameters, *state_.optimizer,
                                        OuterState(), MarksOf(state_)));
    if (restored.warmup_steps) members_.plan.warmup_steps = *restored.warmup_steps;
    step_ = begun_step_ = restored.step;
    resumed_from_ = restored.from;
    trained_before_ = restored.trained_seconds;
    budget_ = {spec.train.max_time, trained_before_, step_};
    state_.noise_scale.Resume(restored.noise_scale);
    if (restored.world_size != start_.world_size) restored.wire.reset();
    owes_evaluation_ = step_ > 0 && !restored.validated && EvaluationDue();
    if (state_.loss_scale != nullptr) state_.loss_scale->Resume(restored.loss_scale);
    std::fprintf(stderr, "resuming from step %lld\n", static_cast<long long>(step_));
  }
  if (state_.pretrained && step_ == 0) {
    DT_RETURN_IF_ERROR(LoadPretrained(*state_.pretrained, *members_.mesh, parameters));
    std::fprintf(stderr, "starting from the weights of %s%s\n", state_.pretrained->path.c_str(),
                 state_.pretrained->our_layout ? ", whose projections are [out, in]" : "");
  }
  if (spec.compression == Compression::kAuto) {
    state_.wire_choice = WireChoice(restored.wire, step_);
  }
  members_.strategy = MakeStrategy(state_, members_, std::move(restored.layout));
  LoaderOptions reading;
  reading.first_step = static_cast<uint64_t>(step_);
  reading.end_step = static_cast<uint64_t>(target_steps());
  const Sampler sampler(spec.data.shuffle ? SampleOrder::kShuffled : SampleOrder::kSequential,
                        static_cast<uint64_t>(spec.seed), state_.train_data->windows());
  members_.loader =
      std::make_unique<Loader>(*state_.train_data, sampler, members_.plan.batch, reading);
  return absl::OkStatus();
}

void TrainingAttempt::MakeKeeper(int64_t saved_step) {
  CheckpointKeeper::Parts parts{start_,
                                state_.spec,
                                members_.plan,
                                device_,
                                conversation_,
                                state_.home->pieces(),
                                *state_.optimizer,
                                state_.loss_scale.get(),
                                &state_.noise_scale,
                                ProvenanceOf(device_),
                                resumed_from_};
  if (state_.spec.train.max_time > 0) {
    parts.trained_seconds = [this] { return reporter_->TrainedSeconds(); };
  }
  parts.mesh = members_.mesh.get();
  parts.outer = state_.outer.get();
  parts.sync = members_.sync;
  parts.data = MarksOf(state_);
  parts.wire = &state_.wire_choice;
  parts.removes = IsRoot();
  state_.keeper = std::make_unique<CheckpointKeeper>(std::move(parts), saved_step);
}

absl::Status TrainingAttempt::Train() {
  // A GPU enqueues the update before it knows whether the sum of the gradients failed.
  if (device_.Torch().is_cpu() && members_.strategy->ReplicasHaveAll()) {
    losses_ = std::make_unique<EarlyLosses>(members_.mesh->group(Axis::kWorld));
  }
  reporter_.emplace(StepReporter::Parts{start_, state_.spec, members_.plan, device_, conversation_,
                                        *members_.mesh, *members_.strategy, state_.noise_scale,
                                        budget_, peak_flops_, trained_before_, losses_.get()});
  Stepper stepper({state_.spec, members_.plan, device_, *members_.timeline, *state_.model,
                   *state_.optimizer, *members_.loader, *members_.mesh, *members_.strategy,
                   state_.loss_scale.get(), members_.stages.get(), losses_.get()});
  if (IsRoot()) MakeKeeper(step_);
  absl::Status result = Guarded([&] { return Loop(stepper); });
  holds_ = Holds(result, stepper);
  return result;
}

absl::Status TrainingAttempt::Loop(Stepper& stepper) {
  MicroStepBalance balance = MakeBalance(state_.spec, members_.plan.batch, step_);
  conversation_.Say(frames::Running{start_.token, static_cast<uint64_t>(step_)});
  if (state_.keeper != nullptr) state_.keeper->ClearUp();
  if (owes_evaluation_) DT_RETURN_IF_ERROR(EvaluateAndSave(stepper));
  while (!OnLastStep()) {
    const StopRequest stop = conversation_.CurrentStopRequest();
    if (LeavesNow(stop, SavesAlone())) {
      // Check the state that is saved next while the peers are still here.
      if (stop == StopRequest::kStopAfterCheckpoint) DT_RETURN_IF_ERROR(stepper.CheckFinite());
      return CancelledError("stopped at step " + std::to_string(step_));
    }
    noted_ = std::exchange(asked_save_, false) || MaySave(step_ + 1);
    DT_RETURN_IF_ERROR(stepper.Run(step_ + 1, noted_ ? Stepper::Saved::kMaybe : Stepper::Saved::kNo,
                                   Logged(step_ + 1)));
    ++step_;
    DT_RETURN_IF_ERROR(reporter_->Report(step_, Logged(), stepper));
    DT_RETURN_IF_ERROR(
        ChooseWire(step_, stepper, *members_.mesh, *members_.strategy, state_.wire_choice));
    DT_RETURN_IF_ERROR(DealMicroBatches(step_, balance, members_, stepper));
    if (ComparesParameters()) {
      DT_RETURN_IF_ERROR(CompareParameters(*members_.mesh, members_.strategy->copies(), step_));
    }
    // Ask a GPU only where it is read back anyway, which all ranks do after the same steps.
    const bool reads = device_.Torch().is_cpu() || Logged() || members_.strategy->StepsAlone();
    if (IsWhole() && reads && CallsForRollback(stepper)) {
      DT_RETURN_IF_ERROR(RollBack(stepper, "the gradient is not finite"));
    }
    DT_RETURN_IF_ERROR(EvaluateAndSave(stepper));
    if (state_.keeper != nullptr) DT_RETURN_IF_ERROR(state_.keeper->Tend());
  }
  return state_.keeper != nullptr ? state_.keeper->Finish() : absl::OkStatus();
}

AttemptOutcome RunAttempt(const frames::Start& start, Device& device, Conversation& conversation,
                          const AttemptOptions& options) {
  TrackedConversation tracked(start, conversation);
  auto attempt = std::make_unique<TrainingAttempt>(start, device, tracked, options);
  AttemptOutcome outcome{attempt->Run(), {}};
  outcome.freed = Guarded([&]() -> absl::Status {
    attempt.reset();
    // A device with a lost context reports it only when asked.
    if (outcome.end.cause != "finished") device.Synchronize();
    return device.ReleaseMemory();
  });
  return outcome;
}

}  // namespace dt::trainer
