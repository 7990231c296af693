// expand.cc: the trials of an experiment: every combination of a grid, or the drawn ones, each once
// for each seed.
#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "spec/conditions.h"
#include "spec/internal.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt::spec {
namespace internal {

namespace {

// Fills in the conditions. If they cannot be read, there are none; Validate reports them.
void AddConditions(const v1::ExperimentSpec& spec, const ParameterFields& fields, Grid& grid) {
  if (!HasConditions(spec)) return;
  Space space;
  for (const v1::Parameter& parameter : spec.parameters()) {
    Dimension& dimension = space.dimensions.emplace_back();
    dimension.path = parameter.path();
    dimension.kind = DimensionKind::kChoice;
    const Field* field = fields.Find(parameter.path());
    for (const v1::Value& value : parameter.values()) {
      ReadValue read;
      if (field != nullptr) read = Canonical(*field, value);
      dimension.values.push_back(read.value ? *std::move(read.value) : value);
    }
  }
  if (AddNeeds(spec, fields, space).ok()) grid.conditions = std::move(space);
}

// Returns the places with kAbsent for inactive parameters; nullopt: other places are the first with
// the same values.
std::optional<std::vector<size_t>> ActiveAt(const Grid& grid, const std::vector<size_t>& at) {
  Point point(at.begin(), at.end());
  Deactivate(grid.conditions, point);
  std::vector<size_t> active = at;
  for (size_t p = 0; p < at.size(); ++p) {
    if (point[p] != kInactive) continue;
    if (at[p] != 0) return std::nullopt;
    active[p] = kAbsent;
  }
  return active;
}

}  // namespace

Places PlacesOf(const v1::Parameter& parameter, const ParameterFields& fields) {
  Places places;
  const Field* field = fields.Find(parameter.path());
  for (int v = 0; field != nullptr && v < parameter.values_size(); ++v) {
    const ReadValue value = Canonical(*field, parameter.values(v));
    if (value.value) places.emplace(ValueText(*value.value), static_cast<size_t>(v));
  }
  return places;
}

Grid MakeGrid(const v1::ExperimentSpec& spec) {
  Grid grid;
  const ParameterFields fields(spec);
  std::map<std::string, std::pair<size_t, Places>> by_path;
  for (const v1::Parameter& parameter : spec.parameters()) {
    by_path.try_emplace(parameter.path(), by_path.size(), PlacesOf(parameter, fields));
  }
  // Returns where an excluded value stands among a parameter's values; nullopt: it is not among
  // them.
  const auto find = [&](const v1::Assignment& where) -> std::optional<std::pair<size_t, size_t>> {
    const auto parameter = by_path.find(where.path());
    if (parameter == by_path.end() || parameter->second.second.empty()) return std::nullopt;
    const ReadValue wanted = Canonical(*fields.Find(where.path()), where.value());
    if (!wanted.value) return std::nullopt;
    const auto value = parameter->second.second.find(ValueText(*wanted.value));
    if (value == parameter->second.second.end()) return std::nullopt;
    return std::make_pair(parameter->second.first, value->second);
  };
  for (const v1::Parameter& parameter : spec.parameters()) {
    const size_t size = static_cast<size_t>(parameter.values_size());
    grid.sizes.push_back(size);
    grid.combinations = size != 0 && grid.combinations > limits::kCombinations / size
                            ? limits::kCombinations
                            : grid.combinations * size;
  }
  for (const v1::Exclusion& exclusion : spec.exclude()) {
    std::vector<std::pair<size_t, size_t>> all;
    for (const v1::Assignment& where : exclusion.where()) {
      const auto found = find(where);
      if (!found) {
        all.clear();
        break;
      }
      all.push_back(*found);
    }
    if (!all.empty()) grid.excluded.push_back(std::move(all));
  }
  AddConditions(spec, fields, grid);
  return grid;
}

void ForEachTrial(const Grid& grid, const std::function<bool(const std::vector<size_t>&)>& visit) {
  const bool conditional = !grid.conditions.dimensions.empty();
  const auto is_excluded = [&grid](const std::vector<size_t>& at) {
    return std::any_of(grid.excluded.begin(), grid.excluded.end(), [&](const auto& exclusion) {
      return !exclusion.empty() &&
             std::all_of(exclusion.begin(), exclusion.end(),
                         [&](const auto& pair) { return at[pair.first] == pair.second; });
    });
  };
  std::vector<size_t> at(grid.sizes.size(), 0);
  constexpr size_t kAskEvery = 64;  // 64 combinations against a thousand exclusions each: some
                                    // milliseconds
  for (size_t i = 0; i < grid.combinations; ++i) {
    if (i % kAskEvery == 0 && !GoesOn(grid.may_go_on)) return;
    std::optional<std::vector<size_t>> active;
    if (conditional) active = ActiveAt(grid, at);
    if (!conditional && !is_excluded(at) && !visit(at)) return;
    if (active && !is_excluded(*active) && !visit(*active)) return;
    for (size_t p = at.size(); p-- > 0;) {  // the last parameter varies fastest
      if (++at[p] < grid.sizes[p]) break;
      at[p] = 0;
    }
  }
}

std::vector<v1::Assignment> AssignmentsAt(const v1::ExperimentSpec& spec,
                                          const std::vector<size_t>& indices) {
  std::vector<v1::Assignment> assignments;
  assignments.reserve(indices.size());
  for (size_t p = 0; p < indices.size(); ++p) {
    if (indices[p] == kAbsent) continue;
    const v1::Parameter& parameter = spec.parameters(static_cast<int>(p));
    v1::Assignment& assignment = assignments.emplace_back();
    assignment.set_path(parameter.path());
    *assignment.mutable_value() = parameter.values(static_cast<int>(indices[p]));
  }
  return assignments;
}

Sample SampleAt(const v1::ExperimentSpec& spec, const std::vector<size_t>& at) {
  Sample sample{AssignmentsAt(spec, at), {}};
  if (sample.assignments.size() == at.size()) sample.at = at;
  return sample;
}

}  // namespace internal

namespace {

// A configuration: its values, and their places in the lists of a grid.
struct Configuration {
  std::vector<v1::Assignment> assignments;
  std::vector<size_t> at;
};

absl::Status TooMany(size_t have) {
  return absl::InvalidArgumentError(absl::StrCat("the experiment has ", have,
                                                 " trials or more; at "
                                                 "most ",
                                                 limits::kTrialsPerExperiment,
                                                 " are allowed; give fewer values or seeds"));
}

absl::Status OutOfTime() {
  return absl::DeadlineExceededError(
      "drawing and checking its trials takes longer than the call may wait; give it more time, "
      "fewer trials, or fewer exclusions");
}

absl::StatusOr<std::vector<Configuration>> OfGrid(const v1::ExperimentSpec& spec,
                                                  const MayGoOn& may_go_on) {
  internal::Grid grid = internal::MakeGrid(spec);
  grid.may_go_on = may_go_on;
  if (grid.combinations >= limits::kCombinations) {
    return absl::InvalidArgumentError(
        absl::StrCat("the grid has ", limits::kCombinations,
                     " combinations or more before exclude; give fewer values"));
  }
  std::vector<Configuration> configurations;
  internal::ForEachTrial(grid, [&](const std::vector<size_t>& at) {
    internal::Sample sample = internal::SampleAt(spec, at);
    configurations.push_back({std::move(sample.assignments), std::move(sample.at)});
    return configurations.size() <= limits::kTrialsPerExperiment;
  });
  if (!GoesOn(may_go_on)) return OutOfTime();
  for (const v1::Inclusion& included : spec.include()) {
    configurations.push_back({internal::IncludedAt(spec, included), {}});
  }
  if (configurations.empty()) {
    return absl::InvalidArgumentError("no trial is left: exclude removes every combination");
  }
  return configurations;
}

absl::StatusOr<std::vector<Configuration>> Choose(const v1::ExperimentSpec& spec,
                                                  const MayGoOn& may_go_on) {
  std::vector<Configuration> configurations;
  switch (SamplerOf(spec)) {
    case Sampler::kGrid:
      return OfGrid(spec, may_go_on);
    case Sampler::kRandom: {
      const size_t count = static_cast<size_t>(spec.search().max_trials());
      if (count > limits::kTrialsPerExperiment) return TooMany(count);
      DT_ASSIGN_OR_RETURN(const Space space, SpaceOf(spec));
      for (auto& assignments : internal::DrawConfigurations(spec, space, count, may_go_on)) {
        configurations.push_back({std::move(assignments), {}});
      }
      if (!GoesOn(may_go_on)) return OutOfTime();
      if (configurations.empty()) {
        return absl::InvalidArgumentError(
            "no trial is left: no drawn combination passes the checks; widen a range");
      }
      return configurations;
    }
    case Sampler::kBayes:  // the others are proposed while these train
      for (const v1::Inclusion& included : spec.include()) {
        configurations.push_back({internal::IncludedAt(spec, included), {}});
      }
      return configurations;
  }
  return configurations;
}

}  // namespace

absl::StatusOr<std::vector<v1::ExpandedTrial>> Expand(const v1::ExperimentSpec& spec,
                                                      const MayGoOn& may_go_on) {
  DT_ASSIGN_OR_RETURN(const std::vector<Configuration> configurations, Choose(spec, may_go_on));
  const size_t replicates = ReplicatesOf(spec);
  if (configurations.size() > limits::kTrialsPerExperiment / replicates) {
    return TooMany(configurations.size() * replicates);
  }
  google::protobuf::RepeatedPtrField<v1::ExpandedTrial> trials;
  trials.Reserve(static_cast<int>(configurations.size() * replicates));
  for (const Configuration& one : configurations) {
    AddReplicates(spec, one.assignments, one.at, static_cast<size_t>(trials.size()), trials);
  }
  return std::vector<v1::ExpandedTrial>(std::make_move_iterator(trials.begin()),
                                        std::make_move_iterator(trials.end()));
}

absl::StatusOr<std::vector<v1::ExpandedTrial>> ExpandFurther(
    const v1::ExperimentSpec& spec, const std::vector<std::vector<v1::Assignment>>& known,
    uint32_t count) {
  DT_ASSIGN_OR_RETURN(const Space space, SpaceOf(spec));
  const auto before = static_cast<size_t>(spec.search().max_trials());
  const auto further = internal::DrawFurther(spec, space, known, before, count);
  if (!further.has_value()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(count - before, " further trials take more than ",
                     kDrawsAtOnce / internal::Admission(spec).Cost(),
                     " draws, which is the most at a time; raise max_trials by less"));
  }
  google::protobuf::RepeatedPtrField<v1::ExpandedTrial> trials;
  const size_t there = known.size() * ReplicatesOf(spec);
  for (const std::vector<v1::Assignment>& values : *further) {
    AddReplicates(spec, values, {}, there + static_cast<size_t>(trials.size()), trials);
  }
  return std::vector<v1::ExpandedTrial>(std::make_move_iterator(trials.begin()),
                                        std::make_move_iterator(trials.end()));
}

}  // namespace dt::spec
