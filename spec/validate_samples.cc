// validate_samples.cc: checks that drawn combinations can be trained, how many trials there will
// be, and whether trials are long enough for their rungs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "spec/internal.h"
#include "spec/search.h"

namespace dt::spec {
namespace internal {
namespace {

// At least one in this many drawn combinations must pass, so that a search that draws up to
// limits::kRedraws times finds one.
constexpr int kOneIn = 20;

// The results of limits::kPointsChecked draws.
struct DrawCounts {
  int passed = 0;
  int excluded = 0;
  size_t bytes = 0;  // of all their assignments
  size_t included_bytes = 0;
};

// Draws points, and stops early if it may not go on.
DrawCounts Draw(const v1::ExperimentSpec& spec, TrialFindings& findings,
                const MayGoOn& may_go_on = {}) {
  const Admission admission(spec);
  const auto included = spec.include_size();
  DrawCounts draws;
  int seen = 0;
  ForEachSample(spec, [&](const Sample& sample) {
    if (!GoesOn(may_go_on)) return false;
    const bool is_included = ++seen <= included;
    for (const v1::Assignment& one : sample.assignments) {
      (is_included ? draws.included_bytes : draws.bytes) += one.ByteSizeLong();
    }
    if (is_included) return true;  // checked separately
    if (admission.Excludes(sample.assignments)) {
      ++draws.excluded;
    } else if (findings.Take(sample) == 0) {
      ++draws.passed;
    }
    return true;
  });
  return draws;
}

std::string ShareText(const DrawCounts& draws) {
  return absl::StrCat(draws.passed, " of ", limits::kPointsChecked,
                      " drawn combinations pass the checks");
}

void CheckPassing(const DrawCounts& draws, const TrialFindings& findings,
                  std::vector<Issue>& issues) {
  if (draws.passed * kOneIn >= limits::kPointsChecked) return;
  // A rule that every one of them breaks concerns the file, not the draws.
  std::vector<Issue> of_all = findings.Issues(
      "conflict", issues, static_cast<size_t>(limits::kPointsChecked - draws.excluded));
  if (draws.excluded < limits::kPointsChecked && !of_all.empty()) {
    for (Issue& issue : of_all) issues.push_back(std::move(issue));
    return;
  }
  const std::string rule = findings.Commonest();
  issues.push_back(
      {"parameters", "too_few",
       absl::StrCat(ShareText(draws), "; the rest: ",
                    rule.empty() ? absl::StrCat("exclude leaves out ", draws.excluded) : rule),
       absl::StrCat("at least 1 in ", kOneIn, " must; change the ranges")});
}

void CheckCount(const v1::ExperimentSpec& spec, const DrawCounts& draws,
                std::vector<Issue>& issues) {
  if (spec.search().max_trials() <= 0) return;  // reported separately
  const auto configurations = static_cast<size_t>(spec.search().max_trials());
  const size_t seeds = ReplicatesOf(spec);
  const size_t trials = configurations * seeds;
  if (trials > limits::kTrialsPerExperiment) {
    issues.push_back(
        {"seeds", "too_many_trials",
         absl::StrCat("search.max_trials ", configurations, " with ", seeds, " seeds makes ",
                      trials, " trials; at most ", limits::kTrialsPerExperiment, " are allowed"),
         "lower one of the two"});
    return;
  }
  const size_t included = std::min(configurations, static_cast<size_t>(spec.include_size()));
  const size_t drawn =
      draws.bytes / static_cast<size_t>(limits::kPointsChecked) * (configurations - included);
  const size_t bytes = (drawn + draws.included_bytes) * seeds;
  if (bytes <= limits::kTrialValuesBytes) return;
  issues.push_back({"parameters", "too_large",
                    absl::StrCat("the values of all ", trials, " trials have about ", bytes,
                                 " bytes; at most ", limits::kTrialValuesBytes, " are allowed"),
                    "give shorter values or fewer trials"});
}

// Returns trial 1, or a stand-in if it is proposed later; nullopt: there is none.
std::optional<v1::Spec> FirstTrial(const v1::ExperimentSpec& spec) {
  const Admission admission(spec);
  std::optional<v1::Spec> first;
  const auto take = [&](const Sample& sample) {
    if (!admission.Admits(sample.assignments)) return true;
    absl::StatusOr<v1::Spec> trial = ResolveTrial(spec, sample.assignments);
    if (trial.ok()) first = *std::move(trial);
    return !first.has_value();
  };
  if (SamplerOf(spec) == Sampler::kGrid) {  // included combinations come last in a grid
    ForEachTrial(MakeGrid(spec),
                 [&](const std::vector<size_t>& at) { return take(SampleAt(spec, at)); });
  }
  if (!first) ForEachSample(spec, take);
  return first;
}

// The steps of trial 1 of a ladder.
struct LadderSteps {
  uint64_t target_steps = 0;
  uint64_t warmup_steps = 0;
};
// Returns nullopt if there is none, or if the data decide its steps; the coordinator knows them
// once a trainer has read the data.
std::optional<LadderSteps> FirstLadderSteps(const v1::ExperimentSpec& spec) {
  if (spec.search().method() != "asha" && !IsPopulation(spec)) return std::nullopt;
  const std::optional<v1::Spec> trial = FirstTrial(spec);
  const std::optional<uint64_t> target = trial ? TargetSteps(*trial) : std::nullopt;
  if (!target) return std::nullopt;
  return LadderSteps{*target, WarmupSteps(*trial, *target)};
}

// Returns "1/27, 1/9 and 1/3".
std::string SharesText(const Ladder& ladder) {
  std::vector<std::string> shares;
  for (int rung = 1; rung <= ladder.rungs; ++rung) {
    shares.push_back(absl::StrCat("1/", DivisorOf(ladder, rung)));
  }
  const std::string last = shares.back();
  shares.pop_back();
  return shares.empty() ? last : absl::StrCat(absl::StrJoin(shares, ", "), " and ", last);
}

void CheckRungs(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const std::optional<LadderSteps> first = FirstLadderSteps(spec);
  if (!first) return;
  if (IsPopulation(spec)) {
    const double every = PopulationOf(spec.search()).every;
    if (every * static_cast<double>(first->target_steps) >= 1) return;
    issues.push_back({"search.pbt.every", "conflict",
                      absl::StrCat("search.pbt.every ", NumberText(every), " of trial 1's ",
                                   first->target_steps, " steps is less than one"),
                      "raise it, or train for more steps"});
    return;
  }
  const Ladder ladder = LadderOf(spec.search());
  if (first->target_steps >= DivisorOf(ladder, 1)) return;
  Ladder fitting = ladder;
  while (fitting.rungs > 1 && first->target_steps < DivisorOf(fitting, 1)) --fitting.rungs;
  const bool fits = first->target_steps >= DivisorOf(fitting, 1);
  issues.push_back(
      {"search.asha", "conflict",
       absl::StrCat("search.asha: trial 1 has ", first->target_steps,
                    " steps, too few for rungs at ", SharesText(ladder), " of it"),
       fits ? absl::StrCat("write search: {asha: {rungs: ", fitting.rungs, "}}, or longer trials")
            : "train for more steps"});
}

}  // namespace

void CheckSamples(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on,
                  std::vector<Issue>& issues) {
  if (SamplerOf(spec) != Sampler::kGrid) {
    TrialFindings findings(spec, CheckTrial);
    const DrawCounts draws = Draw(spec, findings, may_go_on);
    if (!GoesOn(may_go_on)) return;
    if (issues.empty() || !findings.FoundUnresolved()) CheckPassing(draws, findings, issues);
    CheckCount(spec, draws, issues);
  }
  if (issues.empty()) CheckRungs(spec, issues);  // else its numbers may be out of range
}

void QuestionSamples(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  if (SamplerOf(spec) != Sampler::kGrid) {
    TrialFindings findings(spec, CheckTrial);
    const DrawCounts draws = Draw(spec, findings);
    if (draws.passed < limits::kPointsChecked) {
      issues.push_back(
          {"parameters", "few_pass", ShareText(draws), "the search draws again if one does not"});
    }
  }
  const std::optional<LadderSteps> first = FirstLadderSteps(spec);
  if (!first || IsPopulation(spec)) return;
  const Ladder ladder = LadderOf(spec.search());
  for (int rung = 1; rung <= ladder.rungs; ++rung) {
    const uint64_t step = StepOf(ladder, rung, first->target_steps);
    if (step > first->warmup_steps) break;
    issues.push_back({"search.asha", "left_out",
                      absl::StrCat("rung ", rung, " (step ", step, ") lies within the ",
                                   first->warmup_steps, " steps of warm-up and is skipped"),
                      ""});
  }
}

}  // namespace internal

RungPlan RungsOf(const v1::ExperimentSpec& spec) {
  RungPlan plan;
  const auto first = internal::FirstLadderSteps(spec);
  if (!first) return plan;
  plan.target_steps = first->target_steps;
  const std::vector<RungStep> rungs =
      IsPopulation(spec)
          ? RungSteps(PopulationOf(spec.search()), first->target_steps, first->warmup_steps)
          : RungSteps(LadderOf(spec.search()), 0, first->target_steps, first->warmup_steps);
  for (const RungStep& rung : rungs) plan.steps.push_back(rung.step);
  return plan;
}

}  // namespace dt::spec
