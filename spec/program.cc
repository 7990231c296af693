// program.cc: programs as trials, their parameters, and the substitution of values into their
// words.
#include "spec/program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/environment_file.h"
#include "common/limits.h"
#include "common/metric_name.h"
#include "common/status.h"

namespace dt::spec {
namespace {

bool IsFor(Use use, bool program) {
  switch (use) {
    case Use::kAll:
      return true;
    case Use::kTrainer:
      return !program;
    case Use::kProgram:
      return program;
  }
  return false;
}

FieldType TypeOf(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      return FieldType::kInteger;
    case v1::Value::kNumber:
      return FieldType::kNumber;
    case v1::Value::kFlag:
      return FieldType::kFlag;
    case v1::Value::kNumbers:
      return FieldType::kNumbers;
    case v1::Value::kText:
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return FieldType::kText;
}

bool IsWhole(double number) { return number == std::floor(number); }

// Integer ranges have a step; a range without one is continuous.
FieldType TypeOf(const v1::Range& range) {
  const auto whole = [](double number) {
    return number >= -kWholeMax && number <= kWholeMax && IsWhole(number);
  };
  const bool integers =
      range.step() > 0 && whole(range.step()) && whole(range.min()) && whole(range.max());
  return integers ? FieldType::kInteger : FieldType::kNumber;
}

std::string ForShell(std::string value) {
  constexpr std::string_view kSafe = "@%_-+=:,./";
  const bool safe = !value.empty() && std::all_of(value.begin(), value.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kSafe.find(c) != std::string_view::npos;
  });
  if (safe) return value;
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// How braces that name no value are read.
enum class Braces {
  // Every other brace is doubled, as version 0.2.0 required; such texts keep their meaning.
  kAllDoubled,
  // A single brace stands for itself. A double brace closes only what a double brace opened, so
  // JSON may end with }}.
  kAsTheyStand
};

// Walks a text that may hold {name}.
class Walk {
 public:
  Walk(std::string_view text, const NamedValues& values, Insertion insertion, Braces braces)
      : rest_(text), values_(values), insertion_(insertion), braces_(braces) {}

  // Returns nullopt if not all braces are doubled, or the text is too long.
  std::optional<Substitution> Run() {
    while (!rest_.empty()) {
      if (rest_.starts_with("${")) {
        TakeShellsOwn();
      } else if (rest_.starts_with("{{")) {
        open_.push_back(Opened::kPair);
        Take(2, "{");
      } else if (rest_.starts_with("}}") && !ClosesSingle()) {
        if (!open_.empty()) open_.pop_back();
        Take(2, "}");
      } else if (rest_[0] == '{' && TakeName()) {
        continue;
      } else if (rest_[0] == '{' || rest_[0] == '}') {
        if (braces_ == Braces::kAllDoubled) return std::nullopt;
        TakeSingle();
      } else {
        const size_t plain = std::min(rest_.find_first_of("${}", 1), rest_.size());
        Take(plain, rest_.substr(0, plain));
      }
      too_long_ = out_.text.size() > limits::kFilledTextBytes;
      if (too_long_) return std::nullopt;
    }
    return std::move(out_);
  }

  bool too_long() const { return too_long_; }

 private:
  enum class Opened { kPair, kSingle };

  void Take(size_t bytes, std::string_view as) {
    out_.text += as;
    rest_.remove_prefix(bytes);
  }

  bool ClosesSingle() const {
    return braces_ == Braces::kAsTheyStand && !open_.empty() && open_.back() == Opened::kSingle;
  }

  // Takes ${NAME:-{x}}, up to the brace that closes it.
  void TakeShellsOwn() {
    size_t depth = 0;
    size_t end = 1;
    for (; end < rest_.size(); ++end) {
      if (rest_[end] == '{') ++depth;
      if (rest_[end] == '}' && --depth == 0) break;
    }
    end = std::min(end + 1, rest_.size());
    Take(end, rest_.substr(0, end));
  }

  // Returns whether it took a name.
  bool TakeName() {
    const size_t end = rest_.find('}');
    if (end == std::string_view::npos) return false;
    const std::string_view name = rest_.substr(1, end - 1);
    if (!IsName(name, NameKind::kParameter)) return false;
    const auto found = values_.find(name);
    if (found == values_.end()) {
      out_.unknown.emplace(name);
      return false;
    }
    out_.used.emplace(name);
    const std::string value = ValueText(found->second);
    Take(end + 1, insertion_ == Insertion::kPlain ? value : ForShell(value));
    return true;
  }

  void TakeSingle() {
    if (rest_[0] == '{') {
      open_.push_back(Opened::kSingle);
    } else if (ClosesSingle()) {
      open_.pop_back();
    }
    Take(1, rest_.substr(0, 1));
  }

  std::string_view rest_;
  const NamedValues& values_;
  const Insertion insertion_;
  const Braces braces_;
  std::vector<Opened> open_;
  Substitution out_;
  bool too_long_ = false;
};

}  // namespace

bool IsProgram(const v1::Spec& trial) { return !trial.command().empty() || !trial.run().empty(); }

bool IsProgram(const v1::ExperimentSpec& spec) {
  return IsProgram(spec.base()) || IsExplicit(spec, "command") || IsExplicit(spec, "run");
}

std::string EnvironmentKind(const v1::Environment& environment) {
  if (environment.uv_size() > 0) return "uv";
  if (!environment.image().empty()) return "image";
  if (!environment.conda().empty()) return "conda";
  if (environment.module_size() > 0) return "module";
  const std::string& python = environment.python();
  return python.empty() || python.find('/') != std::string::npos ? "" : "uv";
}

std::string EnvironmentFile(const v1::Environment& environment) {
  if (!environment.conda().empty()) return environment.conda();
  if (environment.uv_size() != 1) return "";
  const std::string& text = environment.uv(0);
  return IsEnvironmentFile(text) ? text : "";
}

bool Concerns(const v1::Spec& trial, const Field& field) {
  return IsFor(field.use, IsProgram(trial));
}

bool Concerns(const v1::ExperimentSpec& spec, const Field& field) {
  return IsFor(field.use, IsProgram(spec));
}

bool IsName(std::string_view text, NameKind what) {
  if (what == NameKind::kMetric) return IsMetricName(text);
  return IsPlainName(text, limits::kNameBytes) && text.find('/') == std::string_view::npos;
}

FieldType TypeOfText(std::string_view text, Quoting quoting) {
  if (quoting == Quoting::kQuoted) return FieldType::kText;
  if (text == "true" || text == "false") return FieldType::kFlag;
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos) {
    return FieldType::kInteger;
  }
  // ReadText gives wrong_type for plain text, and another code for 1e999, a number out of range.
  const ReadValue number = ReadText(FieldNamed("value", FieldType::kNumber), text);
  return !number.value && number.issue.code == "wrong_type" ? FieldType::kText : FieldType::kNumber;
}

std::optional<FieldType> CommonType(const std::vector<FieldType>& types) {
  std::optional<FieldType> common;
  const auto numeric = [](FieldType type) {
    return type == FieldType::kInteger || type == FieldType::kNumber;
  };
  for (const FieldType type : types) {
    if (!common || *common == type) {
      common = type;
    } else if (numeric(*common) && numeric(type)) {
      common = FieldType::kNumber;
    } else {
      return std::nullopt;
    }
  }
  return common;
}

Field FieldNamed(std::string_view path, FieldType type) {
  Field field;
  field.path = std::string(path);
  field.type = type;
  field.default_kind = DefaultKind::kNone;
  field.use = Use::kProgram;
  if (type == FieldType::kInteger) {  // the range of JSON's integers
    field.min = -kWholeMax;
    field.max = kWholeMax;
  }
  return field;
}

ParameterFields::ParameterFields(const v1::ExperimentSpec& spec) : program_(IsProgram(spec)) {
  if (!program_) return;
  for (const v1::Parameter& parameter : spec.parameters()) {
    const Field* known = FindField(parameter.path());
    if (known != nullptr && known->use != Use::kTrainer) continue;
    std::vector<FieldType> types;
    if (parameter.has_range()) types.push_back(TypeOf(parameter.range()));
    for (const v1::Value& value : parameter.values()) types.push_back(TypeOf(value));
    const std::optional<FieldType> type = CommonType(types);
    if (!type && !types.empty()) mixed_.push_back(parameter.path());
    own_.try_emplace(parameter.path(),
                     FieldNamed(parameter.path(), type.value_or(FieldType::kText)));
  }
}

const Field* ParameterFields::Find(std::string_view path) const {
  if (const auto own = own_.find(path); own != own_.end()) return &own->second;
  const Field* field = FindField(path);
  return field != nullptr && IsFor(field->use, program_) ? field : nullptr;
}

absl::Status TooLong(size_t limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("with the values of parameters in it, the command has more than ", limit,
                   " bytes; put the values into a file or a script"));
}

absl::StatusOr<Substitution> Substituted(std::string_view text, const NamedValues& values,
                                         Insertion insertion) {
  Walk doubled(text, values, insertion, Braces::kAllDoubled);
  std::optional<Substitution> out = doubled.Run();
  if (!out && !doubled.too_long()) out = Walk(text, values, insertion, Braces::kAsTheyStand).Run();
  if (!out) return TooLong(limits::kFilledTextBytes);
  return *std::move(out);
}

bool NamesAllParameters(std::string_view word) {
  return word != "${env}" && word != "${interpreter}" &&
         std::find(kMacros.begin(), kMacros.end(), word) != kMacros.end();
}

}  // namespace dt::spec
