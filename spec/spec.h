// spec.h: the experiment file's meaning: one table of fields, and the pure functions over it.
//
// Role:    pure. dtctl uses it to read files, the coordinator to check other clients and to expand
// grids,
//          documents and the JSON Schema are printed from it.
// Source:  field_table.cc is the only place that knows a field's type, range, default, help and
// since when. Errors:  all problems at once, as Issues; each names path, value, limit and fix.
// Tests:   tests/spec/
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "dtrain/v1/model.pb.h"
#include "dtrain/v1/record.pb.h"

namespace dt::spec {

namespace v1 = ::dtrain::v1;

enum class FieldType {
  kInteger,
  kNumber,
  kText,
  kFlag,
  kChoice,
  kNumbers,
  kEvery,
  kDuration,
  kLabels
};

struct Field {
  std::string path;  // "train.batch_size", of v1::Spec
  FieldType type = FieldType::kText;
  double min = 0;  // of numbers, inclusive; min == max == 0: no range
  double max = 0;
  bool min_exclusive = false;
  std::vector<std::string> choices;  // of kChoice, those that work now
  std::vector<std::string> later;    // words reserved and refused as not yet available
  std::string default_text;          // as one would write it; "" when the default depends on others
  std::string help;                  // one sentence, with the unit
  std::string since = "0.1";
  bool sweepable = true;  // may stand under `parameters`
};

// Ordered as the manual lists them.
const std::vector<Field>& FieldTable();
const Field* FindField(std::string_view path);
// Section and field words of the planned format that are not built yet ("search.asha", "seeds", …).
const std::vector<std::string>& ReservedPaths();
// The nearest known path or word, or "" when nothing is near.
std::string Suggest(std::string_view wrong, const std::vector<std::string>& known);

struct Issue {
  std::string path;  // "train.batch_size", "parameters.optimizer.lr[2]", "" for the whole
  std::string code;  // unknown_key, wrong_type, out_of_range, not_available, conflict, missing, …
  std::string message;
  std::string hint;  // the fix, or ""
};

// Writes one value into `spec`. Errors: InvalidArgument as one Issue's message.
absl::Status SetField(v1::Spec& spec, std::string_view path, const v1::Value& value);
// The value at `path`, as a person would write it. REQUIRES: FindField(path).
std::string FieldText(const v1::Spec& spec, std::string_view path);
std::string ValueText(const v1::Value& value);
// Reads "8", "1e-3", "true", "[0.9, 0.95]", "60s" as the field's type.
absl::StatusOr<v1::Value> ParseValue(const Field& field, std::string_view text);

// A base with every default that does not depend on other fields.
v1::Spec DefaultSpec();

// Everything wrong with an experiment: fields, ranges, combinations of every trial of the grid.
// An empty result means that Expand and ResolveTrial succeed. `auto` device is allowed.
std::vector<Issue> Validate(const v1::ExperimentSpec& spec);

// The grid: the first parameter varies slowest; exclusions applied; trials numbered from 1.
// Errors: InvalidArgument when more than limits::kTrialsPerExperiment or none remain.
absl::StatusOr<std::vector<v1::ExpandedTrial>> Expand(const v1::ExperimentSpec& spec);

// The specification of one trial: base, assignments, preset sizes, dependent defaults (global
// batch, warm-up steps stay symbolic until target steps are known). Pure.
absl::StatusOr<v1::Spec> ResolveTrial(const v1::ExperimentSpec& spec,
                                      const std::vector<v1::Assignment>& assignments);

// The resolved experiment as a YAML file that would submit the same again.
std::string ToYaml(const v1::ExperimentSpec& spec);
// JSON Schema (draft 2020-12) of the file, for editors.
std::string JsonSchema();

}  // namespace dt::spec
