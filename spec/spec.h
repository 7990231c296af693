// spec.h: the experiment file's meaning: one table of fields, and the pure functions over it.
//
// Role:    pure. dtctl reads files with it, the coordinator checks other clients and expands grids;
//          the manual and the JSON Schema are printed from it.
// Source:  the field table (table/fields.cc) is the only place that has a field's type, range,
//          default, help and first version.
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

// Returns the nearest known path or word, or "" when nothing is near.
std::string Suggest(std::string_view wrong, const std::vector<std::string>& known);
// Returns why an experiment must not have this name: commands would take it for a number, or for
// the newest experiment. "": the name is allowed.
std::string NameProblem(std::string_view name);
// PathHint returns advice on a path that no file may have: the meaning of another system's word,
// else the path that was likely meant. OtherValueHint returns what to write in place of another
// system's word for a value of the field at `path`. "": none.
std::string PathHint(std::string_view wrong);
std::string OtherValueHint(std::string_view path, std::string_view text);
// Returns the same among every path that a file may set; knows other systems' names
// ("learning_rate").
std::string SuggestPath(std::string_view wrong);

struct Issue {
  std::string path;  // "train.batch_size", "parameters.optimizer.lr[2]", "" for the file
  std::string code;  // unknown_key, wrong_type, out_of_range, not_available, conflict, missing, …
  std::string message;
  std::string hint;  // the fix, or ""
};
// Returns "train.batch_size: message; hint", in one line.
std::string ToString(const Issue& issue);

// --- Values ---
// A duration is text with its unit ("60s"); `every` is a duration or an integer (steps).
struct ReadValue {
  std::optional<v1::Value> value;
  Issue issue;  // set when there is no value
};
enum class Quoting { kPlain, kQuoted };
// Reads "8", "1e-3", "true", "[0.9, 0.95]", "60s" as the field's type, within its range.
ReadValue ReadText(const Field& field, std::string_view text, Quoting quoting = Quoting::kPlain);
absl::StatusOr<v1::Value> ParseValue(const Field& field, std::string_view text);
// Returns the value in the one form that ReadText gives, so that equal values compare equal (an
// integer for a number becomes a number, "60000ms" becomes "60s"); or the reason that it is wrong.
ReadValue Canonical(const Field& field, const v1::Value& value);
bool SameValue(const v1::Value& a, const v1::Value& b);
std::string ValueText(const v1::Value& value);
// Returns "optimizer.lr 0.0003 → 0.00036, model.dropout 0.1". A value that is not there is "—".
std::string ChangesText(const std::vector<v1::Assignment>& before,
                        const std::vector<v1::Assignment>& after);

// Writes one value into `spec`. Errors: InvalidArgument as one Issue's message.
absl::Status SetField(v1::Spec& spec, std::string_view path, const v1::Value& value);
// Returns the value at `path`. REQUIRES: a field that HoldsValue.
v1::Value GetField(const v1::Spec& spec, std::string_view path);
// REQUIRES: a kLabels field of v1::Spec.
const google::protobuf::RepeatedPtrField<v1::Label>& GetLabels(const v1::Spec& spec,
                                                               std::string_view path);
google::protobuf::RepeatedPtrField<v1::Label>& MutableLabels(v1::Spec& spec, std::string_view path);
// REQUIRES: a kTexts field of v1::Spec.
const google::protobuf::RepeatedPtrField<std::string>& GetTexts(const v1::Spec& spec,
                                                                std::string_view path);
google::protobuf::RepeatedPtrField<std::string>& MutableTexts(v1::Spec& spec,
                                                              std::string_view path);
// Returns the value as a person would write it; kLabels as {A: b, C: d}, kTexts as [a, "b c"].
// REQUIRES: FindField(path).
std::string FieldText(const v1::Spec& spec, std::string_view path);

// --- Experiments ---
// The same for fields of ExperimentFieldTable, except labels. REQUIRES: FindExperimentField(path).
absl::Status SetExperimentField(v1::ExperimentSpec& spec, std::string_view path,
                                const v1::Value& value);
// REQUIRES: a kTexts field of ExperimentFieldTable.
const google::protobuf::RepeatedPtrField<std::string>& GetExperimentTexts(
    const v1::ExperimentSpec& spec, std::string_view path);
google::protobuf::RepeatedPtrField<std::string>& MutableExperimentTexts(v1::ExperimentSpec& spec,
                                                                        std::string_view path);
// Returns a value without a kind for a number that the file does not give.
v1::Value GetExperimentField(const v1::ExperimentSpec& spec, std::string_view path);

// Returns a base with every default that does not depend on other fields.
v1::Spec DefaultSpec();
// Returns the same with the experiment's own defaults, version 1 and no name.
v1::ExperimentSpec DefaultExperiment();
bool IsExplicit(const v1::ExperimentSpec& spec, std::string_view path);
// Returns whether the path is among the parameters.
bool IsSwept(const v1::ExperimentSpec& spec, std::string_view path);

// Returns everything wrong with an experiment: fields, ranges, combinations of every trial of a
// grid, or of a thousand drawn ones. If the result is empty, Expand and ResolveTrial succeed.
// Device `auto` is allowed. Total: checks any message without a crash, in work that the message's
// size bounds. If it may not go on, it reports that it ran out of time.
std::vector<Issue> Validate(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on = {});
// Returns warnings of settings that are allowed but hardly intended, such as a learning rate of
// 1000. They refuse nothing. REQUIRES: Validate(spec) is empty.
std::vector<Issue> Warnings(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on = {});

// Returns the trials that an experiment begins with, numbered from 1. Grid: the first parameter
// varies slowest, exclusions applied, included combinations at the end. Random: included ones, then
// draws that follow from the seed; fewer than max_trials if the space is used up. Bayes: the
// included ones, if any. With seeds, each configuration once with each seed, with consecutive
// numbers. Errors: InvalidArgument when more than limits::kTrialsPerExperiment remain, or, for grid
// and random, none; DeadlineExceeded if it may not go on.
absl::StatusOr<std::vector<v1::ExpandedTrial>> Expand(const v1::ExperimentSpec& spec,
                                                      const MayGoOn& may_go_on = {});

// Returns the specification of one trial: base, assignments, preset sizes, dependent defaults
// (global batch, also if given in tokens; warm-up steps stay symbolic until target steps are
// known). Precision `auto` becomes a precision once the device is known. Pure. Errors:
// InvalidArgument when an assignment cannot be made; Validate checks combinations.
absl::StatusOr<v1::Spec> ResolveTrial(const v1::ExperimentSpec& spec,
                                      const std::vector<v1::Assignment>& assignments);

// Returns `spec` with the values that all its trials share written out as if the file had set them,
// including those that follow from other fields. Expand and ResolveTrial give the same trials.
// Omits values that differ between trials, and the unused half of a pair.
v1::ExperimentSpec FilledIn(const v1::ExperimentSpec& spec);

// Fixes values at submit, in the coordinator: `auto` becomes `device` (cuda or cpu), and an
// experiment without a seed gets `seed` (0 … 2^53-1). Both count as explicit from then on. The goal
// and the numbers of asha and pbt, if left open, get today's defaults.
void Freeze(v1::ExperimentSpec& spec, std::string_view device, int64_t seed);

// --- Printing ---
// Returns the resolved experiment as a YAML file that would submit the same again.
std::string ToYaml(const v1::ExperimentSpec& spec);
// Returns one trial's resolved specification in the same words.
std::string ToYaml(const v1::Spec& spec);
// Returns the same as JSON with every field, for `dttrain --spec`.
std::string ToJson(const v1::Spec& spec);
// Returns the JSON Schema (draft 2020-12) of the file, for editors.
std::string JsonSchema();
// Returns the manual's tables of fields, as Markdown, for docs/reference/experiment-file.md.
std::string ManualTable();

}  // namespace dt::spec
