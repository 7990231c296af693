// past_pace.cc: sums over trials that trained.
#include "coordinator/core/answer/plan/past_pace.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/arithmetic.h"
#include "common/limits.h"
#include "common/vocabulary.h"
#include "coordinator/core/keep/progress.h"
#include "coordinator/core/model/resolved.h"
#include "plan/cost.h"
#include "spec/collectives.h"
#include "spec/program.h"
#include "spec/sizes.h"

namespace dt {
namespace {

// Share of a training step's time that a pass without gradients takes: one of the three products of
// each weight is in the forward pass.
constexpr double kForwardPart = 1.0 / 3;

// Share of the maker's figures that a busy GPU reaches on such models.
constexpr double kPartOfPeak = 0.4;

std::string ProgramKey(const v1::Spec& spec) {
  std::string key = spec.run();
  // The words of the file, which are the same for all trials.
  for (const std::string& word : spec.command()) absl::StrAppend(&key, "\n", word);
  return key;
}

double TokensPerStep(const v1::Spec& spec) {
  return static_cast<double>(spec.train().global_batch_size()) * spec.train().seq_len();
}

double FlopsOfToken(const v1::Spec& spec) {
  return plan::FlopsPerToken(SizeOf(spec.model()), spec.train().seq_len());
}

std::optional<double> PeakOf(const v1::Spec& spec, const std::string& device_name) {
  const std::string& compute = spec.precision().compute();
  if (compute == "fp32") return plan::PeakFlops(device_name, plan::Arithmetic::kFp32);
  if (compute == "tf32") return plan::PeakFlops(device_name, plan::Arithmetic::kTf32);
  return plan::PeakFlops(device_name, plan::Arithmetic::kHalf);
}

// Returns whether all its attempts had one size: its pace is a sum over them, and only then belongs
// to one number of slots.
bool HadOneSize(const Trial& trial) {
  return std::all_of(trial.attempts.begin(), trial.attempts.end(), [&trial](const Attempt& each) {
    return each.members.size() == trial.attempts.back().members.size() || !each.ran;
  });
}

plan::Sharing SharingOf(const std::string& strategy) {
  const auto& words = plan::kSharingWords;
  const auto found = std::find(std::begin(words), std::end(words), strategy);
  // The default is ddp.
  return found == std::end(words) ? plan::Sharing::kDdp
                                  : static_cast<plan::Sharing>(found - std::begin(words));
}

bool SendsFp32(const v1::Spec& spec) {
  return spec.precision().reduce().empty() || spec.precision().reduce() == "fp32";
}

// Adds the traffic of the trial. Skips compressed traffic, whose time is not only the network's;
// shared layers and pipeline stages, which use other links; and messages that wait for a slower
// peer.
void AddTraffic(const Trial& trial, const v1::Spec& spec, PastPace& past) {
  v1::StepRow row, sum;
  const auto ranks = static_cast<int>(trial.attempts.back().members.size());
  const plan::Sharing sharing = SharingOf(spec.parallel().strategy());
  if (ranks < 2 || trial.last_row.empty() || Compresses(spec) || spec::RanksOfModel(spec) > 1 ||
      sharing == plan::Sharing::kGossip || !row.ParseFromString(trial.last_row))
    return;
  spec::AddCollectives(row, 1, sum);
  double bytes = 0;
  for (const v1::Collective& one : sum.collectives()) bytes += one.bus_bytes();
  const double seconds = sum.collectives().empty() ? 0 : spec::CommunicationSeconds(sum);
  if (!(bytes > 0) || !(seconds > 0)) return;
  PastPace::Traffic& traffic = past.traffic[{ranks, plan::SharesState(sharing)}];
  traffic.bytes += bytes;
  traffic.seconds += seconds;
}

void AddTrial(const Experiment& experiment, const Trial& trial, PastPace& past) {
  const absl::StatusOr<v1::Spec> spec = ResolvedForGang(experiment, trial);
  if (!spec.ok()) return;
  PastPace::OfModel& model = past.models[StepCosts(*spec).SerializeAsString()];
  model.tokens += trial.pace.tokens();
  model.seconds += trial.pace.seconds();
  ++model.trials;
  past.flops += trial.pace.tokens() * FlopsOfToken(*spec);
  past.slot_seconds += trial.pace.seconds() * std::max(1, spec->resources().gpus());
  ++past.trials;
  AddTraffic(trial, *spec, past);
  v1::Prepared prepared;
  if (!trial.prepared.empty() && prepared.ParseFromString(trial.prepared)) {
    past.train_tokens[spec->data().train()] = prepared.train_tokens();
    past.val_tokens[spec->data().val()] = prepared.val_tokens();
  }
}

bool RanOn(const Trial& trial, const std::string& device_name) {
  return !trial.attempts.empty() && !trial.attempts.back().members.empty() &&
         trial.attempts.back().members.front().device_name == device_name;
}

uint64_t StepsOf(const PastPace& past, const v1::Spec& spec) {
  const v1::Train& train = spec.train();
  if (train.max_steps() > 0) return static_cast<uint64_t>(train.max_steps());
  const double tokens_per_step = TokensPerStep(spec);
  if (!(tokens_per_step > 0)) return 0;
  if (train.max_tokens() > 0) {
    return BoundedInteger<uint64_t>(
        std::ceil(static_cast<double>(train.max_tokens()) / tokens_per_step));
  }
  const auto epoch = past.train_tokens.find(spec.data().train());
  if (epoch == past.train_tokens.end()) return 0;
  return BoundedInteger<uint64_t>(
      std::ceil(train.epochs() * static_cast<double>(epoch->second) / tokens_per_step));
}

// Returns the tokens of all validations of a trial, without those at the rungs of a search.
double ValidatedTokens(const PastPace& past, const v1::Spec& spec, uint64_t steps) {
  const v1::Eval& eval = spec.eval();
  auto tokens = static_cast<double>(eval.tokens());
  if (eval.batches() > 0) {
    tokens =
        static_cast<double>(eval.batches()) * spec.train().batch_size() * spec.train().seq_len();
  }
  const auto there = past.val_tokens.find(spec.data().val());
  if (there != past.val_tokens.end()) {
    tokens = std::min(tokens, static_cast<double>(there->second));
  }
  const uint64_t every = eval.every() > 0 ? static_cast<uint64_t>(eval.every()) : steps;
  return tokens * std::ceil(static_cast<double>(steps) / static_cast<double>(every));
}

std::string Trials(uint32_t count) {
  return absl::StrCat(count, count == 1 ? " trial" : " trials");
}

Estimate EstimateOfProgram(const PastPace& past, const v1::Spec& spec) {
  Estimate estimate{.steps = static_cast<uint64_t>(std::max<int64_t>(0, spec.steps()))};
  const auto found = past.programs.find(ProgramKey(spec));
  if (found == past.programs.end()) return estimate;
  estimate.seconds = found->second.seconds / found->second.trials;
  estimate.from = absl::StrCat(Trials(found->second.trials), " of the same program");
  return estimate;
}

// Estimates from measured or computed steps, without early ends.
Estimate EstimateOfSteps(const PastPace& past, const v1::Spec& spec,
                         const std::string& device_name) {
  Estimate estimate{.steps = StepsOf(past, spec)};
  const double tokens = static_cast<double>(estimate.steps) * TokensPerStep(spec);
  if (!(tokens > 0)) return estimate;
  const int slots = std::max(1, spec.resources().gpus());
  const auto same = past.models.find(StepCosts(spec).SerializeAsString());
  if (same != past.models.end() && same->second.tokens > 0) {
    estimate.seconds = tokens * same->second.seconds / same->second.tokens;
    estimate.from = absl::StrCat(Trials(same->second.trials), " of the same model");
    estimate.with_sending = true;
    return estimate;
  }
  const double flops = tokens * FlopsOfToken(spec);
  if (past.slot_seconds > 0 && past.flops > 0) {
    const double rate = past.flops / past.slot_seconds;
    estimate.seconds = flops / (rate * slots);
    estimate.from = absl::StrFormat("FLOPs, at the %.3g TFLOP/s of %s of other models", rate / 1e12,
                                    Trials(past.trials));
    return estimate;
  }
  if (const std::optional<double> peak = PeakOf(spec, device_name)) {
    estimate.seconds = flops / (kPartOfPeak * *peak * slots);
    estimate.from =
        absl::StrFormat("FLOPs, at %.0f %% of %.4g TFLOP/s", 100 * kPartOfPeak, *peak / 1e12);
  }
  return estimate;
}

}  // namespace

v1::Spec StepCosts(const v1::Spec& spec) {
  v1::Spec costs;
  *costs.mutable_model() = spec.model();
  costs.mutable_model()->clear_init_from();
  costs.mutable_train()->set_batch_size(spec.train().batch_size());
  costs.mutable_train()->set_seq_len(spec.train().seq_len());
  costs.mutable_train()->set_global_batch_size(spec.train().global_batch_size());
  costs.mutable_precision()->set_compute(spec.precision().compute());
  costs.mutable_parallel()->set_strategy(spec.parallel().strategy());
  const plan::Sharing sharing = SharingOf(spec.parallel().strategy());
  v1::Parallel& parallel = *costs.mutable_parallel();
  // Each only if it costs something: older trials do not have the field.
  if (sharing == plan::Sharing::kHsdp) parallel.set_shard(spec.parallel().shard());
  if (spec.parallel().tensor() > 1) {
    parallel.set_tensor(spec.parallel().tensor());
    parallel.set_sequence(spec.parallel().sequence());
  }
  if (spec.parallel().pipeline() > 1) {
    parallel.set_pipeline(spec.parallel().pipeline());
    parallel.set_schedule(spec.parallel().schedule());
    parallel.set_interleave(spec.parallel().interleave());
  }
  if (plan::StepsAlone(sharing)) parallel.set_sync_every(spec.parallel().sync_every());
  if (sharing == plan::Sharing::kLocalSgd) {
    parallel.set_outer_lr(spec.parallel().outer_lr());
    parallel.set_outer_momentum(spec.parallel().outer_momentum());
  }
  if (const std::string& compression = spec.parallel().compression();
      !compression.empty() && compression != "none") {
    parallel.set_compression(compression);
  }
  if (Compresses(spec)) {
    parallel.set_rank(spec.parallel().rank());
    parallel.set_share(spec.parallel().share());
  }
  if (spec.parallel().balance() == "auto") parallel.set_balance("auto");
  if (!SendsFp32(spec)) costs.mutable_precision()->set_reduce(spec.precision().reduce());
  costs.mutable_resources()->set_gpus(spec.resources().gpus());
  return costs;
}

PastPace PastPaceOf(const State& state, const std::string& device_name) {
  PastPace past;
  uint32_t left = limits::kTrialsCompared;
  uint32_t programs_left =
      limits::kTrialsCompared;  // counts experiments: a key has the complete command
  for (auto it = state.durable.experiments.rbegin();
       it != state.durable.experiments.rend() && left > 0; ++it) {
    const Experiment& experiment = it->second;
    if (spec::IsProgram(experiment.spec.base())) {
      const std::optional<double> seconds = MeanSecondsOf(state.live, experiment.id);
      if (seconds.has_value() && programs_left > 0) {
        --programs_left;
        PastPace::OfProgram& program = past.programs[ProgramKey(experiment.spec.base())];
        program.seconds += *seconds * experiment.finished;
        program.trials += experiment.finished;
      }
      continue;
    }
    for (auto trial = experiment.trials.rbegin(); trial != experiment.trials.rend() && left > 0;
         ++trial) {
      if (!(trial->pace.seconds() > 0) || !RanOn(*trial, device_name)) continue;
      if (!HadOneSize(*trial)) continue;
      --left;
      AddTrial(experiment, *trial, past);
    }
  }
  return past;
}

Estimate EstimateOf(const PastPace& past, const v1::Spec& spec, const std::string& device_name) {
  if (spec::IsProgram(spec)) return EstimateOfProgram(past, spec);
  Estimate estimate = EstimateOfSteps(past, spec, device_name);
  if (estimate.seconds > 0 && estimate.steps > 0) {
    estimate.step_seconds = estimate.seconds / static_cast<double>(estimate.steps);
    estimate.seconds += kForwardPart * estimate.step_seconds / TokensPerStep(spec) *
                        ValidatedTokens(past, spec, estimate.steps);
  }
  const double most = spec.train().max_time_seconds();
  if (most > 0 && (estimate.seconds < 0 || estimate.seconds > most)) {
    estimate.seconds = most;
    estimate.from = "train.max_time, by which it ends";
  }
  return estimate;
}

bool Compresses(const v1::Spec& spec) {
  const std::string& compression = spec.parallel().compression();
  return compression == "powersgd" || compression == "topk";
}

plan::ModelSize SizeOf(const v1::Model& model, int64_t unread_rows) {
  return {.layers = model.n_layer(),
          .width = model.n_embd(),
          .feed_forward = model.n_ff(),
          .learned_positions = model.positions() == "learned" ? model.n_positions() : 0,
          .rows = model.vocab_pad() > 0 ? model.vocab_pad() : unread_rows,
          .bias = model.bias(),
          .tied_head = model.tie_head(),
          .head_bias = model.head_bias(),
          .final_norm = model.norm() == "pre"};
}

plan::StepSize StepOf(const v1::Spec& spec) {
  const std::string& compute = spec.precision().compute();
  const int64_t ranks = std::max(1, spec::DataRanksOf(spec));
  return {.sequences = spec.train().batch_size(),
          .micro_steps = std::max<int64_t>(1, spec::MicroStepsOf(spec)),
          .seq_len = spec.train().seq_len(),
          .half = compute == "bf16" || compute == "fp16",
          .dropout = spec.model().dropout() > 0,
          .keeps_inputs_alone = spec.model().activation_checkpointing() == "block",
          .ranks = ranks,
          .tensor = std::max(1, spec.parallel().tensor()),
          .sequence = spec.parallel().sequence(),
          .stages = std::max(1, spec.parallel().pipeline()),
          .chunks_each = spec::ChunksEach(spec),
          .forward_first = spec.parallel().schedule() == "gpipe",
          .shard = std::max(1, spec.parallel().shard()),
          .sync_every = std::max<int64_t>(1, spec.parallel().sync_every()),
          .outer = spec.parallel().outer_lr() != 1 || spec.parallel().outer_momentum() > 0,
          .sharing = SharingOf(spec.parallel().strategy()),
          .carries_over = Compresses(spec),
          .narrow = !SendsFp32(spec),
          .cuda = spec.resources().device() == "cuda"};
}

std::optional<Memory> MemoryOf(const v1::Spec& spec) {
  if (spec::IsProgram(spec) || spec.model().n_layer() <= 0) return std::nullopt;
  const plan::StepSize step = StepOf(spec);
  const auto with_rows = [&](int vocabulary) {
    return plan::MemoryBytes(SizeOf(spec.model(), PaddedVocabulary(vocabulary)), step);
  };
  return Memory{with_rows(kGpt2Vocabulary), with_rows(kByteVocabulary)};
}

}  // namespace dt
