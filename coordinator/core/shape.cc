// shape.cc: who meets a constraint, and what it says.
#include "coordinator/core/shape.h"

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

bool Meets(const Constraint& constraint, const v1::Hello& hello) {
  if (DeviceKindOf(hello.device()) != constraint.device) return false;
  if (constraint.programs && !hello.programs()) return false;
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
  if (constraint.programs) parts.push_back("leave to run programs");
  return absl::StrJoin(parts, " and ");
}

std::string ShapeText(const Shape& shape) {
  std::string text = absl::StrCat(shape.slots, " ", View(Name(shape.constraint.device)),
                                  shape.slots == 1 ? " slot" : " slots");
  if (shape.single_node) text += " on one host";
  const std::string required = RequirementText(shape.constraint);
  if (!required.empty()) absl::StrAppend(&text, " with ", required);
  return text;
}

}  // namespace dt
