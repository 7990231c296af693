// spec.h: the experiment file's meaning: one table of fields, and the pure functions over it.
//
// Role:    pure. dtctl uses it to read files, the coordinator to check other clients and to expand
//          grids; the manual and the JSON Schema are printed from it.
// Source:  the field table (table/fields.cc) is the only place that knows a field's type, range,
//          default, help and since when.
// Errors:  all problems at once, as Issues; each names path, value, limit and fix.
// Tests:   tests/spec/
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/may_go_on.h"
#include "dtrain/v1/model.pb.h"
#include "dtrain/v1/record.pb.h"
#include "spec/table/field.h"

namespace dt::spec {

namespace v1 = ::dtrain::v1;

// The nearest known path or word, or "" when nothing is near.
std::string Suggest(std::string_view wrong, const std::vector<std::string>& known);
// Why an experiment must not have this name: commands take it for a number, or for the newest. "": it
// may.
std::string NameProblem(std::string_view name);
// What to write in place of another system's word for a value of the field at `path`; "": it is none.
// What to say of a path that no file may have: other systems' word by its meaning, else the path
// that was likely meant. "": nothing.
std::string PathHint(std::string_view wrong);
std::string OtherValueHint(std::string_view path, std::string_view text);
// The same among every path that a file may set; knows other systems' names ("learning_rate").
std::string SuggestPath(std::string_view wrong);

struct Issue {
  std::string path;  // "train.batch_size", "parameters.optimizer.lr[2]", "" for the whole
  std::string code;  // unknown_key, wrong_type, out_of_range, not_available, conflict, missing, …
  std::string message;
  std::string hint;  // the fix, or ""
};
// "train.batch_size: message; hint", one line.
std::string ToString(const Issue& issue);

// --- Values ---
// A duration is text with its unit ("60s"), `every` is that or an integer (steps).
struct ReadValue {
  std::optional<v1::Value> value;
  Issue issue;  // when there is no value
};
enum class Quoting { kPlain, kQuoted };
// Reads "8", "1e-3", "true", "[0.9, 0.95]", "60s" as the field's type, within its range.
ReadValue ReadText(const Field& field, std::string_view text, Quoting quoting = Quoting::kPlain);
absl::StatusOr<v1::Value> ParseValue(const Field& field, std::string_view text);
// The value in the one form that ReadText gives (an integer for a number becomes a number,
// "60000ms" becomes "60s"), so that equal values compare equal; or what is wrong with it.
ReadValue Canonical(const Field& field, const v1::Value& value);
bool SameValue(const v1::Value& a, const v1::Value& b);
std::string ValueText(const v1::Value& value);
// "optimizer.lr 0.0003 → 0.00036, model.dropout 0.1". REQUIRES: the same paths in the same order.
std::string ChangesText(const std::vector<v1::Assignment>& before,
                        const std::vector<v1::Assignment>& after);

// Writes one value into `spec`. Errors: InvalidArgument as one Issue's message.
absl::Status SetField(v1::Spec& spec, std::string_view path, const v1::Value& value);
// The value at `path`. REQUIRES: a field that HoldsValue.
v1::Value GetField(const v1::Spec& spec, std::string_view path);
// REQUIRES: a field of kLabels of v1::Spec.
const google::protobuf::RepeatedPtrField<v1::Label>& GetLabels(const v1::Spec& spec,
                                                               std::string_view path);
google::protobuf::RepeatedPtrField<v1::Label>& MutableLabels(v1::Spec& spec, std::string_view path);
// REQUIRES: a field of kTexts of v1::Spec.
const google::protobuf::RepeatedPtrField<std::string>& GetTexts(const v1::Spec& spec,
                                                                std::string_view path);
google::protobuf::RepeatedPtrField<std::string>& MutableTexts(v1::Spec& spec,
                                                              std::string_view path);
// The same as a person would write it; of kLabels: {A: b, C: d}, of kTexts: [a, "b c"].
// REQUIRES: FindField(path).
std::string FieldText(const v1::Spec& spec, std::string_view path);

// --- Experiments ---
// The same for fields of ExperimentFieldTable (labels aside). REQUIRES: FindExperimentField(path).
absl::Status SetExperimentField(v1::ExperimentSpec& spec, std::string_view path,
                                const v1::Value& value);
// A number that the file does not give has no kind.
v1::Value GetExperimentField(const v1::ExperimentSpec& spec, std::string_view path);

// A base with every default that does not depend on other fields.
v1::Spec DefaultSpec();
// The same with the experiment's own defaults, version 1 and no name.
v1::ExperimentSpec DefaultExperiment();
bool IsExplicit(const v1::ExperimentSpec& spec, std::string_view path);
// Whether it is among the parameters.
bool IsSwept(const v1::ExperimentSpec& spec, std::string_view path);

// Everything wrong with an experiment: fields, ranges, combinations of every trial of a grid, or of
// a thousand drawn ones. An empty result means that Expand and ResolveTrial succeed. `auto` device
// is allowed. Total: any message is checked without a fault, in work that its size bounds. Where it
// may not go on it says that it ran out of time.
std::vector<Issue> Validate(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on = {});
// What is allowed and hardly meant, such as a learning rate of 1000. Nothing is refused for it.
// REQUIRES: Validate(spec) is empty.
std::vector<Issue> Warnings(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on = {});

// The trials that an experiment begins with, numbered from 1. A grid: the first parameter varies
// slowest, exclusions applied, included combinations at the end. Random: included ones, then draws
// that follow from the seed; fewer than max_trials where the space is used up. Bayes: included
// ones, perhaps none. With seeds each configuration once with each, neighbours by number.
// Errors: InvalidArgument when more than limits::kTrialsPerExperiment, or of grid and random none,
// remain; DeadlineExceeded where it may not go on.
absl::StatusOr<std::vector<v1::ExpandedTrial>> Expand(const v1::ExperimentSpec& spec,
                                                      const MayGoOn& may_go_on = {});

// The specification of one trial: base, assignments, preset sizes, dependent defaults (global
// batch, also where it is given in tokens; warm-up steps stay symbolic until target steps are
// known). Precision `auto` becomes a precision once the device is known. Pure.
// Errors: InvalidArgument when an assignment cannot be made; combinations are Validate's.
absl::StatusOr<v1::Spec> ResolveTrial(const v1::ExperimentSpec& spec,
                                      const std::vector<v1::Assignment>& assignments);

// `spec` with the values that all its trials share written out as if the file had set them, those
// that follow from other fields included. Expand and ResolveTrial give the same trials. Left out is
// what differs between trials, and the half of a pair that is not used.
v1::ExperimentSpec FilledIn(const v1::ExperimentSpec& spec);

// What the coordinator settles at submit: `auto` becomes `device` (cuda or cpu), and an experiment
// that names no seed gets `seed` (0 … 2^53-1). Both count as explicit from then on. What search
// leaves open, the goal and the numbers of asha and pbt, gets its value of today.
void Freeze(v1::ExperimentSpec& spec, std::string_view device, int64_t seed);

// --- Printing ---
// The resolved experiment as a YAML file that would submit the same again.
std::string ToYaml(const v1::ExperimentSpec& spec);
// One trial's resolved specification in the same words.
std::string ToYaml(const v1::Spec& spec);
// The same as JSON with every field, which `dttrain --spec` takes.
std::string ToJson(const v1::Spec& spec);
// JSON Schema (draft 2020-12) of the file, for editors.
std::string JsonSchema();
// The manual's tables of fields, as Markdown: docs/experiment-file.md holds them.
std::string ManualTable();

}  // namespace dt::spec
