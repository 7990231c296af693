// program.h: experiments whose trials run a program of the person's: which fields they have, what
// their parameters may be, and how values get into the words of a command.
//
// Role:    pure; who reads a file, who checks and resolves it, and who describes it ask here.
// Tests:   tests/spec/program_test.cc
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "spec/spec.h"

namespace dt::spec {

bool IsProgram(const v1::Spec& trial);
// Also where the file names a command that could not be read.
bool IsProgram(const v1::ExperimentSpec& spec);
// Whether the field means something to such trials: a program has no learning rate of ours, and
// dtrain's trainer no command.
bool Concerns(const v1::Spec& trial, const Field& field);
bool Concerns(const v1::ExperimentSpec& spec, const Field& field);

// A name of a parameter or of a metric (common/metric_name.h).
enum class NameOf { kParameter, kMetric };
bool IsName(std::string_view text, NameOf what);

// --- Parameters ---
// What a value without a field is, as the file has it: quoted text is text, 4 an integer, 4.0 a
// number.
FieldType TypeOfText(std::string_view text, Quoting quoting);
// The one type of all these values: integers among numbers are numbers. nullopt: they have none.
std::optional<FieldType> CommonType(const std::vector<FieldType>& types);
// A field for a parameter that the table does not have.
Field FieldNamed(std::string_view path, FieldType type);

// What each parameter of an experiment is: a field of the table; of a program also a name of its
// own, whose type its values tell. Made once for many look-ups.
// REQUIRES: `spec` outlives it.
class ParameterFields {
 public:
  explicit ParameterFields(const v1::ExperimentSpec& spec);
  // nullptr: no field, and no parameter of a program.
  const Field* Find(std::string_view path) const;
  // Parameters of a program whose values have no common type.
  const std::vector<std::string>& mixed() const { return mixed_; }

 private:
  const bool program_;
  std::map<std::string, Field, std::less<>> own_;
  std::vector<std::string> mixed_;
};

// --- Substitution ---
using NamedValues = std::map<std::string, v1::Value, std::less<>>;
enum class Insertion {
  kPlain,  // as the value is written
  kShell   // in single quotes where it holds anything but letters, digits and @%_-+=:,./
};
// A text with each {name} of a value replaced by it. {{ and }} are one brace each, and ${…} is left
// as it is, since it is a shell's; so is any other brace: JSON, awk's and Python's stand.
struct Substitution {
  std::string text;
  std::set<std::string> used;     // names of values in it
  std::set<std::string> unknown;  // what stands in braces, looks like a name, and is none of them
};
// Errors: InvalidArgument where it comes to more than limits::kFilledTextBytes.
absl::StatusOr<Substitution> Substituted(std::string_view text, const NamedValues& values,
                                         Insertion insertion = Insertion::kPlain);
// Writes the trial's values into what it runs: command, run, workdir and the environment. A word of
// the command that is one of W&B's is what it is there: ${args}, each parameter as --name=value,
// and the others of kMacros.
// REQUIRES: IsProgram(trial).
absl::Status SubstituteAll(v1::Spec& trial);
// Those words.
inline constexpr std::array<std::string_view, 6> kMacros = {
    "${args}", "${args_no_hyphens}", "${args_no_boolean_flags}", "${args_json}",
    "${env}",  "${interpreter}"};
// Words of W&B's that stand for nothing here.
inline constexpr std::array<std::string_view, 2> kMacrosRefused = {"${program}",
                                                                   "${args_json_file}"};
// Whether the word has every parameter in it.
bool NamesAllParameters(std::string_view word);

}  // namespace dt::spec
