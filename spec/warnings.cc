// warnings.cc: settings that are allowed but hardly intended. Few rules, each certain: a warning
// that is often wrong hides those that are right.
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "plan/stages.h"
#include "spec/internal.h"
#include "spec/objectives.h"
#include "spec/search.h"
#include "spec/sizes.h"
#include "spec/spec.h"

namespace dt::spec {
namespace internal {
namespace {

// AdamW changes each weight by about lr in a step, whatever the gradient: above this it trains
// nothing.
constexpr double kLargestUsualRate = 0.1;

void QuestionRate(const v1::Spec& trial, std::vector<Violation>& out) {
  const double rate = trial.optimizer().lr();
  if (rate <= kLargestUsualRate) return;
  out.push_back({"rate",
                 {"optimizer.lr"},
                 absl::StrCat("optimizer.lr ", NumberText(rate),
                              " is far above what AdamW trains with, 1.0e-5 to 1.0e-2"),
                 "check its exponent"});
}

void QuestionVocabulary(const v1::Spec& trial, std::vector<Violation>& out) {
  const int32_t size = trial.model().vocab_size();
  const int32_t tokens = VocabularyOf(trial.data().tokenizer());
  if (size >= tokens) return;  // with `auto` the shards decide
  out.push_back({"vocabulary",
                 {"model.vocab_size", "data.tokenizer"},
                 absl::StrCat("model.vocab_size ", size, " is less than the ", tokens,
                              " tokens of data.tokenizer ", trial.data().tokenizer(),
                              "; a trial ends at the first token beyond it"),
                 absl::StrCat("leave it out, or set it to ", tokens)});
}

// Returns a name that the pattern matches.
std::string NameLike(const std::string& pattern) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const size_t end = pattern[i] == '[' ? pattern.find(']', i + 2) : std::string::npos;
    if (end != std::string::npos) {
      name += pattern[i + 1];
      i = end;
    } else {
      name += pattern[i] == '*' || pattern[i] == '?' ? 'x' : pattern[i];
    }
  }
  return name;
}

void QuestionData(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Data& data = trial.data();
  if (data.train() != data.val() && !data.val().empty() &&
      ::fnmatch(data.train().c_str(), NameLike(data.val()).c_str(), FNM_PATHNAME) == 0) {
    out.push_back(
        {"overlapping_data",
         {"data.train", "data.val"},
         absl::StrCat("data.train ", Quote(data.train()), " matches the files of data.val ",
                      Quote(data.val()), " too; it trains on its validation data"),
         "make it narrower, such as train_*.bin"});
  }
  if (trial.data().train() != trial.data().val()) return;
  out.push_back({"same_data",
                 {"data.val", "data.train"},
                 absl::StrCat("data.val is data.train, ", Quote(trial.data().val()),
                              "; the validation loss is that of tokens it was trained on"),
                 "name shards that are kept apart"});
}

// Warns of Determined's default priority; there smaller numbers go first.
void QuestionPriority(const v1::Spec& trial, std::vector<Violation>& out) {
  constexpr int32_t kDetermined = 42;
  if (trial.resources().priority() != kDetermined) return;
  out.push_back({"priority",
                 {"resources.priority"},
                 "resources.priority 42 goes before every smaller number; in Determined, where it "
                 "is the default, it goes after them",
                 "leave it out, or choose larger numbers for trials that should go first"});
}

// Warns of a trial that cannot grow as far as the file allows.
void QuestionSizes(const v1::Spec& trial, std::vector<Violation>& out) {
  const int32_t most = trial.resources().max_gpus();
  const int32_t largest = LargestSize(trial);
  if (most <= largest) return;
  const std::optional<GangSizes> sizes = SizesOf(trial);
  out.push_back({"max_gpus",
                 {"resources.max_gpus", "train.global_batch_size", "train.batch_size"},
                 absl::StrCat("resources.max_gpus ", most, " is never reached: a global batch of ",
                              trial.train().global_batch_size(), " with train.batch_size ",
                              trial.train().batch_size(), " can be divided among ",
                              sizes.has_value() ? SizesText(*sizes) : absl::StrCat(largest),
                              largest == 1 ? " slot" : " slots"),
                 absl::StrCat("set train.global_batch_size to a multiple of ",
                              int64_t{trial.train().batch_size()} * (most / RanksOfModel(trial)))});
}

// Warns of a pipeline that waits for more than half of each step because few micro-batches fill it.
void QuestionPipeline(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Parallel& parallel = trial.parallel();
  const int64_t micro_steps = MicroStepsOf(trial);
  const double bubble = BubbleOf(trial);
  if (bubble < 0.3) return;
  out.push_back(
      {"bubble",
       {"parallel.pipeline", "parallel.microbatches", "train.global_batch_size"},
       absl::StrCat("each of the parallel.pipeline ", parallel.pipeline(), " stages waits ",
                    NumberText(std::round(100 * bubble)), " % of a step: it has ", micro_steps,
                    micro_steps == 1 ? " micro-batch" : " micro-batches"),
       absl::StrCat("set parallel.microbatches to ", 4 * parallel.pipeline(), " or more")});
}

// Warns of a field that is set but that no trial uses.
void QuestionUnused(const v1::Spec& trial, const PathSet& set, std::vector<Violation>& out) {
  const auto question = [&](const char* path, bool used, const char* needed) {
    if (used || !set.contains(path)) return;
    out.push_back({absl::StrCat("unused ", path),
                   {path},
                   absl::StrCat(path, " has no effect ", needed),
                   "remove it",
                   Reach::kAllTrials});
  };
  const std::string& schedule = trial.schedule().type();
  question("schedule.decay_ratio", schedule == "wsd", "unless schedule.type is wsd");
  question("schedule.min_lr_ratio", schedule != "constant", "with schedule.type constant");
  question("parallel.sequence", trial.parallel().tensor() > 1, "without parallel.tensor");
  question("parallel.schedule", trial.parallel().pipeline() > 1, "without parallel.pipeline");
  for (const char* path : {"eval.sample_prompt", "eval.sample_tokens", "eval.sample_temperature",
                           "eval.sample_top_k"}) {
    question(path, trial.eval().samples() > 0, "without eval.samples");
  }
}

}  // namespace

std::vector<Violation> QuestionTrial(const v1::Spec& trial, const PathSet& set) {
  std::vector<Violation> out;
  QuestionPriority(trial, out);
  if (IsProgram(trial)) return out;  // a program's behaviour is its own concern
  QuestionRate(trial, out);
  QuestionVocabulary(trial, out);
  QuestionData(trial, out);
  QuestionSizes(trial, out);
  QuestionPipeline(trial, out);
  QuestionUnused(trial, set, out);
  return out;
}

}  // namespace internal

namespace {

// Warns of trials that validate on different tokens: their losses are of different texts.
void QuestionValidation(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  if (IsProgram(spec.base())) return;
  const auto question = [&](const char* path, const char* swept, const std::string& why) {
    issues.push_back({path, "unlikely",
                      absl::StrCat(why, ", and ", swept,
                                   " is swept: trials are validated on different tokens, so their "
                                   "val_loss does not show which is better"),
                      "use one eval.tokens for all"});
  };
  for (const char* amount : {"eval.batches", "eval.tokens", "data.val"}) {
    if (IsSwept(spec, amount)) {
      question(amount, amount, "this field sets how much a validation reads");
    }
  }
  if (spec.base().eval().batches() <= 0 || IsSwept(spec, "eval.batches")) return;
  for (const char* size : {"train.batch_size", "train.seq_len"}) {
    if (!IsSwept(spec, size)) continue;
    question("eval.batches", size,
             absl::StrCat("eval.batches ", spec.base().eval().batches(), " are micro-batches"));
  }
}

}  // namespace

std::vector<Issue> Warnings(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on) {
  std::vector<Issue> issues;
  const v1::Search& search = spec.search();
  v1::Search unsaid = search;
  unsaid.clear_goal();
  const std::string goal = GoalOf(search);
  const bool one = !HasSeveralObjectives(search);
  if (one && !GoalOf(unsaid).empty() && goal != GoalOf(unsaid)) {
    issues.push_back({"search.goal", "unlikely",
                      absl::StrCat("search.goal ", goal, " takes the trial with the ",
                                   goal == "maximize" ? "highest " : "lowest ", search.metric(),
                                   " for the best"),
                      absl::StrCat("write ", GoalOf(unsaid), ", or leave it out")});
  }
  QuestionValidation(spec, issues);
  internal::QuestionSamples(spec, issues);
  internal::QuestionProgram(spec, issues);
  internal::TrialFindings findings(spec, internal::QuestionTrial);
  internal::ForEachSample(spec, [&](const internal::Sample& sample) {
    findings.Take(sample);
    return GoesOn(may_go_on);
  });
  for (Issue& issue : findings.Issues("unlikely", issues)) issues.push_back(std::move(issue));
  return issues;
}

}  // namespace dt::spec
