// program.h: experiments whose trials run a user's program: their fields, their parameters, and how
// values get into the words of a command.
//
// Role:    pure; used to read, check, resolve and describe a file.
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
// Returns true also if the file names a command that could not be read.
bool IsProgram(const v1::ExperimentSpec& spec);
// Returns the kind of environment that a worker must be able to make: uv, image, conda, module. "":
// none, or an interpreter that is a path.
std::string EnvironmentKind(const v1::Environment& environment);
// Returns the file of the environment that travels with the code; "": there is none.
std::string EnvironmentFile(const v1::Environment& environment);
// Returns whether the field has a meaning for such trials: a program has no learning rate of ours,
// and dtrain's trainer no command.
bool Concerns(const v1::Spec& trial, const Field& field);
bool Concerns(const v1::ExperimentSpec& spec, const Field& field);

// Names of parameters and metrics (common/metric_name.h).
enum class NameKind { kParameter, kMetric };
bool IsName(std::string_view text, NameKind what);

// --- Parameters ---
// Returns the type of a value without a field, as the file has it: quoted text is text, 4 an
// integer, 4.0 a number.
FieldType TypeOfText(std::string_view text, Quoting quoting);
// Returns the common type of all values; integers among numbers are numbers. nullopt: there is
// none.
std::optional<FieldType> CommonType(const std::vector<FieldType>& types);
// Returns a field for a parameter that is not in the table.
Field FieldNamed(std::string_view path, FieldType type);

// The field of each parameter of an experiment: one of the table, or, for a program's own name, one
// whose type its values give. Made once for many look-ups. REQUIRES: `spec` outlives it.
class ParameterFields {
 public:
  explicit ParameterFields(const v1::ExperimentSpec& spec);
  // Returns nullptr if the path is neither a field nor a program's parameter.
  const Field* Find(std::string_view path) const;
  // Returns the program's parameters whose values have no common type.
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
  kShell   // in single quotes if it holds anything but letters, digits and @%_-+=:,./
};
// A text with each {name} of a value replaced. {{ and }} are one brace each. ${…} belongs to a
// shell and stays, and so does any other brace, as in JSON, awk and Python.
struct Substitution {
  std::string text;
  std::set<std::string> used;     // names of values in the text
  std::set<std::string> unknown;  // words in braces that look like names but are not
};
// Errors: InvalidArgument if the result is longer than limits::kFilledTextBytes.
absl::StatusOr<Substitution> Substituted(std::string_view text, const NamedValues& values,
                                         Insertion insertion = Insertion::kPlain);
// Returns the error of a text that values made longer than `limit`.
absl::Status TooLong(size_t limit);
// The macros of W&B that are expanded.
inline constexpr std::array<std::string_view, 6> kMacros = {
    "${args}", "${args_no_hyphens}", "${args_no_boolean_flags}", "${args_json}",
    "${env}",  "${interpreter}"};
// The macros of W&B that have no meaning here.
inline constexpr std::array<std::string_view, 2> kMacrosRefused = {"${program}",
                                                                   "${args_json_file}"};
// Returns whether the word expands to every parameter.
bool NamesAllParameters(std::string_view word);

}  // namespace dt::spec
