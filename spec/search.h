// search.h: the meaning of an experiment's search: which sampler chooses its trials, from which
// space, and for how many steps.
//
// Role:    pure; dtctl's announcement before a submit and the coordinator's decisions use the same
//          functions.
// Errors:  CheckRange gives Issues; SpaceOf InvalidArgument if Validate would have an Issue.
// Tests:   tests/spec/file/search_file_test.cc, tests/spec/draws_test.cc
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
// Returns the sampler that chooses trials: the method's, or that of asha.
Sampler SamplerOf(const v1::ExperimentSpec& spec);
// Returns how a message names the sampler: "method random", "sampler random".
std::string SamplerText(const v1::ExperimentSpec& spec);
// Returns minimize or maximize: from the file, else from the last word of the metric's name; "" if
// that is unknown, or another word reverses it ("neg_mean_squared_error", "brier_score").
std::string GoalOf(const v1::Search& search);
// Returns the numbers of search.asha, with defaults for those not given.
Ladder LadderOf(const v1::Search& search);
// Returns the same for search.pbt.
Population PopulationOf(const v1::Search& search);
bool IsPopulation(const v1::ExperimentSpec& spec);
// Returns the number of trials of one configuration. They differ only in their seed and have
// consecutive numbers: one for each of `seeds`, or one.
uint32_t ReplicatesOf(const v1::ExperimentSpec& spec);
// Returns how many trials a search with max_trials has in the end.
uint32_t PlannedTrials(const v1::ExperimentSpec& spec);
// Adds the trials of the configuration with these values to `trials`, numbered from `before` + 1.
// `choices`: the places of the values in the lists of a grid; empty: none.
void AddReplicates(const v1::ExperimentSpec& spec, const std::vector<v1::Assignment>& values,
                   const std::vector<size_t>& choices, size_t before,
                   google::protobuf::RepeatedPtrField<v1::ExpandedTrial>& trials);
// Draws that one extension of a random search may take. They are checked within one step of the
// coordinator's core and take a fifth of a second (bench/coordinator/extending.cc). With many
// parameters, or exclusions over many different ones, each draw takes longer, so there are fewer.
inline constexpr size_t kDrawsAtOnce = 50'000;
// Returns, for method random, the trials that `count` as search.max_trials adds to those of this
// specification. `known` has the values of one trial of each existing configuration. Errors:
// ResourceExhausted if they take more than kDrawsAtOnce draws. REQUIRES: `known` is not empty.
absl::StatusOr<std::vector<v1::ExpandedTrial>> ExpandFurther(
    const v1::ExperimentSpec& spec, const std::vector<std::vector<v1::Assignment>>& known,
    uint32_t count);
// Returns the seed of the draws: the file's seed, or the first of `seeds`.
uint64_t SearchSeed(const v1::ExperimentSpec& spec);

// The largest weight of `probabilities`, so that the sum stays finite.
inline constexpr double kWeightMax = 1e9;
// Bounds of a range are at most this far from 0, and no nearer to each other, or to 0 on a
// logarithmic scale, than its inverse. So their differences, ratios and squares stay finite.
inline constexpr double kBoundMost = 1e150;
// Returns the issues of a range of `field` under `parameters`.
std::vector<Issue> CheckRange(const Field& field, const v1::Range& range);
// REQUIRES: CheckRange is empty.
Dimension DimensionOf(const Field& field, const v1::Range& range);
// Returns the space that varies. Lists of numbers are sorted, since their order in the file has no
// meaning. REQUIRES: SamplerOf(spec) is not kGrid; in a grid ranges have become lists.
absl::StatusOr<Space> SpaceOf(const v1::ExperimentSpec& spec);

// Returns the optimizer steps of a resolved trial; nullopt: the data decide, or the trial is a
// program without steps.
std::optional<uint64_t> TargetSteps(const v1::Spec& trial);
uint64_t WarmupSteps(const v1::Spec& trial, uint64_t target_steps);
// The steps at which asha judges, or pbt compares, trial 1 or a stand-in for a trial that is
// proposed later: its rungs outside the warm-up, and its end. Zero: the data decide.
struct RungPlan {
  std::vector<uint64_t> steps;
  uint64_t target_steps = 0;
};
RungPlan RungsOf(const v1::ExperimentSpec& spec);

// Returns whether a combination may be a trial: not excluded, and no rule broken. Its tables are
// made once. REQUIRES: `spec` outlives it.
using Admits = std::function<bool(const std::vector<v1::Assignment>& assignments)>;
Admits AdmissionTo(const v1::ExperimentSpec& spec);

}  // namespace dt::spec
