// shape.cc: whether workers meet a constraint, and the texts of shapes.
#include "coordinator/core/model/shape.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/mutant.h"
#include "common/view.h"

namespace dt {
namespace {

bool HasLabel(const v1::Hello& hello, const std::pair<std::string, std::string>& wanted) {
  return std::any_of(hello.labels().begin(), hello.labels().end(), [&](const v1::Label& label) {
    return label.key() == wanted.first && label.value() == wanted.second;
  });
}

}  // namespace

int32_t Shape::SizeWithin(int32_t slots_there) const {
  if (!elastic.has_value()) return slots <= slots_there ? slots : 0;
  if (Mutated(Mutant::kAnySize)) return slots_there >= elastic->least ? slots_there : 0;
  return elastic->Below(slots_there + 1);
}

Shape AtSize(const Shape& shape, int32_t slots) {
  Shape fixed = shape;
  fixed.slots = slots;
  fixed.elastic.reset();
  return fixed;
}

std::string WhyNoEnvironment(const v1::Hello& hello, const std::string& kind) {
  for (const v1::Label& able : hello.environments()) {
    if (able.key() == kind) return able.value();
  }
  return "its version does not make them; upgrade it";
}

bool Meets(const Constraint& constraint, const v1::Hello& hello) {
  if (DeviceKindOf(hello.device()) != constraint.device) return false;
  if (hello.level() < constraint.level) return false;
  if (constraint.programs && !hello.programs()) return false;
  if (constraint.trainer && !hello.no_trainer().empty()) return false;
  if (!constraint.environment.empty() && WhyNoEnvironment(hello, constraint.environment) != "") {
    return false;
  }
  if (!constraint.accelerator.empty()) {
    const std::string name = absl::AsciiStrToLower(hello.device_name());
    if (name.find(constraint.accelerator) == std::string::npos) return false;
  }
  if (Mutated(Mutant::kConstraintForgotten)) return true;
  return std::all_of(constraint.labels.begin(), constraint.labels.end(),
                     [&](const auto& label) { return HasLabel(hello, label); });
}

std::string RequirementText(const Constraint& constraint) {
  std::vector<std::string> parts;
  if (!constraint.accelerator.empty()) {
    parts.push_back(absl::StrCat("accelerator ", constraint.accelerator));
  }
  for (const auto& [key, value] : constraint.labels) {
    parts.push_back(absl::StrCat("label ", key, "=", value));
  }
  if (constraint.programs) parts.push_back("programs allowed");
  if (!constraint.environment.empty()) {
    parts.push_back(absl::StrCat("environments of ", constraint.environment));
  }
  return absl::StrJoin(parts, " and ");
}

std::string ShapeText(const Shape& shape) {
  const std::string fewer =
      shape.least() < shape.slots ? absl::StrCat(shape.least(), " to ") : std::string();
  std::string text = absl::StrCat(fewer, shape.slots, " ", View(Name(shape.constraint.device)),
                                  shape.slots == 1 ? " slot" : " slots");
  if (shape.single_node) text += " on one host";
  const std::string required = RequirementText(shape.constraint);
  if (!required.empty()) absl::StrAppend(&text, " with ", required);
  return text;
}

}  // namespace dt
