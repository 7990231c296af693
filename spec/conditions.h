// conditions.h: parameters that only some trials have: those in which other parameters have the
// values that `when` names.
//
// Role:    pure. A parameter whose condition fails is inactive: the trial has no value of it. A
//          condition on an inactive parameter fails.
// Errors:  AddNeeds: InvalidArgument where Validate would have an Issue.
// Tests:   tests/spec/conditions_test.cc
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "spec/program.h"
#include "spec/space.h"
#include "spec/spec.h"

namespace dt::spec {

bool HasConditions(const v1::ExperimentSpec& spec);
// Returns whether trials may lack the parameter.
bool IsConditional(const v1::ExperimentSpec& spec, std::string_view path);

// Fills in `needs` of the dimensions. REQUIRES: `space` has a dimension for each parameter.
absl::Status AddNeeds(const v1::ExperimentSpec& spec, const ParameterFields& fields, Space& space);

// Returns the parameters of a circle in order, each with a condition on the next and the last on
// the first; empty: no circle.
std::vector<std::string> CircleIn(const v1::ExperimentSpec& spec);

// Returns the parameters that are inactive in a trial with these values.
class Conditions {
 public:
  // REQUIRES: `spec` outlives it.
  explicit Conditions(const v1::ExperimentSpec& spec);
  std::set<std::string> InactiveIn(const std::vector<v1::Assignment>& assignments) const;

 private:
  struct Condition {
    std::string parameter;
    std::string other;
    std::set<std::string> texts;  // of the other's values
  };
  const ParameterFields fields_;
  std::vector<Condition> conditions_;
};

}  // namespace dt::spec
