// sampled.h: distributions that other tools write as calls, and what their ranges are here.
//
// Role:  pure.
// Tests: tests/cli/import/import_test.cc
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/import/draft.h"

namespace dt::cli {

// A call such as tune.loguniform(1e-4, 1e-1): its last name in small letters, and its arguments.
struct Call {
  std::string name;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> named;

  // Returns the argument with that name or at that place; `otherwise`: the call does not give it.
  // nullopt: it is no number.
  std::optional<double> Number(size_t place, const std::string& name,
                               std::optional<double> otherwise = std::nullopt) const;
};
std::optional<Call> CallIn(const std::string& text);
// Splits at commas that stand in no brackets and no quotation marks.
std::vector<std::string> SplitOutside(const std::string& text);
// Returns the texts as a list of YAML.
YamlNode ListNode(const std::vector<std::string>& texts);
std::optional<double> NumberIn(const std::string& text);

// Returns the range in steps; integers if it has only these.
Domain Stepped(Domain domain, double step);

}  // namespace dt::cli
