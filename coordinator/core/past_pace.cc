// past_pace.cc: sums over trials that trained.
#include "coordinator/core/past_pace.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/vocabulary.h"
#include "coordinator/core/resolved.h"
#include "plan/cost.h"
#include "spec/program.h"

namespace dt {
namespace {

// Of the makers' figures, what a well-fed GPU reaches on such models.
constexpr double kPartOfPeak = 0.4;

std::string ProgramKey(const v1::Spec& spec) {
  std::string key = spec.run();
  // The words that stay the same from trial to trial: those of the file.
  for (const std::string& word : spec.command()) absl::StrAppend(&key, "\n", word);
  return key;
}

// What makes the time of a step.
std::string StepKey(const v1::Spec& spec) {
  v1::Spec costs;
  *costs.mutable_model() = spec.model();
  costs.mutable_model()->clear_init_from();
  costs.mutable_train()->set_batch_size(spec.train().batch_size());
  costs.mutable_train()->set_seq_len(spec.train().seq_len());
  costs.mutable_train()->set_global_batch_size(spec.train().global_batch_size());
  costs.mutable_precision()->set_compute(spec.precision().compute());
  costs.mutable_resources()->set_gpus(spec.resources().gpus());
  return costs.SerializeAsString();
}

plan::ModelSize SizeOf(const v1::Model& model) {
  return {.layers = model.n_layer(),
          .width = model.n_embd(),
          .feed_forward = model.n_ff(),
          .learned_positions = model.positions() == "learned" ? model.n_positions() : 0,
          .rows = model.vocab_pad(),
          .bias = model.bias(),
          .tied_head = model.tie_head(),
          .head_bias = model.head_bias(),
          .final_norm = model.norm() == "pre"};
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

void AddTrial(const Experiment& experiment, const Trial& trial, PastPace& past) {
  const absl::StatusOr<v1::Spec> spec = ResolvedOf(experiment, trial);
  if (!spec.ok()) return;
  PastPace::OfModel& model = past.models[StepKey(*spec)];
  model.tokens += trial.pace.tokens();
  model.seconds += trial.pace.seconds();
  ++model.trials;
  past.flops += trial.pace.tokens() * FlopsOfToken(*spec);
  past.slot_seconds += trial.pace.seconds() * std::max(1, spec->resources().gpus());
  ++past.trials;
  v1::Prepared prepared;
  if (!trial.prepared.empty() && prepared.ParseFromString(trial.prepared)) {
    past.train_tokens[spec->data().train()] = prepared.train_tokens();
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
    return static_cast<uint64_t>(
        std::ceil(static_cast<double>(train.max_tokens()) / tokens_per_step));
  }
  const auto epoch = past.train_tokens.find(spec.data().train());
  if (epoch == past.train_tokens.end()) return 0;
  return static_cast<uint64_t>(
      std::ceil(train.epochs() * static_cast<double>(epoch->second) / tokens_per_step));
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

}  // namespace

PastPace PastPaceOf(const DurableState& durable, const std::string& device_name) {
  PastPace past;
  uint32_t left = limits::kTrialsCompared;
  for (auto it = durable.experiments.rbegin(); it != durable.experiments.rend() && left > 0; ++it) {
    const Experiment& experiment = it->second;
    if (spec::IsProgram(experiment.spec.base())) {
      const std::optional<double> seconds = MeanSecondsOf(experiment);
      if (seconds.has_value()) {
        PastPace::OfProgram& program = past.programs[ProgramKey(experiment.spec.base())];
        program.seconds += *seconds * experiment.finished;
        program.trials += experiment.finished;
      }
      continue;
    }
    for (auto trial = experiment.trials.rbegin(); trial != experiment.trials.rend() && left > 0;
         ++trial) {
      if (!(trial->pace.seconds() > 0) || !RanOn(*trial, device_name)) continue;
      --left;
      AddTrial(experiment, *trial, past);
    }
  }
  return past;
}

Estimate EstimateOf(const PastPace& past, const v1::Spec& spec, const std::string& device_name) {
  if (spec::IsProgram(spec)) return EstimateOfProgram(past, spec);
  Estimate estimate{.steps = StepsOf(past, spec)};
  const double tokens = static_cast<double>(estimate.steps) * TokensPerStep(spec);
  if (!(tokens > 0)) return estimate;
  const int slots = std::max(1, spec.resources().gpus());
  const auto same = past.models.find(StepKey(spec));
  if (same != past.models.end() && same->second.tokens > 0) {
    estimate.seconds = tokens * same->second.seconds / same->second.tokens;
    estimate.from = absl::StrCat(Trials(same->second.trials), " of the same model");
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

std::optional<Memory> MemoryOf(const v1::Spec& spec) {
  if (spec::IsProgram(spec) || spec.model().n_layer() <= 0) return std::nullopt;
  const std::string& compute = spec.precision().compute();
  const plan::StepSize step{
      .sequences = spec.train().batch_size(),
      .seq_len = spec.train().seq_len(),
      .half = compute == "bf16" || compute == "fp16",
      .dropout = spec.model().dropout() > 0,
      .keeps_inputs_alone = spec.model().activation_checkpointing() == "block",
      .several_ranks = spec.resources().gpus() > 1,
      .cuda = spec.resources().device() == "cuda"};
  const auto with_rows = [&](int64_t rows) {
    plan::ModelSize size = SizeOf(spec.model());
    if (size.rows <= 0) size.rows = rows;
    return plan::MemoryBytes(size, step);
  };
  return Memory{with_rows(PaddedVocabulary(kGpt2Vocabulary)),
                with_rows(PaddedVocabulary(kByteVocabulary))};
}

std::optional<double> MeanSecondsOf(const Experiment& experiment) {
  double sum = 0;
  uint32_t count = 0;
  for (auto trial = experiment.trials.rbegin();
       trial != experiment.trials.rend() && count < limits::kTrialsCompared; ++trial) {
    if (trial->state != v1::TRIAL_FINISHED || trial->attempts.empty()) continue;
    const int64_t started = trial->attempts.back().started_wall_ms;
    if (trial->ended_wall_ms <= started) continue;
    sum += static_cast<double>(trial->ended_wall_ms - started) / 1000;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace dt
