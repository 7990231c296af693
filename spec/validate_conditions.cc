// validate_conditions.cc: checks the conditions of parameters: each must be able to hold.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "spec/conditions.h"
#include "spec/internal.h"
#include "spec/search.h"

namespace dt::spec::internal {
namespace {

class ConditionCheck {
 public:
  ConditionCheck(const v1::ExperimentSpec& spec, std::vector<Issue>& issues)
      : spec_(spec), fields_(spec), issues_(issues) {}

  void Check() {
    const size_t before = issues_.size();
    for (const v1::Parameter& parameter : spec_.parameters()) {
      if (parameter.when().empty()) continue;
      where_ = absl::StrCat("parameters.", parameter.path(), ".when");
      CheckPlacing(parameter);
      std::set<std::string> named;
      for (const v1::Condition& condition : parameter.when()) {
        if (issues_.size() > limits::kIssues) return;
        if (!named.insert(condition.path()).second) {
          Add(where_, "duplicate_key",
              absl::StrCat(where_, " names ", Shortened(condition.path()), " twice"),
              "write all values in one list");
        }
        CheckCondition(condition);
      }
    }
    if (issues_.size() == before) CheckCircle();
  }

 private:
  void Add(std::string path, std::string code, std::string message, std::string hint = "") {
    issues_.push_back({std::move(path), std::move(code), std::move(message), std::move(hint)});
  }

  // Slots are planned for every trial before its values are known.
  void CheckPlacing(const v1::Parameter& parameter) {
    const Field* field = fields_.Find(parameter.path());
    if (field == nullptr || !field->placing) return;
    Add(where_, "conflict",
        absl::StrCat(where_, ": ", parameter.path(),
                     " decides where trials run, and has no `when`"),
        "give it a value in every trial");
  }

  void CheckCondition(const v1::Condition& condition) {
    const std::string at = absl::StrCat(where_, ".", Shortened(condition.path()));
    const auto other =
        std::find_if(spec_.parameters().begin(), spec_.parameters().end(),
                     [&](const v1::Parameter& each) { return each.path() == condition.path(); });
    const Field* field = fields_.Find(condition.path());
    if (other == spec_.parameters().end() || field == nullptr) {
      std::vector<std::string> known;
      for (const v1::Parameter& each : spec_.parameters()) known.push_back(each.path());
      const std::string near = Suggest(condition.path(), known);
      return Add(at, "unknown_parameter",
                 absl::StrCat(at, ": ", Quote(condition.path()), " is not among parameters"),
                 near.empty() ? "a condition names another parameter and its values"
                              : absl::StrCat("did you mean '", near, "'?"));
    }
    if (condition.values().empty()) {
      return Add(at, "empty", absl::StrCat(at, " has no values"), "list at least one");
    }
    const Dimension dimension = DimensionFor(*field, *other);
    if (dimension.kind == DimensionKind::kReal) {
      return Add(at, "conflict",
                 absl::StrCat(at, ": ", condition.path(),
                              " is a range of any numbers; a condition "
                              "names values of lists and of steps"),
                 absl::StrCat("give ", condition.path(), " a step, or list its values"));
    }
    for (const v1::Value& value : condition.values()) CheckValue(at, *field, dimension, value);
  }

  // Returns the values of a parameter, in its own order.
  static Dimension DimensionFor(const Field& field, const v1::Parameter& parameter) {
    if (parameter.has_range()) return DimensionOf(field, parameter.range());
    Dimension dimension{.path = parameter.path(), .kind = DimensionKind::kChoice};
    for (const v1::Value& value : parameter.values()) {
      ReadValue read = Canonical(field, value);
      dimension.values.push_back(read.value ? *std::move(read.value) : value);
    }
    return dimension;
  }

  void CheckValue(const std::string& at, const Field& field, const Dimension& dimension,
                  const v1::Value& value) {
    ReadValue read = Canonical(field, value);
    if (!read.value) {
      read.issue.path = at;
      return issues_.push_back(std::move(read.issue));
    }
    if (NumberOf(dimension, *read.value)) return;
    std::vector<std::string> texts;
    for (const v1::Value& each : dimension.values) texts.push_back(Shortened(ValueText(each)));
    constexpr size_t kShown = 12;
    const bool few = !texts.empty() && texts.size() <= kShown;
    Add(at, "out_of_range",
        absl::StrCat(at, ": ", Shortened(ValueText(*read.value)), " is not a value of ",
                     dimension.path),
        few ? absl::StrCat("its values: ", absl::StrJoin(texts, ", "))
            : absl::StrCat("write one of the values of ", dimension.path));
  }

  void CheckCircle() {
    const std::vector<std::string> circle = CircleIn(spec_);
    if (circle.empty()) return;
    std::vector<std::string> steps;
    for (size_t i = 0; i < circle.size(); ++i) {
      steps.push_back(absl::StrCat(circle[i], " needs ", circle[(i + 1) % circle.size()]));
    }
    Add(absl::StrCat("parameters.", circle[0], ".when"), "conflict",
        absl::StrCat("conditions of parameters go in a circle: ", absl::StrJoin(steps, ", ")),
        circle.size() == 1 ? "remove it" : "remove one of them");
  }

  const v1::ExperimentSpec& spec_;
  const ParameterFields fields_;
  std::vector<Issue>& issues_;
  std::string where_;
};

}  // namespace

void CheckConditions(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  if (HasConditions(spec)) ConditionCheck(spec, issues).Check();
}

}  // namespace dt::spec::internal
