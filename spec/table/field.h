// field.h: the table of all that an experiment file may say: each field's path, type, range,
// default and help.
//
// Role:  pure, and free of protobuf: spec/ reads files and messages by it, the trainer its resolved
//        specification. Nobody else knows a range or a default.
// Tests: tests/spec/
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt::spec {

// The largest whole number that a double, and JSON with it, holds exactly with all below it. A
// field with this as its max has no upper bound that a person needs to know.
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

// Whose trials a field means something to: those that dtrain trains itself, those that run a
// program, or both.
enum class Use { kAll, kTrainer, kProgram };

// Where a field's value comes from when the file does not say.
enum class DefaultKind {
  kFixed,      // default_text, always
  kDependent,  // from other fields of the trial, in ResolveTrial (default_text says how)
  kNone,       // empty
  kRequired    // the file must say
};

struct Field {
  std::string path;  // "train.batch_size", of v1::Spec; or "search.metric", of v1::ExperimentSpec
  FieldType type = FieldType::kText;
  double min = 0;  // of numbers (of a time's seconds), inclusive; min == max == 0: no range
  double max = 0;
  bool min_exclusive = false;
  bool max_exclusive = false;
  int count = 0;                     // of kNumbers: how many there must be
  std::vector<std::string> choices;  // of kChoice, those that work now
  // Other words for them, which a file may write: {"fsdp", "zero3"}.
  std::vector<std::pair<std::string, std::string>> synonyms;
  std::vector<std::string> later;  // words reserved and refused as not yet available
  DefaultKind default_kind = DefaultKind::kFixed;
  std::string default_text;  // as one would write it, when kFixed; in words when kDependent
  std::string help;          // one sentence, with the unit
  std::string since = "0.1";
  bool sweepable = true;    // may appear under `parameters`
  bool placing = false;     // says where trials run, and when: no part of a trainer's specification
  bool within_run = false;  // may change between two steps: a population (search.pbt) changes it
  bool glob = false;        // of kText: a pattern of files, as corpus/glob.h understands it
  bool open = false;        // of kChoice: a program may bring names of its own
  Use use = Use::kAll;
};

// Every field of v1::Spec, ordered as the manual lists them.
const std::vector<Field>& FieldTable();
const Field* FindField(std::string_view path);
// What the file says besides: version, name, description, labels, search.*. Not sweepable.
const std::vector<Field>& ExperimentFieldTable();
const Field* FindExperimentField(std::string_view path);
// Section and field words of the planned format that are not built yet ("resources.share", …).
const std::vector<std::string>& ReservedPaths();
bool IsReserved(std::string_view path);
// Whether fields begin with this path: "search", "search.asha".
bool IsSection(std::string_view path);
// What an experiment file may hold under its top: "train", "search", "parameters", "name", …
const std::vector<std::string>& TopWords();

// Where a resolved specification has the field as JSON: its section, "" for none, and its name there,
// "median_after" of "stop.median.after"; that of a time ends with the unit.
struct JsonPlace {
  std::string section, name;
};
JsonPlace JsonPlaceOf(const Field& field);

// Whether the field holds one v1::Value: neither a map nor a list of texts.
bool HoldsValue(const Field& field);
// Whether a number is within the field's range.
bool InRange(const Field& field, double number);
// "from 1 to 8", "above 0 and at most 1000", "at least 0 and below 1"; "" without a range.
std::string RangeText(const Field& field);
// "an integer", "a number", …: completes "must be".
std::string TypeText(const Field& field);
// 0.0006, 1.0e-5, 25: the shortest text that reads back the same.
std::string NumberText(double number);
// Seconds in the largest whole unit: "60s", "2m", "1h".
std::string DurationText(double seconds);

}  // namespace dt::spec
