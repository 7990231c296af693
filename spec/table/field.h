// field.h: the table of an experiment file's fields: each field's path, type, range, default and
// help.
//
// Role:  pure, and free of protobuf: spec/ reads files and messages by it, and the trainer its
//        resolved specification. No other code has a range or a default.
// Tests: tests/spec/
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt::spec {

// The largest integer that a double, and so JSON, holds exactly together with all integers below
// it. A field with this as its max has no upper bound that a person needs to know.
inline constexpr double kWholeMax = 9007199254740991.0;

enum class FieldType {
  kInteger,
  kNumber,
  kText,
  kFlag,
  kChoice,
  kNumbers,
  kEvery,
  kDuration,
  kLabels,
  kTexts
};

// The trials for which a field has a meaning: those that dtrain trains itself, those that run a
// program, or both.
enum class Use { kAll, kTrainer, kProgram };

// Where a field's value comes from if the file does not set it.
enum class DefaultKind {
  kFixed,      // default_text, always
  kDependent,  // from other fields of the trial, in ResolveTrial (default_text has the rule)
  kNone,       // empty
  kRequired    // the file must set it
};

struct Field {
  std::string path;  // "train.batch_size", of v1::Spec; or "search.metric", of v1::ExperimentSpec
  FieldType type = FieldType::kText;
  double min = 0;  // of numbers (for a time, of its seconds), inclusive; min == max == 0: no range
  double max = 0;
  bool min_exclusive = false;
  bool max_exclusive = false;
  int count = 0;  // for kNumbers: how many are required; for kTexts: how many are allowed
  std::vector<std::string> choices;  // for kChoice: the words that work now
  // Other words for the choices, which a file may use: {"fsdp", "zero3"}.
  std::vector<std::pair<std::string, std::string>> synonyms;
  std::vector<std::string> later;  // reserved words, refused as not yet available
  DefaultKind default_kind = DefaultKind::kFixed;
  std::string default_text;  // as one would write it, when kFixed; in words when kDependent
  std::string help;          // one sentence, with the unit
  std::string since = "0.1";
  bool sweepable = true;    // may appear under `parameters`
  bool placing = false;     // decides where and when trials run: not part of a trainer's
                            // specification
  bool within_run = false;  // may change between two steps: a population (search.pbt) changes it
  bool glob = false;        // for kText: a pattern of files, as corpus/glob.h reads it
  bool open = false;        // for kChoice: a program may add names of its own
  bool one_text = false;    // for kTexts: a file may give a single text
  Use use = Use::kAll;
};

// Returns every field of v1::Spec, in the order of the manual.
const std::vector<Field>& FieldTable();
const Field* FindField(std::string_view path);
// Returns the other fields of the file: version, name, description, labels, search.*. Not
// sweepable.
const std::vector<Field>& ExperimentFieldTable();
const Field* FindExperimentField(std::string_view path);
// Returns section and field names of the planned format that are not built yet ("resources.share",
// …).
const std::vector<std::string>& ReservedPaths();
bool IsReserved(std::string_view path);
// Returns whether fields begin with this path: "search", "search.asha".
bool IsSection(std::string_view path);
// Returns the top-level words of an experiment file: "train", "search", "parameters", "name", …
const std::vector<std::string>& TopWords();

// Where a resolved specification has the field as JSON: its section, "" for none, and its name
// there, such as "median_after" for "stop.median.after"; the name of a time ends with the unit.
struct JsonPlace {
  std::string section, name;
};
JsonPlace JsonPlaceOf(const Field& field);

// Returns whether the field holds one v1::Value: neither a map nor a list of texts.
bool HoldsValue(const Field& field);
// Returns whether a number is within the field's range.
bool InRange(const Field& field, double number);
// Returns "from 1 to 8", "above 0 and at most 1000", "at least 0 and below 1"; "" without a range.
std::string RangeText(const Field& field);
// Returns "an integer", "a number", …: completes "must be".
std::string TypeText(const Field& field);
// Returns 0.0006, 1.0e-5, 25: the shortest text that reads back as the same number.
std::string NumberText(double number);
// Returns seconds in the largest unit that divides them: "60s", "2m", "1h".
std::string DurationText(double seconds);

}  // namespace dt::spec
