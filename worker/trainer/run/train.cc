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
#include "worker/trainer/run/training_state.h"
#include "worker/trainer/tracking/tracked_conversation.h"
#include "worker/trainer/trial/flops.h"
#include "worker/trainer/trial/seconds_between.h"
#include "worker/trainer/trial/time_budget.h"

namespace dt::trainer {
namespace {

using Clock = std::chrono::steady_clock;

class TrainingAttempt {
 public:
  TrainingAttempt(const frames::Start& start, Device& device, Conversation& conversation,
                  const AttemptOptions& options)
      : start_(start), device_(device), conversation_(conversation), options_(options) {}
  ~TrainingAttempt() { conversation_.AbortWith({}); }

  frames::End Run();

 private:
  absl::Status Go();
  absl::Status Prepare();
  absl::Status Build();
  absl::Status Train();
  void MakeKeeper();  // on rank 0

  // Returns whether the ranks are equal; otherwise due work waits until they are.
  bool IsWhole() const { return step_ == begun_step_ || members_.sync.After(step_); }
  // Returns whether a multiple of `every` was reached since the ranks were last equal.
  bool HasCome(int64_t every) const {
    return IsWhole() && members_.sync.Since(step_).HasMultipleOf(every);
  }
  // Returns whether to compare parameters: every train.hash_every steps, or if a save may be due.
  bool ComparesParameters() const {
    const int64_t hash_every = state_.spec.train.hash_every;
    if (members_.mesh->group(Axis::kWorld) == nullptr || hash_every == 0) return false;
    return HasCome(hash_every) || HasCome(state_.spec.checkpoint.every_steps) || EvaluationDue();
  }
  // Returns whether the state may be saved after `step`, known to all ranks in advance. For saves
  // by time or because of a stop, rank 0 agrees with the others on a step (SaveTogether).
  bool MaySave(int64_t step) const {
    const int64_t save_every = state_.spec.checkpoint.every_steps;
    return step == target_steps() || (save_every > 0 && step % save_every == 0) || AtRung(step) ||
           (state_.spec.checkpoint.keep_best > 0 && EvaluationDue(step));
  }
  // Does what is due after a step.
  absl::Status EvaluateAndSave(Stepper& stepper);
  // Saves if rank 0 cannot save alone: tells all ranks to save, or to save and leave. If a save
  // must be noted before its step, saves after the next step.
  absl::Status SaveTogether(Stepper& stepper);
  absl::Status Evaluate(Stepper& stepper);
  absl::Status Save();
  // Returns whether any rank has a reason to roll back; same on every rank.
  bool CallsForRollback(Stepper& stepper);
  // Rolls back to this attempt's newest checkpoint, or to its start, and continues with the next
  // step.
  absl::Status RollBack(Stepper& stepper, const std::string& why);
  bool IsRoot() const { return start_.rank == 0; }
  std::vector<Piece> OuterState() const {
    return state_.outer == nullptr ? std::vector<Piece>() : state_.outer->State();
  }
  bool RootHasAll() const {
    return members_.strategy == nullptr || members_.strategy->RootHasAll();
  }
  // Returns whether rank 0 can save after any step without the other ranks.
  bool RootSavesAlone() const {
    return RootHasAll() && (members_.strategy == nullptr || !members_.strategy->SavesAreNoted());
  }
  bool SavesAlone() const { return IsRoot() && RootSavesAlone(); }
  int64_t target_steps() const { return members_.plan.target_steps; }
  // Returns whether a search compares trials at `step`.
  bool AtRung(int64_t step) const {
    const bool of_ladder = std::any_of(
        start_.validate_at.begin(), start_.validate_at.end(),
        [&](uint64_t divisor) { return step == ShareOfSteps(target_steps(), divisor); });
    return of_ladder ||
           std::binary_search(shares_.begin(), shares_.end(), static_cast<uint64_t>(step));
  }
  // Returns whether `step_` has a row. A rung has one, since its loss may be compared.
  bool Logged() const {
    return IsLogged(state_.spec, members_.plan, step_) || AtRung(step_) || budget_.LooksAt(step_);
  }
  // Returns whether `step_` is the last step; same on every rank, from the start of an attempt.
  bool OnLastStep() const { return step_ == target_steps() || (budget_.Reached() && IsWhole()); }
  // Returns whether the specification or a search asks for an evaluation.
  bool EvaluationDue(int64_t step) const {
    const int64_t every = state_.spec.eval.every;
    return (every > 0 && step % every == 0) || AtRung(step);
  }
  bool EvaluationDue() const {
    return OnLastStep() || HasCome(state_.spec.eval.every) || AtRung(step_);
  }

  const frames::Start& start_;
  Device& device_;
  Conversation& conversation_;
  const AttemptOptions options_;

  TrainingState state_;
  Membership members_;  // after the state, which it borrows

  std::optional<checkpoint::CheckpointId> resumed_from_;  // known to rank 0 only
  std::vector<uint64_t> shares_;                          // steps at which a population is compared
  int64_t step_ = 0;                                      // completed steps
  int64_t begun_step_ = 0;                                // step at which this attempt began
  int64_t evaluated_step_ = -1;
  bool owes_evaluation_ = false;  // the previous attempt was stopped within this step's evaluation
  bool noted_ = true;             // the newest step's state may be saved; true right after a resume
  bool asked_save_ = false;       // rank 0 wants to save after the next step
  int32_t rollbacks_ = 0;
  std::optional<double> peak_flops_;  // of this rank's device, if known
  TimeBudget budget_;
  double trained_before_ = 0;             // seconds, of earlier attempts that this one continues
  std::optional<StepReporter> reporter_;  // set once training began
};

frames::End TrainingAttempt::Run() {
  absl::Status result = Guarded([&] { return Go(); });
  // A stop may first appear as a failed collective, because a peer was quicker. A CPU still has the
  // parameters of the last complete step; a GPU may have stepped with incomplete gradients.
  const StopRequest stop = conversation_.CurrentStopRequest();
  if (!result.ok() && stop != StopRequest::kNone &&
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
  if (!result.ok() && state_.keeper && stop != StopRequest::kStop) state_.keeper->SettleSoon();
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

void TrainingAttempt::MakeKeeper() {
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
  state_.keeper = std::make_unique<CheckpointKeeper>(std::move(parts), step_);
}

absl::Status TrainingAttempt::Train() {
  reporter_.emplace(StepReporter::Parts{start_, state_.spec, members_.plan, device_, conversation_,
                                        *members_.mesh, *members_.strategy, state_.noise_scale,
                                        budget_, peak_flops_, trained_before_});
  Stepper stepper({state_.spec, members_.plan, device_, *members_.timeline, *state_.model,
                   *state_.optimizer, *members_.loader, *members_.mesh, *members_.strategy,
                   state_.loss_scale.get(), members_.stages.get()});
  if (IsRoot()) MakeKeeper();
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
    DT_RETURN_IF_ERROR(
        stepper.Run(step_ + 1, noted_ ? Stepper::Saved::kMaybe : Stepper::Saved::kNo));
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

absl::Status TrainingAttempt::EvaluateAndSave(Stepper& stepper) {
  if (!IsWhole()) return absl::OkStatus();
  if (EvaluationDue()) DT_RETURN_IF_ERROR(Evaluate(stepper));
  if (!RootSavesAlone()) return SaveTogether(stepper);
  if (state_.keeper == nullptr) return absl::OkStatus();
  if (!OnLastStep() && !state_.keeper->Due(step_)) return absl::OkStatus();
  // A checkpoint due by time, which only rank 0 knows, waits for the next comparison.
  if (state_.spec.train.hash_every > 0 && members_.mesh->group(Axis::kWorld) != nullptr &&
      !ComparesParameters()) {
    return absl::OkStatus();
  }
  DT_RETURN_IF_ERROR(stepper.CheckFinite());
  // The other ranks do not know about the rollback yet; they learn it at the next logged step.
  if (stepper.nonfinite().CallForRollback()) return absl::OkStatus();
  return Save();
}

absl::Status TrainingAttempt::SaveTogether(Stepper& stepper) {
  // Wait for a GPU only where that is done anyway.
  const bool meets = device_.Torch().is_cpu() || noted_ || Logged() || EvaluationDue() ||
                     members_.strategy->StepsAlone() || HasCome(state_.spec.checkpoint.every_steps);
  if (!meets) return absl::OkStatus();
  const bool leaves = conversation_.CurrentStopRequest() == StopRequest::kStopAfterCheckpoint;
  const bool saves = state_.keeper != nullptr && state_.keeper->Writes(step_) &&
                     (leaves || OnLastStep() || state_.keeper->Due(step_));
  const std::vector<double> root =
      members_.mesh->Gather(Axis::kWorld, {saves ? 1.0 : 0.0, leaves ? 1.0 : 0.0}).at(0);
  if (root[0] + root[1] == 0) return absl::OkStatus();
  if (members_.strategy->SavesAreNoted() && !noted_ && !OnLastStep()) {
    asked_save_ = true;
    return absl::OkStatus();
  }
  DT_RETURN_IF_ERROR(stepper.CheckFinite());
  // The next step rolls back, on every rank, so do not save this one.
  if (CallsForRollback(stepper)) return absl::OkStatus();
  if (root[0] != 0) {
    if (state_.spec.train.hash_every > 0 && !ComparesParameters()) {
      DT_RETURN_IF_ERROR(CompareParameters(*members_.mesh, members_.strategy->copies(), step_));
    }
    DT_RETURN_IF_ERROR(Save());
  }
  if (root[1] == 0) return absl::OkStatus();
  // No rank leaves before the checkpoint to resume from is complete.
  if (state_.keeper != nullptr) DT_RETURN_IF_ERROR(state_.keeper->Settle());
  members_.mesh->Gather(Axis::kWorld, {0});
  return CancelledError("stopped at step " + std::to_string(step_));
}

bool TrainingAttempt::CallsForRollback(Stepper& stepper) {
  if (state_.spec.nonfinite != NonFinite::kRollback) return false;
  if (!members_.strategy->StepsAlone()) return stepper.nonfinite().CallForRollback();
  stepper.nonfinite().Fetch();
  device_.Synchronize();
  const bool mine = stepper.nonfinite().CallForRollback();
  const auto ranks = members_.mesh->Gather(Axis::kWorld, {mine ? 1.0 : 0.0});
  return std::any_of(ranks.begin(), ranks.end(),
                     [](const std::vector<double>& rank) { return rank[0] != 0; });
}

absl::Status TrainingAttempt::RollBack(Stepper& stepper, const std::string& why) {
  const std::string where = why + " by step " + std::to_string(step_);
  if (++rollbacks_ > kRollbacksMax) {
    return NonFiniteError(where + ", and this attempt has rolled back " +
                          std::to_string(kRollbacksMax) +
                          " times already. Lower optimizer.lr, or look at the data");
  }
  if (state_.keeper != nullptr) DT_RETURN_IF_ERROR(state_.keeper->Settle());
  // Rank 0 has the state; the others get it from there.
  frames::Start from = start_;
  if (state_.keeper != nullptr && state_.keeper->newest()) {
    from.resume = state_.keeper->newest();
    ++from.attempt;  // as the next attempt would: this one's are then candidates
  }
  const std::vector<Piece>& parameters = state_.home->pieces();
  const bool spread = !RootHasAll();
  if (IsRoot() || spread) {
    DrawAgain(state_.spec.model, static_cast<uint64_t>(state_.spec.seed), parameters);
    state_.optimizer->Restart();
    if (state_.outer != nullptr) state_.outer->Restart();
  }
  if (state_.pretrained && spread) {
    DT_RETURN_IF_ERROR(LoadPretrained(*state_.pretrained, *members_.mesh, parameters));
  } else if (state_.pretrained && IsRoot()) {
    DT_RETURN_IF_ERROR(ReadPretrained(*state_.pretrained, parameters));
  }
  DT_ASSIGN_OR_RETURN(const Restored restored, RestoreSnapshot(from, *members_.mesh, parameters,
                                                               *state_.optimizer, OuterState()));
  members_.strategy->AfterLoad();
  stepper.nonfinite().ForgetRuns();
  if (state_.loss_scale != nullptr) state_.loss_scale->Resume(restored.loss_scale);
  if (IsRoot()) {
    std::fprintf(stderr, "%s: rolled back to step %lld, continuing with step %lld (%d of %d)\n",
                 where.c_str(), static_cast<long long>(restored.step),
                 static_cast<long long>(step_ + 1), rollbacks_, kRollbacksMax);
  }
  return absl::OkStatus();
}

absl::Status TrainingAttempt::Evaluate(Stepper& stepper) {
  if (!state_.val_data || evaluated_step_ == step_) return absl::OkStatus();
  const LongWork evaluates(conversation_, start_.token, step_);
  // A stop during the evaluation saves the evaluated state.
  DT_RETURN_IF_ERROR(stepper.CheckFinite());
  const Clock::time_point before = Clock::now();
  EvalMeter meter(conversation_, start_.token, step_, SavesAlone());
  const BatchPlan& batch = members_.plan.batch;
  meter.Expect(ValidationParts(state_.spec, *state_.val_data, batch.rank, batch.world_size) +
               state_.tasks.Parts(state_.spec, batch.rank, batch.world_size));
  const auto validate = [&] {
    return Validate(state_.spec, *state_.val_data, *state_.model, device_, *members_.mesh, meter);
  };
  DT_ASSIGN_OR_RETURN(Validation validation, validate());
  // All ranks have the same value, so all decide the same.
  if (!std::isfinite(validation.loss) && state_.spec.nonfinite == NonFinite::kRollback) {
    DT_RETURN_IF_ERROR(RollBack(stepper, "the validation loss is not finite"));
    DT_ASSIGN_OR_RETURN(validation, validate());
  }
  if (!std::isfinite(validation.loss)) {
    return NonFiniteError("the validation loss is not finite at step " + std::to_string(step_) +
                          ". Lower optimizer.lr, or look at the data");
  }
  frames::Eval eval;
  eval.token = start_.token;
  eval.step = static_cast<uint64_t>(step_);
  DT_RETURN_IF_ERROR(
      state_.tasks.Run(state_.spec, *state_.model, device_, *members_.mesh, meter, eval));
  const double seconds = SecondsBetween(before, Clock::now());
  evaluated_step_ = step_;
  reporter_->LeaveOutEvaluation(seconds);
  if (IsRoot()) {
    eval.loss = validation.loss;
    eval.perplexity_mean = validation.perplexity_mean;
    eval.tokens = validation.tokens;
    eval.seconds = seconds;
    eval.train_loss = reporter_->TakeMeanLoss();
    std::fprintf(stderr, "step %lld  validation loss %.4f\n", static_cast<long long>(step_),
                 validation.loss);
    conversation_.Say(eval);
    state_.keeper->TakeEvaluation(eval);
  }
  return absl::OkStatus();
}

absl::Status TrainingAttempt::Save() {
  if (state_.keeper == nullptr && RootHasAll()) return absl::OkStatus();
  const Clock::time_point before = Clock::now();
  double seconds = 0;
  if (state_.keeper != nullptr) {
    DT_ASSIGN_OR_RETURN(seconds, state_.keeper->Save(step_, members_.strategy->Layout()));
  } else {
    TakePartInSaving({state_.home->pieces(), state_.optimizer->State(), members_.mesh.get()});
    seconds = SecondsBetween(before, Clock::now());
  }
  reporter_->LeaveOutCheckpoint(seconds);
  return absl::OkStatus();
}

}  // namespace

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
