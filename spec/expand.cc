// expand.cc: the grid: every combination of the parameters' values, less the excluded ones.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "spec/internal.h"
#include "spec/spec.h"

namespace dt::spec {
namespace internal {
namespace {

// A parameter's values by their canonical text.
using Index = std::map<std::string, size_t>;

Index MakeIndex(const v1::Parameter& parameter) {
  Index index;
  const Field* field = FindField(parameter.path());
  for (int v = 0; field != nullptr && v < parameter.values_size(); ++v) {
    const ReadValue value = Canonical(*field, parameter.values(v));
    if (value.value) index.emplace(ValueText(*value.value), static_cast<size_t>(v));
  }
  return index;
}

}  // namespace

Grid MakeGrid(const v1::ExperimentSpec& spec) {
  Grid grid;
  std::map<std::string, std::pair<size_t, Index>> by_path;
  for (const v1::Parameter& parameter : spec.parameters()) {
    by_path.try_emplace(parameter.path(), by_path.size(), MakeIndex(parameter));
  }
  // Where an excluded value stands among a parameter's values; nullopt: it is none of them.
  const auto find = [&](const v1::Assignment& where) -> std::optional<std::pair<size_t, size_t>> {
    const auto parameter = by_path.find(where.path());
    if (parameter == by_path.end() || parameter->second.second.empty()) return std::nullopt;
    const ReadValue wanted = Canonical(*FindField(where.path()), where.value());
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
  return grid;
}

void ForEachTrial(const Grid& grid, const std::function<bool(const std::vector<size_t>&)>& visit) {
  std::vector<size_t> at(grid.sizes.size(), 0);
  const auto is_excluded = [&](const auto& exclusion) {
    return !exclusion.empty() &&
           std::all_of(exclusion.begin(), exclusion.end(),
                       [&](const auto& pair) { return at[pair.first] == pair.second; });
  };
  for (size_t i = 0; i < grid.combinations; ++i) {
    const bool excluded = std::any_of(grid.excluded.begin(), grid.excluded.end(), is_excluded);
    if (!excluded && !visit(at)) return;
    for (size_t p = at.size(); p-- > 0;) {  // the last parameter varies fastest
      if (++at[p] < grid.sizes[p]) break;
      at[p] = 0;
    }
  }
}

std::vector<v1::Assignment> AssignmentsAt(const v1::ExperimentSpec& spec,
                                          const std::vector<size_t>& indices) {
  std::vector<v1::Assignment> assignments(indices.size());
  for (size_t p = 0; p < indices.size(); ++p) {
    const v1::Parameter& parameter = spec.parameters(static_cast<int>(p));
    assignments[p].set_path(parameter.path());
    *assignments[p].mutable_value() = parameter.values(static_cast<int>(indices[p]));
  }
  return assignments;
}

}  // namespace internal

absl::StatusOr<std::vector<v1::ExpandedTrial>> Expand(const v1::ExperimentSpec& spec) {
  const internal::Grid grid = internal::MakeGrid(spec);
  if (grid.combinations >= limits::kCombinations) {
    return absl::InvalidArgumentError(
        absl::StrCat("the grid has ", limits::kCombinations,
                     " combinations or more before exclude; give fewer values"));
  }
  std::vector<v1::ExpandedTrial> trials;
  internal::ForEachTrial(grid, [&](const std::vector<size_t>& at) {
    v1::ExpandedTrial& trial = trials.emplace_back();
    trial.set_trial(static_cast<uint32_t>(trials.size()));
    for (v1::Assignment& assignment : internal::AssignmentsAt(spec, at)) {
      *trial.add_assignments() = std::move(assignment);
    }
    for (const size_t place : at) trial.add_choices(static_cast<uint32_t>(place));
    return trials.size() <= limits::kTrialsPerExperiment;
  });
  if (trials.size() > limits::kTrialsPerExperiment) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the grid has more than ", limits::kTrialsPerExperiment, " trials; give fewer values"));
  }
  if (trials.empty()) {
    return absl::InvalidArgumentError("no trial is left: exclude removes every combination");
  }
  return trials;
}

}  // namespace dt::spec
