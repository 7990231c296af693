#include "spec/conditions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"

namespace dt::spec {
namespace {

std::string CanonicalText(const Field* field, const v1::Value& value) {
  if (field == nullptr) return ValueText(value);
  const ReadValue read = Canonical(*field, value);
  return ValueText(read.value ? *read.value : value);
}

// Follows conditions from parameter to parameter.
class CircleSearch {
 public:
  explicit CircleSearch(const v1::ExperimentSpec& spec) {
    for (const v1::Parameter& parameter : spec.parameters()) {
      for (const v1::Condition& condition : parameter.when()) {
        needed_[parameter.path()].push_back(condition.path());
      }
    }
  }

  std::vector<std::string> Find() {
    for (const auto& [path, others] : needed_) {
      if (Visit(path)) return way_;
    }
    return {};
  }

 private:
  // Returns whether it met a circle, which is then in way_.
  bool Visit(const std::string& path) {
    const auto begun = std::find(way_.begin(), way_.end(), path);
    if (begun != way_.end()) {
      way_.erase(way_.begin(), begun);
      return true;
    }
    const auto found = needed_.find(path);
    if (found == needed_.end() || !visited_.insert(path).second) return false;
    way_.push_back(path);
    for (const std::string& other : found->second) {
      if (Visit(other)) return true;
    }
    way_.pop_back();
    return false;
  }

  std::map<std::string, std::vector<std::string>> needed_;
  std::set<std::string> visited_;
  std::vector<std::string> way_;
};

}  // namespace

bool HasConditions(const v1::ExperimentSpec& spec) {
  return std::any_of(spec.parameters().begin(), spec.parameters().end(),
                     [](const v1::Parameter& parameter) { return parameter.when_size() > 0; });
}

bool IsConditional(const v1::ExperimentSpec& spec, std::string_view path) {
  return std::any_of(spec.parameters().begin(), spec.parameters().end(),
                     [&](const v1::Parameter& parameter) {
                       return parameter.when_size() > 0 && parameter.path() == path;
                     });
}

std::vector<std::string> CircleIn(const v1::ExperimentSpec& spec) {
  return CircleSearch(spec).Find();
}

absl::Status AddNeeds(const v1::ExperimentSpec& spec, const ParameterFields& fields, Space& space) {
  if (!HasConditions(spec)) return absl::OkStatus();
  if (const auto circle = CircleIn(spec); !circle.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("conditions of parameters go in a circle: ", absl::StrJoin(circle, ", ")));
  }
  std::map<std::string, size_t> places;
  for (size_t d = 0; d < space.dimensions.size(); ++d) places[space.dimensions[d].path] = d;
  for (const v1::Parameter& parameter : spec.parameters()) {
    const auto own = places.find(parameter.path());
    for (const v1::Condition& condition : parameter.when()) {
      const auto other = places.find(condition.path());
      const Field* field = fields.Find(condition.path());
      if (own == places.end() || other == places.end() || field == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("parameters.", parameter.path(),
                                                       ".when: ", condition.path(),
                                                       " is not among parameters"));
      }
      Needed needed{.dimension = other->second, .any_of = {}};
      for (const v1::Value& value : condition.values()) {
        const ReadValue read = Canonical(*field, value);
        if (!read.value) continue;
        const auto number = NumberOf(space.dimensions[other->second], *read.value);
        if (number) needed.any_of.push_back(*number);
      }
      space.dimensions[own->second].needs.push_back(std::move(needed));
    }
  }
  return absl::OkStatus();
}

Conditions::Conditions(const v1::ExperimentSpec& spec) : fields_(spec) {
  for (const v1::Parameter& parameter : spec.parameters()) {
    for (const v1::Condition& condition : parameter.when()) {
      Condition& one = conditions_.emplace_back();
      one.parameter = parameter.path();
      one.other = condition.path();
      const Field* field = fields_.Find(condition.path());
      for (const v1::Value& value : condition.values()) {
        one.texts.insert(CanonicalText(field, value));
      }
    }
  }
}

std::set<std::string> Conditions::InactiveIn(const std::vector<v1::Assignment>& assignments) const {
  std::set<std::string> inactive;
  if (conditions_.empty()) return inactive;
  std::map<std::string, std::string> texts;
  for (const v1::Assignment& one : assignments) {
    texts[one.path()] = CanonicalText(fields_.Find(one.path()), one.value());
  }
  for (bool again = true; again;) {
    again = false;
    for (const Condition& condition : conditions_) {
      if (inactive.contains(condition.parameter)) continue;
      const auto text = texts.find(condition.other);
      const bool holds = !inactive.contains(condition.other) && text != texts.end() &&
                         condition.texts.contains(text->second);
      if (!holds) again = inactive.insert(condition.parameter).second;
    }
  }
  return inactive;
}

}  // namespace dt::spec
