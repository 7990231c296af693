// search.h: what an experiment's words for search come to: who chooses its trials, among what, and
// for how many steps.
//
// Role:    pure; what dtctl says before a submit and what the coordinator does are the same.
// Errors:  CheckRange gives Issues; SpaceOf InvalidArgument where Validate would have an Issue.
// Tests:   tests/spec/search_test.cc, tests/spec/draws_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "spec/rungs.h"
#include "spec/space.h"
#include "spec/spec.h"

namespace dt::spec {

enum class Sampler { kGrid, kRandom, kBayes };
// Who chooses trials: the method, or the sampler of asha.
Sampler SamplerOf(const v1::ExperimentSpec& spec);
// "method random", "sampler random": how a message names it.
std::string SamplerText(const v1::ExperimentSpec& spec);
// minimize or maximize: what the file says, else what the metric is meant for by its last word; ""
// where that tells nothing, or another word turns it round ("neg_mean_squared_error", "brier_score").
std::string GoalOf(const v1::Search& search);
// The numbers of search.asha, with their defaults where it says none.
Ladder LadderOf(const v1::Search& search);
// The same of search.pbt.
Population PopulationOf(const v1::Search& search);
bool IsPopulation(const v1::ExperimentSpec& spec);
// Trials of one configuration, which differ in their seed alone and are neighbours by number: one
// for each of seeds, or one.
uint32_t ReplicatesOf(const v1::ExperimentSpec& spec);
// How many trials a search by max_trials is to have in the end.
uint32_t PlannedTrials(const v1::ExperimentSpec& spec);
// Adds the trials of the configuration with these values to `trials`, numbered on from `before`
// trials. `choices`: where the values stand in the lists of a grid; empty: in none.
void AddReplicates(const v1::ExperimentSpec& spec, const std::vector<v1::Assignment>& values,
                   const std::vector<size_t>& choices, size_t before,
                   google::protobuf::RepeatedPtrField<v1::ExpandedTrial>& trials);
// Draws that one extension of a random search may take: they are checked within one step of the
// coordinator's core, and take a fifth of a second (bench/coordinator/extending.cc).
// Fewer where there are many parameters, or many exclusions of different ones: each draw then takes
// longer.
inline constexpr size_t kDrawsAtOnce = 50'000;
// Under random, the trials that search.max_trials `count` has more than this specification gave: it
// begins with those of `known`, the values of one trial of each of its configurations. Errors:
// ResourceExhausted where they take more than kDrawsAtOnce draws.
// REQUIRES: `known` is not empty.
absl::StatusOr<std::vector<v1::ExpandedTrial>> ExpandFurther(
    const v1::ExperimentSpec& spec, const std::vector<std::vector<v1::Assignment>>& known,
    uint32_t count);
// The seed of draws: the file's seed, or the first of seeds.
uint64_t SearchSeed(const v1::ExperimentSpec& spec);

// The largest weight of `probabilities`: their sum stays a number.
inline constexpr double kWeightMax = 1e9;
// Bounds of a range are this far from 0 at most, and no nearer to each other, or to 0 on a
// logarithmic scale, than its inverse: differences, ratios and squares of them are numbers then.
inline constexpr double kBoundMost = 1e150;
// What is wrong with a range of `field` under `parameters`.
std::vector<Issue> CheckRange(const Field& field, const v1::Range& range);
// REQUIRES: CheckRange is empty.
Dimension DimensionOf(const Field& field, const v1::Range& range);
// What varies. Lists of numbers are sorted, since their order in the file means nothing.
// REQUIRES: SamplerOf(spec) is not kGrid; of a grid ranges have become lists.
absl::StatusOr<Space> SpaceOf(const v1::ExperimentSpec& spec);

// Optimizer steps of a resolved trial; nullopt: the data decide, or a program does not say.
std::optional<uint64_t> TargetSteps(const v1::Spec& trial);
uint64_t WarmupSteps(const v1::Spec& trial, uint64_t target_steps);
// Where asha judges trial 1, or what stands for a trial that is proposed later, and where pbt
// compares it: the steps of its rungs, without those within its warm-up, and of its end. Zero: the
// data decide.
struct RungPlan {
  std::vector<uint64_t> steps;
  uint64_t target_steps = 0;
};
RungPlan RungsOf(const v1::ExperimentSpec& spec);

// Whether a combination may be a trial: exclude does not name it, and no rule is broken. Its tables
// are made once. REQUIRES: `spec` outlives it.
using Admits = std::function<bool(const std::vector<v1::Assignment>& assignments)>;
Admits AdmissionTo(const v1::ExperimentSpec& spec);

}  // namespace dt::spec
