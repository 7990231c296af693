// training_saves.cc: evaluations, checkpoints and rollbacks that are due after a step, and the save
// of a survivor of a broken gang.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "common/rescue_limits.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/eval/eval.h"
#include "worker/trainer/link/long_work.h"
#include "worker/trainer/parallel/agreement.h"
#include "worker/trainer/run/prepare.h"
#include "worker/trainer/run/training_attempt.h"
#include "worker/trainer/trial/seconds_between.h"

namespace dt::trainer {
namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 reports each within a second, and most trials evaluate rarely.
constexpr size_t kKeptEvaluationsMost = 32;

std::vector<at::Tensor> ValuesOf(const std::vector<Piece>& pieces) {
  std::vector<at::Tensor> values;
  for (const Piece& piece : pieces) {
    if (piece.here) values.push_back(piece.value.detach());
  }
  return values;
}

}  // namespace

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
  restoring_ = true;
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
  restoring_ = false;
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
  eval.loss = validation.loss;
  eval.train_loss = reporter_->TakeMeanLoss();
  eval.perplexity_mean = validation.perplexity_mean;
  eval.tokens = validation.tokens;
  eval.seconds = seconds;
  if (IsRoot()) {
    std::fprintf(stderr, "step %lld  validation loss %.4f\n", static_cast<long long>(step_),
                 validation.loss);
    conversation_.Say(eval);
    state_.keeper->TakeEvaluation(eval);
  } else if (losses_ != nullptr) {
    evaluations_.push_back(std::move(eval));
    if (evaluations_.size() > kKeptEvaluationsMost) evaluations_.pop_front();
  }
  return absl::OkStatus();
}

bool TrainingAttempt::Holds(const absl::Status& failure, Stepper& stepper) const {
  return losses_ != nullptr && failure.code() == kCollectiveError && step_ > begun_step_ &&
         !start_.storage.empty() && stepper.intact() && !restoring_ &&
         !stepper.nonfinite().CallForRollback();
}

absl::Status TrainingAttempt::OfferState() {
  // Otherwise peers would wait for this rank. An abort that another thread has begun is over after
  // this: it shuts sockets down by their numbers, which new sockets may have.
  members_.mesh->Abort();
  const ReplicaShape replicas = ReplicasOf(state_.spec, start_.world_size);
  const bool shared = replicas.ranks_each() > 1;
  const bool first = RanksOf(replicas, ReplicaOf(replicas, start_.rank)).front() == start_.rank;
  frames::Holds holds{start_.token, static_cast<uint64_t>(step_), 0, ""};
  if (state_.spec.train.hash_every > 0) holds.hash = HashBits(ValuesOf(state_.home->pieces()));
  const std::shared_ptr<Mesh> replica =
      shared ? PrepareReplica(start_, state_.spec, device_) : nullptr;
  std::optional<Rendezvous> host;
  if (shared && first) {
    DT_ASSIGN_OR_RETURN(host, HostStore(ListenHost(start_), /*port=*/0));
    holds.meet_at = host->address;
  }
  std::fprintf(stderr, "a collective failed after step %lld; this rank keeps the state\n",
               static_cast<long long>(step_));
  conversation_.Say(holds);
  const std::optional<frames::Rescue> order =
      conversation_.AwaitRescue(absl::ToChronoMilliseconds(limits::kRescueOrder));
  if (!order) return absl::OkStatus();
  if (shared) DT_RETURN_IF_ERROR(MeetReplica(replica, device_, conversation_, host, *order));
  if (first) return SaveAsSurvivor(order->rows_after, replica);
  TakePartInSaving({state_.home->pieces(), state_.optimizer->State(), replica.get()});
  return absl::OkStatus();
}

absl::Status TrainingAttempt::SaveAsSurvivor(uint64_t rows_after, std::shared_ptr<Mesh> replica) {
  if (!IsRoot()) {
    const auto from = std::max(rows_after, static_cast<uint64_t>(begun_step_));
    if (!reporter_->KeepsAllSince(from)) {
      return DataError("rows after step " + std::to_string(from) +
                       " are lost with rank 0: a resume would leave a gap in them");
    }
    conversation_.SayMissing(reporter_->KeptRows(), rows_after);
    MakeKeeper(begun_step_);
    for (const frames::Eval& evaluation : evaluations_) {
      conversation_.Say(evaluation);
      state_.keeper->TakeEvaluation(evaluation);
    }
  }
  state_.keeper->BecomeSurvivor(std::move(replica));
  DT_RETURN_IF_ERROR(Save());
  return state_.keeper->Settle();
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

}  // namespace dt::trainer
