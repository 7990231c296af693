#include "spec/program_words.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"

namespace dt::spec {
namespace {

// Returns false for fields that a program does not get as arguments: where it runs and when it
// ends.
bool IsArgument(std::string_view path) {
  const Field* field = FindField(path);
  return field == nullptr || field->use == Use::kTrainer ||
         path.find('.') == std::string_view::npos;
}

nlohmann::json PlainJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      return value.integer();
    case v1::Value::kNumber:
      return value.number();
    case v1::Value::kFlag:
      return value.flag();
    case v1::Value::kNumbers:
      return std::vector<double>(value.numbers().values().begin(), value.numbers().values().end());
    case v1::Value::kText:
      return value.text();
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return nullptr;
}

// Returns the words that replace one of kMacros.
std::vector<std::string> Expanded(std::string_view macro, const v1::Spec& trial) {
  if (macro == "${env}") return {"/usr/bin/env"};
  if (macro == "${interpreter}") return {"python3"};
  std::vector<std::string> words;
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const v1::Assignment& one : trial.values()) {
    if (!IsArgument(one.path())) continue;
    object[one.path()] = PlainJson(one.value());
    const bool flag = macro == "${args_no_boolean_flags}" && one.value().has_flag();
    if (flag && !one.value().flag()) continue;
    words.push_back(absl::StrCat(macro == "${args_no_hyphens}" ? "" : "--", one.path(),
                                 flag ? "" : "=", flag ? "" : ValueText(one.value())));
  }
  if (macro != "${args_json}") return words;
  return {object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
}

}  // namespace

void LeaveOutInactive(const NameSet& inactive, v1::Spec& trial) {
  if (inactive.empty()) return;
  const std::vector<std::string> words =
      WithoutInactive({trial.command().begin(), trial.command().end()}, inactive);
  trial.mutable_command()->Assign(words.begin(), words.end());
  trial.set_run(ShellWithoutInactive(trial.run(), inactive));
  auto& variables = *trial.mutable_resources()->mutable_env();
  const auto named = [&](const v1::Label& each) { return NamesAny(each.value(), inactive); };
  variables.erase(std::remove_if(variables.begin(), variables.end(), named), variables.end());
}

NameSet InactiveNames(const v1::ExperimentSpec& spec,
                      const std::vector<v1::Assignment>& assignments) {
  NameSet inactive;
  for (const v1::Parameter& parameter : spec.parameters()) {
    if (parameter.when_size() > 0) inactive.insert(parameter.path());
  }
  for (const v1::Assignment& assignment : assignments) inactive.erase(assignment.path());
  return inactive;
}

absl::Status SubstituteAll(v1::Spec& trial, const NameSet& inactive) {
  NamedValues values;
  for (const v1::Assignment& one : trial.values()) values[one.path()] = one.value();
  values["seed"].set_integer(trial.seed());
  size_t bytes = 0;
  const auto count = [&bytes](const std::string& text) {
    bytes += text.size();
    return bytes <= limits::kFilledBytes ? absl::OkStatus() : TooLong(limits::kFilledBytes);
  };
  const auto substitute = [&](std::string& text, Insertion insertion) {
    DT_ASSIGN_OR_RETURN(Substitution filled, Substituted(text, values, insertion));
    text = std::move(filled.text);
    return count(text);
  };
  std::vector<std::string> words;
  LeaveOutInactive(inactive, trial);
  for (std::string& word : *trial.mutable_command()) {
    if (std::find(kMacros.begin(), kMacros.end(), word) == kMacros.end()) {
      DT_RETURN_IF_ERROR(substitute(word, Insertion::kPlain));
      words.push_back(std::move(word));
      continue;
    }
    for (std::string& one : Expanded(word, trial)) {
      DT_RETURN_IF_ERROR(count(one));
      words.push_back(std::move(one));
    }
  }
  trial.mutable_command()->Assign(words.begin(), words.end());
  DT_RETURN_IF_ERROR(substitute(*trial.mutable_run(), Insertion::kShell));
  DT_RETURN_IF_ERROR(substitute(*trial.mutable_workdir(), Insertion::kPlain));
  DT_RETURN_IF_ERROR(substitute(*trial.mutable_checkpoint()->mutable_folder(), Insertion::kPlain));
  if (trial.has_metrics()) {
    v1::Metrics& metrics = *trial.mutable_metrics();
    DT_RETURN_IF_ERROR(substitute(*metrics.mutable_file(), Insertion::kPlain));
    DT_RETURN_IF_ERROR(substitute(*metrics.mutable_tensorboard(), Insertion::kPlain));
  }
  for (v1::Label& variable : *trial.mutable_resources()->mutable_env()) {
    DT_RETURN_IF_ERROR(substitute(*variable.mutable_value(), Insertion::kPlain));
  }
  return absl::OkStatus();
}

}  // namespace dt::spec
