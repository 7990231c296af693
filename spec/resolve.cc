// resolve.cc: from an experiment and a trial's assignments to the one specification to train.
#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "common/vocabulary.h"
#include "spec/internal.h"
#include "spec/objectives.h"
#include "spec/program.h"
#include "spec/program_words.h"
#include "spec/search.h"
#include "spec/sizes.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

enum class Family { kGpt2, kTinyTransformer };

struct Preset {
  std::string_view name;
  Family family;
  int32_t n_layer, n_head, n_embd;
};

// GPT-2's four published sizes, and the transformer of the batch-size study: PyTorch's
// TransformerEncoderLayer with its defaults (post-norm, ReLU, feed-forward 2048, dropout 0.1), an
// untied head with bias, and positions without parameters: 38.2M in all.
constexpr std::array<Preset, 5> kPresets{{
    {"gpt2", Family::kGpt2, 12, 12, 768},
    {"gpt2-medium", Family::kGpt2, 24, 16, 1024},
    {"gpt2-large", Family::kGpt2, 36, 20, 1280},
    {"gpt2-xl", Family::kGpt2, 48, 25, 1600},
    {"tiny_transformer", Family::kTinyTransformer, 5, 5, 300},
}};

using internal::PathSet;

void FillGpt2(const PathSet& set, v1::Model& model) {
  if (!set.contains("model.n_ff")) model.set_n_ff(4 * model.n_embd());
  if (!set.contains("model.n_positions")) model.set_n_positions(1024);
  if (!set.contains("model.tie_head")) model.set_tie_head(true);
  if (!set.contains("model.head_bias")) model.set_head_bias(false);
  if (!set.contains("model.norm")) model.set_norm("pre");
  if (!set.contains("model.activation")) model.set_activation("gelu_tanh");
  if (!set.contains("model.positions")) model.set_positions("learned");
  if (!set.contains("model.dropout")) model.set_dropout(0);
}

void FillTinyTransformer(const PathSet& set, v1::Model& model) {
  if (!set.contains("model.n_ff")) model.set_n_ff(2048);
  if (!set.contains("model.n_positions")) model.set_n_positions(2048);
  if (!set.contains("model.tie_head")) model.set_tie_head(false);
  if (!set.contains("model.head_bias")) model.set_head_bias(true);
  if (!set.contains("model.norm")) model.set_norm("post");
  if (!set.contains("model.activation")) model.set_activation("relu");
  if (!set.contains("model.positions")) model.set_positions("sinusoidal");
  if (!set.contains("model.dropout")) model.set_dropout(0.1);
}

void FillModel(const PathSet& set, v1::Spec& spec) {
  v1::Model& model = *spec.mutable_model();
  const auto preset = std::find_if(kPresets.begin(), kPresets.end(),
                                   [&](const Preset& p) { return p.name == model.preset(); });
  if (preset == kPresets.end()) return;  // Validate refuses the name
  if (!set.contains("model.n_layer")) model.set_n_layer(preset->n_layer);
  if (!set.contains("model.n_head")) model.set_n_head(preset->n_head);
  if (!set.contains("model.n_embd")) model.set_n_embd(preset->n_embd);
  if (!set.contains("model.bias")) model.set_bias(true);
  if (!set.contains("model.vocab_size") || model.vocab_size() == 0) {
    model.set_vocab_size(internal::VocabularyOf(spec.data().tokenizer()));
    // A published model's vocabulary is not padded, but the trainer would pad it.
    const bool published = preset->family == Family::kTinyTransformer;
    if (model.vocab_size() == 0 && published) model.set_vocab_size(kGpt2Vocabulary);
  }
  int64_t rows = model.vocab_size();
  switch (preset->family) {
    case Family::kGpt2:
      FillGpt2(set, model);
      rows = PaddedVocabulary(rows);
      break;
    case Family::kTinyTransformer:
      FillTinyTransformer(set, model);
      break;
  }
  if (!set.contains("model.vocab_pad")) model.set_vocab_pad(static_cast<int32_t>(rows));
}

void FillTraining(const PathSet& set, v1::Spec& spec) {
  v1::Train& train = *spec.mutable_train();
  const bool said = set.contains("train.global_batch_size");
  train.set_global_batch_size(GlobalBatchOf(spec, said ? BatchGiven::kYes : BatchGiven::kNo));
  if (!set.contains("train.epochs") || train.epochs() == 0) {
    train.set_epochs(train.max_steps() == 0 && train.max_tokens() == 0 ? 1 : 0);
  }
  const bool by_batches = spec.eval().batches() > 0;
  if (by_batches && !set.contains("eval.tokens")) spec.mutable_eval()->set_tokens(0);
  // The trainer wants every field, so fields that another client left empty are created.
  spec.mutable_retries();
  spec.mutable_checkpoint()->mutable_every();
  v1::Precision& precision = *spec.mutable_precision();
  if (precision.compute() == "auto") {
    if (spec.resources().device() == "cuda") precision.set_compute("bf16");
    if (spec.resources().device() == "cpu") precision.set_compute("fp32");
  }
}

// Resolves a program's trial: fields that are not for programs stay empty, and its words get the
// values.
absl::StatusOr<v1::Spec> ResolveProgram(const v1::ExperimentSpec& spec,
                                        const std::vector<v1::Assignment>& assignments) {
  const v1::Spec& base = spec.base();
  v1::Spec trial;
  trial.set_seed(base.seed());
  *trial.mutable_resources() = base.resources();
  trial.mutable_checkpoint()->set_keep_latest(base.checkpoint().keep_latest());
  trial.mutable_checkpoint()->set_keep_best(base.checkpoint().keep_best());
  trial.mutable_checkpoint()->set_folder(base.checkpoint().folder());
  *trial.mutable_stop() = base.stop();
  trial.mutable_stop()->clear_nonfinite();
  *trial.mutable_retries() = base.retries();
  *trial.mutable_command() = base.command();
  trial.set_run(base.run());
  trial.set_workdir(base.workdir());
  trial.set_code(base.code());
  trial.set_steps(base.steps());
  trial.set_launcher(base.launcher());
  if (base.has_timeout()) *trial.mutable_timeout() = base.timeout();
  if (base.has_environment()) *trial.mutable_environment() = base.environment();
  if (base.has_metrics()) *trial.mutable_metrics() = base.metrics();
  for (const v1::Assignment& assignment : assignments) {
    const Field* field = FindField(assignment.path());
    if (field != nullptr && Concerns(trial, *field)) {
      DT_RETURN_IF_ERROR(SetField(trial, assignment.path(), assignment.value()));
    }
    // A value from `seeds` belongs to no parameter.
    if (assignment.path() != "seed" || IsSwept(spec, "seed")) *trial.add_values() = assignment;
  }
  DT_RETURN_IF_ERROR(SubstituteAll(trial, InactiveNames(spec, assignments)));
  return trial;
}

}  // namespace

int32_t internal::VocabularyOf(std::string_view tokenizer) {
  if (tokenizer == "auto") return 0;
  return tokenizer == "byte" ? kByteVocabulary : kGpt2Vocabulary;
}

v1::Spec DefaultSpec() {
  static const auto* defaults = [] {
    auto* spec = new v1::Spec();
    for (const Field& field : FieldTable()) {
      if (field.default_kind != DefaultKind::kFixed) continue;
      const absl::StatusOr<v1::Value> value = ParseValue(field, field.default_text);
      DT_CHECK(value.ok() && SetField(*spec, field.path, *value).ok());
    }
    return spec;
  }();
  return *defaults;
}

v1::ExperimentSpec DefaultExperiment() {
  v1::ExperimentSpec spec;
  spec.set_version(1);
  *spec.mutable_base() = DefaultSpec();
  for (const Field& field : ExperimentFieldTable()) {
    if (field.default_kind != DefaultKind::kFixed) continue;
    const absl::StatusOr<v1::Value> value = ParseValue(field, field.default_text);
    DT_CHECK(value.ok() && SetExperimentField(spec, field.path, *value).ok());
  }
  return spec;
}

bool IsSwept(const v1::ExperimentSpec& spec, std::string_view path) {
  return std::any_of(spec.parameters().begin(), spec.parameters().end(),
                     [&](const v1::Parameter& parameter) { return parameter.path() == path; });
}

bool IsExplicit(const v1::ExperimentSpec& spec, std::string_view path) {
  const auto& paths = spec.explicit_paths();
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

absl::StatusOr<v1::Spec> ResolveTrial(const v1::ExperimentSpec& spec,
                                      const std::vector<v1::Assignment>& assignments) {
  if (IsProgram(spec.base())) return ResolveProgram(spec, assignments);
  v1::Spec trial = spec.base();
  PathSet set(spec.explicit_paths().begin(), spec.explicit_paths().end());
  for (const v1::Assignment& assignment : assignments) {
    DT_RETURN_IF_ERROR(SetField(trial, assignment.path(), assignment.value()));
    set.insert(assignment.path());
  }
  FillModel(set, trial);
  FillTraining(set, trial);
  return trial;
}

v1::ExperimentSpec FilledIn(const v1::ExperimentSpec& spec) {
  const absl::StatusOr<std::vector<v1::ExpandedTrial>> expanded = Expand(spec);
  if (!expanded.ok()) return spec;
  std::vector<v1::Spec> trials;
  bool resolved = true;
  internal::ForEachSample(spec, [&](const internal::Sample& sample) {
    absl::StatusOr<v1::Spec> trial = ResolveTrial(spec, sample.assignments);
    resolved = trial.ok();
    if (resolved) trials.push_back(*std::move(trial));
    return resolved;
  });
  if (!resolved || trials.empty()) return spec;
  PathSet swept;
  if (!spec.seeds().empty()) swept.insert("seed");
  for (const v1::Parameter& parameter : spec.parameters()) swept.insert(parameter.path());
  const bool warms_for_steps = std::any_of(trials.begin(), trials.end(), [](const v1::Spec& trial) {
    return trial.schedule().warmup_steps() >= 0;
  });
  // The batch is given in another way.
  const bool batch_derived = std::any_of(trials.begin(), trials.end(), [](const v1::Spec& trial) {
    return trial.train().global_batch_tokens() > 0 || trial.parallel().microbatches() > 0;
  });
  v1::ExperimentSpec filled = spec;
  for (const Field& field : FieldTable()) {
    if (!HoldsValue(field) || swept.contains(field.path)) continue;
    if (!Concerns(spec, field)) continue;
    // These get values written into them; the file has them before that.
    if (field.path == "run" || field.path == "workdir") continue;
    if (field.path == "schedule.warmup_ratio" && warms_for_steps) continue;
    if (field.path == "train.global_batch_size" && batch_derived) continue;
    const v1::Value value = GetField(trials.front(), field.path);
    const bool shared = std::all_of(trials.begin(), trials.end(), [&](const v1::Spec& trial) {
      return SameValue(GetField(trial, field.path), value);
    });
    if (!shared || !SetField(*filled.mutable_base(), field.path, value).ok()) continue;
    if (!IsExplicit(filled, field.path)) filled.add_explicit_paths(field.path);
  }
  return filled;
}

void Freeze(v1::ExperimentSpec& spec, std::string_view device, int64_t seed) {
  v1::Resources& resources = *spec.mutable_base()->mutable_resources();
  if (resources.device() == "auto" || resources.device().empty()) {
    resources.set_device(std::string(device));
    if (!IsExplicit(spec, "resources.device")) spec.add_explicit_paths("resources.device");
  }
  // An experiment without a launcher in the journal is one of an older version.
  if (IsProgram(spec) && spec.base().launcher().empty()) {
    spec.mutable_base()->set_launcher("auto");
    spec.add_explicit_paths("launcher");
  }
  if (IsProgram(spec) && spec.base().timeout().report().empty()) {
    spec.mutable_base()->mutable_timeout()->set_report("auto");
    spec.add_explicit_paths("timeout.report");
  }
  v1::Search& search = *spec.mutable_search();
  if (HasSeveralObjectives(search)) {
    const std::vector<Objective> objectives = ObjectivesOf(search);
    search.clear_goals();
    for (const Objective& one : objectives) search.add_goals(one.goal);
    search.set_metric(objectives.front().metric);
    search.set_goal(objectives.front().goal);
  }
  search.set_goal(GoalOf(search));
  if (search.method() == "asha") {
    const Ladder ladder = LadderOf(search);
    search.mutable_asha()->set_eta(ladder.eta);
    search.mutable_asha()->set_rungs(ladder.rungs);
    search.mutable_asha()->set_brackets(ladder.brackets);
    if (search.sampler().empty()) search.set_sampler("random");
  }
  if (IsPopulation(spec)) {
    const Population population = PopulationOf(search);
    search.mutable_pbt()->set_every(population.every);
    search.mutable_pbt()->set_quantile(population.quantile);
    search.mutable_pbt()->set_resample(population.resample);
  }
  if (!IsSwept(spec, "seed") && spec.seeds().empty() && !IsExplicit(spec, "seed")) {
    // Another client may set a seed without listing it; a message without a seed holds 0.
    if (spec.base().seed() != 0) seed = spec.base().seed();
    spec.mutable_base()->set_seed(seed);
    spec.add_explicit_paths("seed");
  }
}

}  // namespace dt::spec
