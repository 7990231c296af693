// train.cc: the life of an attempt.
#include "worker/trainer/run/train.h"

#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "common/version.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/eval/eval.h"
#include "worker/trainer/link/cause.h"
#include "worker/trainer/parallel/agreement.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/run/membership.h"
#include "worker/trainer/run/row.h"
#include "worker/trainer/run/step.h"
#include "worker/trainer/run/training_state.h"
#include "worker/trainer/tracking/tracked_conversation.h"
#include "worker/trainer/trial/flops.h"
#include "worker/trainer/trial/tokenizer.h"

namespace dt::trainer {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
int64_t WallTimeMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::map<std::string, std::string> Provenance(const Device& device) {
  const DeviceFacts facts = device.Facts();
  return {{"program", std::string(kVersion) + " (" + kRevision + ")"},
          {"libtorch", TORCH_VERSION},
          {"device", facts.name},
          {"nccl", facts.nccl_version},
          {"cuda", facts.cuda_version}};
}

// Lines of `dtctl logs` come this often at most; every step is in the metrics.
constexpr double kLogSeconds = 5;

class Attempt {
 public:
  Attempt(const frames::Start& start, Device& device, Conversation& conversation,
          const AttemptOptions& options)
      : start_(start), device_(device), conversation_(conversation), options_(options) {}
  ~Attempt() { conversation_.AbortWith({}); }

  frames::End Run();

 private:
  absl::Status Go();
  absl::Status Prepare();
  absl::Status Build();
  absl::Status Train();

  absl::Status Report(Stepper& stepper);
  // Columns that follow from others, some of which are not always known.
  void AddDerived(const std::vector<RankMeasures>& ranks, nlohmann::json& row);
  // With train.hash_every, after every so many steps and where a checkpoint may be due: what is
  // saved has been compared.
  bool ComparesParameters() const {
    const int64_t hash_every = state_.spec.train.hash_every;
    const int64_t save_every = state_.spec.checkpoint.every_steps;
    if (members_.mesh->group(Axis::kData) == nullptr || hash_every == 0) return false;
    return step_ % hash_every == 0 || (save_every > 0 && step_ % save_every == 0) ||
           EvaluationDue();
  }
  // What is due after a step.
  absl::Status EvaluateAndSave(Stepper& stepper);
  absl::Status Evaluate(Stepper& stepper);
  absl::Status Save();
  // To the newest checkpoint of this attempt, or to where it began, and on with the next step.
  absl::Status RollBack(Stepper& stepper, const std::string& why);
  bool IsRoot() const { return start_.rank == 0; }
  int64_t target_steps() const { return members_.plan.target_steps; }
  // Whether a search compares trials at `step_`.
  bool AtRung() const {
    return std::any_of(start_.validate_at.begin(), start_.validate_at.end(), [&](uint64_t divisor) {
      return step_ == ShareOfSteps(target_steps(), divisor);
    });
  }
  // Whether `step_` has a row. The loss at a rung may be what is compared.
  bool Logged() const { return IsLogged(state_.spec, members_.plan, step_) || AtRung(); }
  bool EvaluationDue() const {
    const int64_t every = state_.spec.eval.every;
    return step_ == target_steps() || (every > 0 && step_ % every == 0) || AtRung();
  }

  const frames::Start& start_;
  Device& device_;
  Conversation& conversation_;
  const AttemptOptions options_;

  TrainingState state_;
  Membership members_;  // after the state, which it borrows

  std::optional<CheckpointId> resumed_from_;  // known to rank 0
  int64_t step_ = 0;                          // complete ones
  bool first_step_told_ = false;
  int64_t evaluated_step_ = -1;
  bool owes_evaluation_ = false;
  int32_t rollbacks_ = 0;
  int64_t reported_nonfinite_ = 0;
  SinceLastRow since_;
  MeanOf losses_;                     // logged since the last validation
  std::optional<double> peak_flops_;  // of this rank's device, where it is known
  Clock::time_point row_time_, step_time_, progress_time_, log_time_;
};

frames::End Attempt::Run() {
  absl::Status result = Guarded([&] { return Go(); });
  // A stop may be seen first as the failure of a collective, because a peer was quicker. On a CPU
  // the parameters are those of the last complete step all the same; a GPU may have taken a step
  // with what the failure left of the gradients.
  const Wish wish = conversation_.CurrentWish();
  if (!result.ok() && wish != Wish::kGoOn &&
      (result.code() == kCancelledError || result.code() == kCollectiveError)) {
    const bool intact = device_.Torch().is_cpu() || result.code() == kCancelledError;
    result = CancelledError("stopped at step " + std::to_string(step_));
    if (wish == Wish::kStopAfterCheckpoint && intact) {
      absl::Status saved = Guarded([&]() -> absl::Status {
        DT_RETURN_IF_ERROR(Save());
        return state_.keeper != nullptr ? state_.keeper->Settle() : absl::OkStatus();
      });
      if (!saved.ok()) result = std::move(saved);
    }
  }
  if (!result.ok() && result.code() == kOutOfMemoryError) {
    result = OutOfMemoryError(
        DescribeOutOfMemory(std::string(result.message()), device_.Facts().memory_bound));
  }
  if (!result.ok() && state_.keeper != nullptr && wish != Wish::kStop) state_.keeper->SettleSoon();
  frames::End end;
  end.token = start_.token;
  end.step = static_cast<uint64_t>(step_);
  end.cause = CauseWord(result);
  end.message = std::string(result.message());
  std::fprintf(stderr, "%s at step %lld%s%s\n", end.cause.c_str(), static_cast<long long>(step_),
               end.message.empty() ? "" : ": ", end.message.c_str());
  // Before the group ends, which the peers take for a failure, and which may take long: the cause
  // must not come after its symptom.
  conversation_.Say(end);
  // Peers would wait for this rank until their timeout.
  if (!result.ok()) members_.mesh->Abort();
  return end;
}

absl::Status Attempt::Go() {
  const Clock::time_point begun = Clock::now();
  DT_RETURN_IF_ERROR(Prepare());
  const Clock::time_point prepared = Clock::now();
  DT_RETURN_IF_ERROR(Meet(start_, device_, conversation_, options_, members_.mesh));
  const Clock::time_point met = Clock::now();
  DT_RETURN_IF_ERROR(Build());
  const Clock::time_point built = Clock::now();
  std::fprintf(stderr, "set up in %.2f s: data %.2f s, other ranks %.2f s, model %.2f s\n",
               SecondsBetween(begun, built), SecondsBetween(begun, prepared),
               SecondsBetween(prepared, met), SecondsBetween(met, built));
  return Train();
}

absl::Status Attempt::Prepare() {
  DT_ASSIGN_OR_RETURN(state_.spec, ParseTrialSpec(start_.spec));
  const bool asks_shards = state_.spec.data.tokenizer == Tokenizer::kAuto;
  DT_RETURN_IF_ERROR(SettleTokenizer(start_.data_root, state_.spec));
  DT_ASSIGN_OR_RETURN(const corpus::ShardFormat format,
                      corpus::ShardFormatOf(state_.spec.data.format));
  const auto open = [&](const char* field, const std::string& pattern) {
    return Dataset::Open({.data_root = start_.data_root,
                          .field = field,
                          .pattern = pattern,
                          .format = format,
                          .vocab_size = static_cast<int32_t>(state_.spec.model.vocab_size),
                          .seq_len = state_.spec.train.seq_len});
  };
  DT_ASSIGN_OR_RETURN(state_.train_data, open("data.train", state_.spec.data.train));
  if (!state_.spec.data.val.empty()) {
    DT_ASSIGN_OR_RETURN(state_.val_data, open("data.val", state_.spec.data.val));
  }
  DT_ASSIGN_OR_RETURN(state_.tasks, EvalTasks::Open(state_.spec, start_.data_root));
  if (!state_.spec.model.init_from.empty()) {
    DT_ASSIGN_OR_RETURN(state_.pretrained, FindPretrained(start_.data_root, state_.spec.model));
  }
  DT_ASSIGN_OR_RETURN(members_.plan, PlanSteps(state_.spec, start_.rank, start_.world_size,
                                               state_.train_data->windows()));

  frames::Prepared prepared;
  prepared.token = start_.token;
  prepared.target_steps = target_steps();
  prepared.train_files = state_.train_data->files();
  prepared.train_tokens = state_.train_data->tokens();
  prepared.val_tokens = state_.val_data ? state_.val_data->tokens() : 0;
  prepared.data_fingerprint = state_.train_data->fingerprint();
  if (state_.val_data) prepared.data_fingerprint += "-" + state_.val_data->fingerprint();
  // A rank whose shards tell another tokenizer would have a model of another size.
  if (asks_shards) prepared.data_fingerprint += absl::StrCat("-", TokenizerName(state_.spec));
  prepared.model_parameters = CountParameters(state_.spec.model);
  prepared.tokens_per_step = members_.plan.tokens_per_step;
  std::fprintf(stderr,
               "trial %llu/%u attempt %u, rank %d of %d: %.1fM parameters, %.2fM training tokens, "
               "%lld steps of %lld tokens\n",
               static_cast<unsigned long long>(start_.experiment), start_.trial, start_.attempt,
               start_.rank, start_.world_size, static_cast<double>(prepared.model_parameters) / 1e6,
               static_cast<double>(prepared.train_tokens) / 1e6,
               static_cast<long long>(target_steps()),
               static_cast<long long>(members_.plan.tokens_per_step));
  conversation_.Say(prepared);
  return absl::OkStatus();
}

absl::Status Attempt::Build() {
  const TrialSpec& spec = state_.spec;
  const c10::Device torch = device_.Torch();
  const Compute compute = ResolveCompute(spec.compute, torch.type());
  SetMatmulPrecision(compute, torch.type());
  peak_flops_ = PeakFlops(device_.Facts().name, compute);
  if (compute == Compute::kFp16) state_.loss_scale = std::make_unique<LossScale>(torch);
  device_.RestartPeak();
  members_.timeline = device_.NewTimeline();
  state_.home = std::make_unique<WholeHome>(torch);
  state_.model =
      std::make_unique<Transformer>(spec.model, static_cast<uint64_t>(spec.seed), *state_.home);
  state_.model->KeepHiddenIn(HiddenType(compute, torch.type()));
  const std::vector<Piece>& parameters = state_.home->pieces();
  state_.optimizer = std::make_unique<AdamW>(parameters, spec.optimizer);
  Restored restored;
  if (start_.resume) {
    DT_ASSIGN_OR_RETURN(restored,
                        RestoreSnapshot(start_, *members_.mesh, parameters, *state_.optimizer));
    step_ = restored.step;
    resumed_from_ = restored.from;
    state_.noise_scale.Resume(restored.noise_scale);
    owes_evaluation_ = step_ > 0 && !restored.validated && EvaluationDue();
    if (state_.loss_scale != nullptr) state_.loss_scale->Resume(restored.loss_scale);
    std::fprintf(stderr, "resuming from step %lld\n", static_cast<long long>(step_));
  }
  if (state_.pretrained && step_ == 0) {
    DT_RETURN_IF_ERROR(LoadPretrained(*state_.pretrained, *members_.mesh, parameters));
    std::fprintf(stderr, "beginning with the weights of %s\n", state_.pretrained->path.c_str());
  }
  members_.strategy =
      MakeStrategy(parameters, members_, spec.bucket_mb, std::move(restored.layout));
  LoaderOptions reading;
  reading.first_step = static_cast<uint64_t>(step_);
  reading.end_step = static_cast<uint64_t>(target_steps());
  const Sampler sampler(spec.data.shuffle ? SampleOrder::kShuffled : SampleOrder::kSequential,
                        static_cast<uint64_t>(spec.seed), state_.train_data->windows());
  members_.loader =
      std::make_unique<Loader>(*state_.train_data, sampler, members_.plan.batch, reading);
  return absl::OkStatus();
}

absl::Status Attempt::Train() {
  Stepper stepper({state_.spec, members_.plan, device_, *members_.timeline, *state_.model,
                   *state_.optimizer, *members_.loader, *members_.mesh, *members_.strategy,
                   state_.loss_scale.get()});
  if (IsRoot()) {
    state_.keeper = std::make_unique<CheckpointKeeper>(
        CheckpointKeeper::Parts{start_, state_.spec, members_.plan, device_, conversation_,
                                state_.home->pieces(), *state_.optimizer, state_.loss_scale.get(),
                                &state_.noise_scale, Provenance(device_), resumed_from_},
        step_);
  }
  conversation_.Say(frames::Running{start_.token, static_cast<uint64_t>(step_)});
  if (state_.keeper != nullptr) state_.keeper->ClearUp();
  row_time_ = step_time_ = progress_time_ = Clock::now();

  // The attempt before was stopped within the evaluation of this step.
  if (owes_evaluation_) DT_RETURN_IF_ERROR(EvaluateAndSave(stepper));
  while (step_ < target_steps()) {
    const Wish wish = conversation_.CurrentWish();
    if (LeavesNow(wish, start_.rank)) {
      // What is saved next must be known to be good while the peers are still there.
      if (wish == Wish::kStopAfterCheckpoint) DT_RETURN_IF_ERROR(stepper.CheckFinite());
      return CancelledError("stopped at step " + std::to_string(step_));
    }
    DT_RETURN_IF_ERROR(stepper.Run(step_ + 1));
    ++step_;
    DT_RETURN_IF_ERROR(Report(stepper));
    if (ComparesParameters()) {
      DT_RETURN_IF_ERROR(CompareParameters(*members_.mesh, state_.model->Parameters(), step_));
    }
    // A GPU is asked only where it is read back anyway, which all ranks do after the same steps.
    if ((device_.Torch().is_cpu() || Logged()) && stepper.nonfinite().CallForRollback()) {
      DT_RETURN_IF_ERROR(RollBack(stepper, "the gradient is not finite"));
    }
    DT_RETURN_IF_ERROR(EvaluateAndSave(stepper));
    if (state_.keeper != nullptr) DT_RETURN_IF_ERROR(state_.keeper->Tend());
  }
  return state_.keeper != nullptr ? state_.keeper->Finish() : absl::OkStatus();
}

absl::Status Attempt::EvaluateAndSave(Stepper& stepper) {
  if (EvaluationDue()) DT_RETURN_IF_ERROR(Evaluate(stepper));
  if (state_.keeper == nullptr) return absl::OkStatus();
  const bool last = step_ == target_steps();
  if (!last && !state_.keeper->Due(step_)) return absl::OkStatus();
  // A checkpoint that is due by time, which rank 0 alone knows, waits for the next comparison.
  if (state_.spec.train.hash_every > 0 && members_.mesh->group(Axis::kData) != nullptr &&
      !ComparesParameters()) {
    return absl::OkStatus();
  }
  DT_RETURN_IF_ERROR(stepper.CheckFinite());
  // Else the other ranks do not know yet; the next logged step tells them.
  if (stepper.nonfinite().CallForRollback()) return absl::OkStatus();
  return Save();
}

absl::Status Attempt::Report(Stepper& stepper) {
  since_.steps += 1;
  since_.tokens += static_cast<double>(members_.plan.tokens_per_step);
  RankMeasures mine;
  if (Logged()) {
    DT_ASSIGN_OR_RETURN(mine.step, stepper.Measure());
  }
  const Clock::time_point now = Clock::now();
  mine.step_seconds = SecondsBetween(step_time_, now);
  step_time_ = now;
  // Kernels are chosen and buffers made in the first step, so it takes longer than the others.
  if (!std::exchange(first_step_told_, true)) {
    std::fprintf(stderr, "first step %.2f s\n", mine.step_seconds);
  }
  if (!IsRoot() && SecondsBetween(progress_time_, now) >= 1) {
    progress_time_ = now;
    conversation_.Say(frames::Progress{start_.token, static_cast<uint64_t>(step_)});
  }
  if (!Logged()) return absl::OkStatus();
  mine.memory_peak_bytes = static_cast<double>(device_.PeakBytes());
  const std::vector<RankMeasures> ranks = Gathered(*members_.mesh, mine);
  if (!IsRoot()) return absl::OkStatus();
  since_.nonfinite_steps = static_cast<double>(mine.step.nonfinite_steps - reported_nonfinite_);
  reported_nonfinite_ = mine.step.nonfinite_steps;
  if (since_.nonfinite_steps > 0) {
    std::fprintf(stderr, "step %lld  gradient or loss not finite, step left out; %lld so far\n",
                 static_cast<long long>(step_), static_cast<long long>(reported_nonfinite_));
  }
  since_.seconds = SecondsBetween(row_time_, now);
  row_time_ = now;
  frames::StepDone done{start_.token,
                        MakeRow(step_, stepper.learning_rate(), ranks, since_, WallTimeMs())};
  AddDerived(ranks, done.row);
  losses_.Add(done.row["loss"].get<double>());
  if (SecondsBetween(log_time_, now) >= kLogSeconds || step_ == target_steps()) {
    log_time_ = now;
    std::fprintf(stderr, "step %lld/%lld  loss %.4f  lr %.2e  %.0f tokens/s\n",
                 static_cast<long long>(step_), static_cast<long long>(target_steps()),
                 done.row["loss"].get<double>(), stepper.learning_rate(),
                 since_.tokens / std::max(since_.TrainingSeconds(), 1e-9));
  }
  conversation_.Say(done);
  since_ = {};
  return absl::OkStatus();
}

void Attempt::AddDerived(const std::vector<RankMeasures>& ranks, nlohmann::json& row) {
  row["flops"] = since_.tokens * FlopsPerToken(state_.spec.model, state_.spec.train.seq_len);
  if (peak_flops_) row["peak_flops"] = *peak_flops_ * static_cast<double>(ranks.size());

  double local_squared = 0;
  for (const RankMeasures& rank : ranks) local_squared += rank.step.local_squared;
  local_squared /= static_cast<double>(ranks.size());
  if (local_squared > 0) {
    const auto whole = static_cast<double>(members_.plan.tokens_per_step);
    const double share = ranks.size() > 1
                             ? whole / static_cast<double>(ranks.size())
                             : whole / static_cast<double>(members_.plan.batch.micro_steps());
    const double norm = ranks[0].step.grad_norm;
    state_.noise_scale.Add(share, local_squared, whole, norm * norm);
  }
  if (const std::optional<double> noise = state_.noise_scale.Value())
    row["noise_scale_tokens"] = *noise;
}

absl::Status Attempt::RollBack(Stepper& stepper, const std::string& why) {
  const std::string where = why + " by step " + std::to_string(step_);
  if (++rollbacks_ > kRollbacksMax) {
    return NonFiniteError(where + ", and this attempt went back " + std::to_string(kRollbacksMax) +
                          " times before. Lower optimizer.lr, or look at the "
                          "data");
  }
  if (state_.keeper != nullptr) DT_RETURN_IF_ERROR(state_.keeper->Settle());
  // Rank 0 has the state, the others get it from there.
  frames::Start from = start_;
  if (state_.keeper != nullptr && state_.keeper->newest()) {
    from.resume = state_.keeper->newest();
    ++from.attempt;  // as the next attempt would: this one's own are then among those to choose
  }
  const std::vector<Piece>& parameters = state_.home->pieces();
  if (IsRoot()) {
    DrawAgain(state_.spec.model, static_cast<uint64_t>(state_.spec.seed), parameters);
    state_.optimizer->Restart();
    if (state_.pretrained) DT_RETURN_IF_ERROR(ReadPretrained(*state_.pretrained, parameters));
  }
  DT_ASSIGN_OR_RETURN(const Restored restored,
                      RestoreSnapshot(from, *members_.mesh, parameters, *state_.optimizer));
  stepper.nonfinite().OnRolledBack();
  if (state_.loss_scale != nullptr) state_.loss_scale->Resume(restored.loss_scale);
  if (IsRoot()) {
    std::fprintf(stderr, "%s: back to the state of step %lld and on with step %lld (%d of %d)\n",
                 where.c_str(), static_cast<long long>(restored.step),
                 static_cast<long long>(step_ + 1), rollbacks_, kRollbacksMax);
  }
  return absl::OkStatus();
}

absl::Status Attempt::Evaluate(Stepper& stepper) {
  if (!state_.val_data || evaluated_step_ == step_) return absl::OkStatus();
  // A stop within it saves what is evaluated.
  DT_RETURN_IF_ERROR(stepper.CheckFinite());
  const Clock::time_point before = Clock::now();
  EvalMeter meter(conversation_, start_.token, step_, start_.rank);
  meter.Expect(ValidationParts(state_.spec, *state_.val_data, start_.rank, start_.world_size) +
               state_.tasks.Parts(state_.spec, start_.rank, start_.world_size));
  const auto validate = [&] {
    return Validate(state_.spec, *state_.val_data, *state_.model, device_, *members_.mesh, meter);
  };
  DT_ASSIGN_OR_RETURN(Validation validation, validate());
  // Every rank has the same figure, so all decide alike.
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
  const Clock::time_point after = Clock::now();
  evaluated_step_ = step_;
  since_.eval_seconds += SecondsBetween(before, after);
  step_time_ += after - before;
  if (IsRoot()) {
    eval.loss = validation.loss;
    eval.perplexity_mean = validation.perplexity_mean;
    eval.tokens = validation.tokens;
    eval.seconds = SecondsBetween(before, after);
    eval.train_loss = std::exchange(losses_, {}).Value();
    std::fprintf(stderr, "step %lld  validation loss %.4f\n", static_cast<long long>(step_),
                 validation.loss);
    conversation_.Say(eval);
    state_.keeper->OnValidated(step_, validation.loss);
  }
  return absl::OkStatus();
}

absl::Status Attempt::Save() {
  if (state_.keeper == nullptr) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const double seconds,
                      state_.keeper->Save(step_, members_.strategy->Layout()));
  since_.checkpoint_seconds += seconds;
  step_time_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return absl::OkStatus();
}

}  // namespace

Outcome RunAttempt(const frames::Start& start, Device& device, Conversation& conversation,
                   const AttemptOptions& options) {
  TrackedConversation tracked(start, conversation);
  auto attempt = std::make_unique<Attempt>(start, device, tracked, options);
  Outcome outcome{attempt->Run(), {}};
  outcome.freed = Guarded([&]() -> absl::Status {
    attempt.reset();
    // A device whose context is lost says so only when asked.
    if (outcome.end.cause != "finished") device.Synchronize();
    device.ReleaseMemory();
    return absl::OkStatus();
  });
  return outcome;
}

}  // namespace dt::trainer
