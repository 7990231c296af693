// program.cc: programs as trials, their parameters, and values in their words.
#include "spec/program.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/metric_name.h"
#include "common/status.h"
#include "spec/internal.h"

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

// Integers have steps; a range without one is a continuum.
FieldType TypeOf(const v1::Range& range) {
  const auto whole = [](double number) {
    return number >= -kWholeMax && number <= kWholeMax && IsWhole(number);
  };
  const bool integers =
      range.step() > 0 && whole(range.step()) && whole(range.min()) && whole(range.max());
  return integers ? FieldType::kInteger : FieldType::kNumber;
}

absl::Status TooLong(size_t limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("with the values of parameters in it, the command has more than ", limit,
                   " bytes; put the values into a file or a script"));
}

// Walks a text that may hold {name}.
class Substitution {
 public:
  Substitution(std::string_view text, const NamedValues& values, Insertion insertion)
      : rest_(text), values_(values), insertion_(insertion) {}

  absl::StatusOr<std::string> Run() {
    while (!rest_.empty()) {
      if (rest_.starts_with("${")) {
        TakeShellsOwn();
      } else if (rest_.starts_with("{{") || rest_.starts_with("}}")) {
        out_ += rest_[0];
        rest_.remove_prefix(2);
      } else if (rest_[0] == '{') {
        DT_RETURN_IF_ERROR(TakeName());
      } else if (rest_[0] == '}') {
        return absl::InvalidArgumentError("a '}' closes no parameter; write }} for a brace");
      } else {
        const size_t plain = std::min(rest_.find_first_of("${}", 1), rest_.size());
        out_ += rest_.substr(0, plain);
        rest_.remove_prefix(plain);
      }
      if (out_.size() > limits::kFilledTextBytes) return TooLong(limits::kFilledTextBytes);
    }
    return std::move(out_);
  }

 private:
  // ${NAME:-{x}}, to the brace that closes it.
  void TakeShellsOwn() {
    size_t depth = 0;
    size_t end = 1;
    for (; end < rest_.size(); ++end) {
      if (rest_[end] == '{') ++depth;
      if (rest_[end] == '}' && --depth == 0) break;
    }
    end = std::min(end + 1, rest_.size());
    out_ += rest_.substr(0, end);
    rest_.remove_prefix(end);
  }

  absl::Status TakeName() {
    const size_t end = rest_.find('}');
    const std::string_view name =
        rest_.substr(1, end == std::string_view::npos ? std::string_view::npos : end - 1);
    if (end == std::string_view::npos || !IsName(name, NameOf::kParameter)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the '{' of ", internal::Quote(rest_.substr(0, std::min<size_t>(24, end))),
                       " begins no parameter; write {{ for a brace"));
    }
    const auto found = values_.find(name);
    if (found == values_.end()) return Unknown(name);
    Insert(ValueText(found->second));
    rest_.remove_prefix(end + 1);
    return absl::OkStatus();
  }

  absl::Status Unknown(std::string_view name) const {
    std::vector<std::string> known;
    for (const auto& [each, value] : values_) known.push_back(each);
    const std::string near = Suggest(name, known);
    return absl::InvalidArgumentError(absl::StrCat(
        internal::Quote(absl::StrCat("{", std::string(name), "}")), " names no parameter; ",
        near.empty() ? absl::StrCat("add it to parameters, or write {{", std::string(name),
                                    "}} for the text itself")
                     : absl::StrCat("did you mean '{", near, "}'?")));
  }

  void Insert(const std::string& value) {
    constexpr std::string_view kSafe = "@%_-+=:,./";
    const bool safe = !value.empty() && std::all_of(value.begin(), value.end(), [&](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
             kSafe.find(c) != std::string_view::npos;
    });
    if (insertion_ == Insertion::kPlain || safe) {
      out_ += value;
      return;
    }
    out_ += '\'';
    for (const char c : value) {
      if (c == '\'') {
        out_ += "'\\''";
      } else {
        out_ += c;
      }
    }
    out_ += '\'';
  }

  std::string_view rest_;
  const NamedValues& values_;
  const Insertion insertion_;
  std::string out_;
};

}  // namespace

bool IsProgram(const v1::Spec& trial) { return !trial.command().empty() || !trial.run().empty(); }

bool IsProgram(const v1::ExperimentSpec& spec) {
  return IsProgram(spec.base()) || IsExplicit(spec, "command") || IsExplicit(spec, "run");
}

bool Concerns(const v1::Spec& trial, const Field& field) {
  return IsFor(field.use, IsProgram(trial));
}

bool Concerns(const v1::ExperimentSpec& spec, const Field& field) {
  return IsFor(field.use, IsProgram(spec));
}

bool IsName(std::string_view text, NameOf what) {
  if (what == NameOf::kMetric) return IsMetricName(text);
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
  // It calls plain text a wrong type, and 1e999 too large a number.
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
  if (type == FieldType::kInteger) {  // what JSON holds
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

absl::StatusOr<std::string> Substituted(std::string_view text, const NamedValues& values,
                                        Insertion insertion) {
  return Substitution(text, values, insertion).Run();
}

absl::Status SubstituteAll(v1::Spec& trial) {
  NamedValues values;
  for (const v1::Assignment& one : trial.values()) values[one.path()] = one.value();
  values["seed"].set_integer(trial.seed());
  size_t bytes = 0;
  const auto substitute = [&](std::string& text, Insertion insertion) {
    DT_ASSIGN_OR_RETURN(text, Substituted(text, values, insertion));
    bytes += text.size();
    return bytes <= limits::kFilledBytes ? absl::OkStatus() : TooLong(limits::kFilledBytes);
  };
  for (std::string& word : *trial.mutable_command()) {
    DT_RETURN_IF_ERROR(substitute(word, Insertion::kPlain));
  }
  DT_RETURN_IF_ERROR(substitute(*trial.mutable_run(), Insertion::kShell));
  DT_RETURN_IF_ERROR(substitute(*trial.mutable_workdir(), Insertion::kPlain));
  for (v1::Label& variable : *trial.mutable_resources()->mutable_env()) {
    DT_RETURN_IF_ERROR(substitute(*variable.mutable_value(), Insertion::kPlain));
  }
  return absl::OkStatus();
}

}  // namespace dt::spec
