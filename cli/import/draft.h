// draft.h: an experiment file of ours while it is written from another tool's.
//
// Role:  pure. Collects fields, parameters and comments by section, and prints them in our order.
// Tests: tests/cli/import/import_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/import/imported.h"
#include "spec/file/yaml_tree.h"

namespace dt::cli {

using spec::YamlEntry;
using spec::YamlNode;

// --- Reading ---
// Returns the value of a key; nullptr: it is not there.
const YamlNode* Find(const YamlNode& map, std::string_view key);
// Returns the same along "spec.objective.goal".
const YamlNode* FindPath(const YamlNode& map, std::string_view path);
// Returns a scalar's text; "": it is no scalar.
std::string TextOf(const YamlNode* node);
std::optional<double> NumberOf(const YamlNode* node);
std::optional<int64_t> IntegerOf(const YamlNode* node);
bool IsTrue(const YamlNode* node);
// Returns the node in one line, as YAML's flow style.
std::string FlowText(const YamlNode& node);

// --- Values ---
// Returns a number with a point, so that a range is one of numbers.
std::string Pointed(double number);
// Returns a text as YAML has it, in quotes only if it must be.
std::string PlainText(const std::string& text);
// Returns the name that a parameter has in our file.
std::string ParameterName(const std::string& name);
// Returns a scalar as our file has it: quoted if it would be read as something else.
std::string ValueText(const YamlNode& node);

// The values of a parameter.
struct Domain {
  std::vector<std::string> values;  // as our file has them; or a range:
  std::vector<double> probabilities;
  std::optional<double> min, max, step;
  std::optional<int64_t> count;  // of the values that a grid takes from the range
  bool log = false, integer = false;
  // If set, draws of the range are normal around it, log-normal with `log`; a factor with `log`.
  std::optional<double> centre;
  double spread = 1;
  bool cut = false;     // min and max bound the normal draws, not only the values of a grid
  std::string when;     // the condition, as our file has it: {model: large}
  std::string comment;  // for the end of its line
  bool constant() const { return !min && values.size() == 1 && when.empty(); }
};
// Returns a list of the sequence's values; values of several kinds become texts.
Domain ListOf(const YamlNode& sequence);
Domain RangeOf(double min, double max);
// Returns the integers from `min` to `max`; no values if there is none.
Domain IntegersOf(double min, double max);
Domain LogRangeOf(double min, double max);
// Returns the range with a logarithmic scale, which has no step, if it begins above 0.
Domain OnLogScale(Domain domain);
// Return normal and log-normal draws; the numbers of the latter are those of the logarithm.
Domain NormalOf(double mean, double deviation);
Domain LogNormalOf(double mean, double deviation);

class Draft {
 public:
  Draft(Tool tool, std::string_view file_name) : tool_(tool), file_name_(file_name) {}

  void Name(const std::string& name) { name_ = name; }
  void Description(const std::string& text) { description_ = text; }
  void Command(std::vector<std::string> words) { command_ = std::move(words); }
  void Run(const std::string& text) { run_ = text; }
  bool runs() const { return !command_.empty() || !run_.empty(); }
  // Sets a field: "search.method", "search.asha.eta", "resources.env.A". The value is YAML.
  void Set(const std::string& path, const std::string& value);
  std::string Get(const std::string& path) const;
  void Parameter(const std::string& name, Domain domain);
  std::vector<std::pair<std::string, Domain>>& parameters() { return parameters_; }

  // Adds a comment to a section: "" (the head), "command", "parameters", "search", …
  void Comment(const std::string& section, const std::string& text);
  // Adds a comment on an entry that has no counterpart. `why`: what to do instead.
  void LeaveOut(const std::string& section, const YamlEntry& entry, const std::string& why = "");
  // Does so for each entry of a map that is not among `taken`.
  void LeaveOutRest(const std::string& section, const YamlNode& map,
                    const std::set<std::string>& taken, const std::string& prefix = "");
  // Adds a comment, and tells the person.
  void Warn(const std::string& section, const std::string& text);

  // Returns the file. Settles what depends on several fields.
  Imported Finish();

 private:
  void Settle();
  void SettleDomains(const std::string& sampler);
  void SettleGuesses(const std::string& method, const std::string& sampler);
  std::string Print() const;
  void PrintComments(const std::string& section, std::string& out) const;
  void PrintSection(const std::string& section, std::string& out) const;

  const Tool tool_;
  const std::string file_name_;
  std::string name_, description_, run_;
  std::vector<std::string> command_;
  std::vector<std::pair<std::string, std::string>> fields_;  // in their order
  std::vector<std::pair<std::string, Domain>> parameters_;
  std::set<std::string> parameter_names_;
  std::map<std::string, std::vector<std::string>> comments_;
  std::vector<std::string> warnings_;
};

// The tools, a file each.
void ImportWandb(const YamlNode& root, Draft& draft);
void ImportDetermined(const YamlNode& root, Draft& draft);
void ImportRay(const YamlNode& root, Draft& draft);
void ImportHydra(const YamlNode& root, Draft& draft);
void ImportKatib(const YamlNode& root, Draft& draft);

}  // namespace dt::cli
