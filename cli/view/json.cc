#include "cli/view/json.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "cli/view/format.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace dt::cli {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string EnumWord(const EnumValueDescriptor* value) {
  if (value == nullptr || value->number() == 0) return "";
  std::string word = value->name();
  for (const char* prefix : {"TRIAL_", "EXPERIMENT_", "CAUSE_"}) {
    if (absl::StartsWith(word, prefix)) {
      word = word.substr(std::string(prefix).size());
      break;
    }
  }
  return absl::AsciiStrToLower(word);
}

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// A message has "" where nothing is known.
Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// "ended_wall_ms" → "ended_at"; a row's "wall_time_ms" → "logged_at"; "" for what is no time.
std::string TimeName(const std::string& field) {
  constexpr absl::string_view kSuffix = "_wall_ms";
  if (field == "wall_time_ms") return "logged_at";
  if (!absl::EndsWith(field, kSuffix)) return "";
  return absl::StrCat(field.substr(0, field.size() - kSuffix.size()), "_at");
}

Json ValueJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      return value.integer();
    case v1::Value::kNumber:
      return NumberOrNull(value.number());
    case v1::Value::kText:
      return value.text();
    case v1::Value::kFlag:
      return value.flag();
    case v1::Value::kNumbers: {
      Json list = Json::array();
      for (double number : value.numbers().values()) list.push_back(NumberOrNull(number));
      return list;
    }
    case v1::Value::KIND_NOT_SET:
      return nullptr;
  }
  return nullptr;
}

// `index` is -1 for a field that is not repeated.
Json FieldJson(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection* reflection = message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection->GetRepeatedInt32(message, field, index)
                      : reflection->GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return repeated ? reflection->GetRepeatedInt64(message, field, index)
                      : reflection->GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? reflection->GetRepeatedUInt32(message, field, index)
                      : reflection->GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t value = repeated ? reflection->GetRepeatedUInt64(message, field, index)
                                      : reflection->GetUInt64(message, field);
      if (field->type() == FieldDescriptor::TYPE_FIXED64) return absl::StrFormat("%016x", value);
      return value;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberOrNull(repeated ? reflection->GetRepeatedDouble(message, field, index)
                                   : reflection->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return NumberOrNull(repeated ? reflection->GetRepeatedFloat(message, field, index)
                                   : reflection->GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? reflection->GetRepeatedBool(message, field, index)
                      : reflection->GetBool(message, field);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const std::string word =
          EnumWord(repeated ? reflection->GetRepeatedEnum(message, field, index)
                            : reflection->GetEnum(message, field));
      return word.empty() ? Json(nullptr) : Json(word);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (repeated) return reflection->GetRepeatedString(message, field, index);
      return TextOrNull(reflection->GetString(message, field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!repeated && !reflection->HasField(message, field)) return nullptr;
      return ToJson(repeated ? reflection->GetRepeatedMessage(message, field, index)
                             : reflection->GetMessage(message, field));
  }
  return nullptr;
}

Json RepeatedJson(const Message& message, const FieldDescriptor* field) {
  const Reflection* reflection = message.GetReflection();
  const int size = reflection->FieldSize(message, field);
  const auto* type = field->message_type();
  if (type == v1::Assignment::descriptor() || type == v1::Label::descriptor()) {
    Json object = Json::object();
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection->GetRepeatedMessage(message, field, i);
      if (type == v1::Label::descriptor()) {
        const auto& label = static_cast<const v1::Label&>(entry);
        object[label.key()] = label.value();
      } else {
        const auto& assignment = static_cast<const v1::Assignment&>(entry);
        object[assignment.path()] = ValueJson(assignment.value());
      }
    }
    return object;
  }
  Json list = Json::array();
  for (int i = 0; i < size; ++i) list.push_back(FieldJson(message, field, i));
  return list;
}

Json WithId(const std::string& id, const Json& fields) {
  Json json = Json::object();
  json["id"] = id;
  json.update(fields);
  return json;
}

// C1 controls and the marks of Printable as \u escapes, which mean the same: JSON is printed on
// terminals too. They occur in strings alone.
std::string Escaped(const std::string& json) {
  std::string text;
  for (size_t i = 0; i < json.size();) {
    const size_t length = std::max<size_t>(1, Utf8Length(std::string_view(json).substr(i)));
    const std::string point = json.substr(i, length);
    i += length;
    const std::string shown = length > 1 ? Printable(point) : point;
    text += absl::StartsWith(shown, "\\x") ? absl::StrCat("\\u00", shown.substr(2)) : shown;
  }
  return text;
}

std::string Dump(const Json& json, int indent) {
  return Escaped(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

std::string Scalar(const Json& json) { return Dump(json, -1); }

std::string YamlScalar(const Json& json) {
  if (json.is_string() && IsPlainYaml(json.get<std::string>())) return json.get<std::string>();
  if (json.is_array() && json.empty()) return "[]";
  if (json.is_object() && json.empty()) return "{}";
  return Scalar(json);
}

bool IsBlock(const Json& json) { return json.is_structured() && !json.empty(); }

void AppendYaml(const Json& json, int indent, std::string& text) {
  const std::string margin(indent, ' ');
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      absl::StrAppend(&text, margin, YamlScalar(Json(key)), ":");
      if (IsBlock(value)) {
        text += "\n";
        AppendYaml(value, indent + 2, text);
      } else {
        absl::StrAppend(&text, " ", YamlScalar(value), "\n");
      }
    }
    return;
  }
  for (const Json& value : json) {
    if (!IsBlock(value)) {
      absl::StrAppend(&text, margin, "- ", YamlScalar(value), "\n");
      continue;
    }
    std::string block;
    AppendYaml(value, indent + 2, block);
    block[indent] = '-';
    text += block;
  }
}

// A spreadsheet would run a text that begins so; numbers are not texts.
std::string Defused(const std::string& text) {
  const bool active =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  return active ? "'" + text : text;
}

using Cells = std::map<std::string, std::string>;  // by column

void FillCells(const std::string& name, const Json& json, Cells& cells) {
  const auto cell = cells.find(name);
  if (cell != cells.end()) {
    cell->second = CsvCell(json);
  } else if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      FillCells(name.empty() ? key : absl::StrCat(name, ".", key), value, cells);
    }
  }
}

void AppendColumns(const std::string& name, const Json& json, std::vector<std::string>& columns) {
  if (!json.is_object() || json.empty()) {
    if (!name.empty()) columns.push_back(name);
    return;
  }
  for (const auto& [key, value] : json.items()) {
    AppendColumns(name.empty() ? key : absl::StrCat(name, ".", key), value, columns);
  }
}

// Commas, quotes and ends of lines are for CSV.
std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(std::string(text), {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string Word(v1::TrialState state) {
  return EnumWord(v1::TrialState_descriptor()->FindValueByNumber(state));
}
std::string Word(v1::ExperimentState state) {
  return EnumWord(v1::ExperimentState_descriptor()->FindValueByNumber(state));
}
std::string Word(v1::Cause cause) {
  return EnumWord(v1::Cause_descriptor()->FindValueByNumber(cause));
}

v1::TrialState TrialStateFromWord(std::string_view word) {
  const auto* type = v1::TrialState_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    if (!word.empty() && EnumWord(type->value(i)) == word) {
      return static_cast<v1::TrialState>(type->value(i)->number());
    }
  }
  return v1::TRIAL_STATE_UNSPECIFIED;
}

Json TimeJson(int64_t wall_ms) { return wall_ms == 0 ? Json(nullptr) : Json(FormatIso(wall_ms)); }

Json ToJson(const Message& message) {
  if (message.GetDescriptor() == v1::Value::descriptor()) {
    return ValueJson(static_cast<const v1::Value&>(message));
  }
  Json json = Json::object();
  const auto* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const std::string& name = field->name();
    const std::string time_name = TimeName(name);
    if (field->is_repeated()) {
      json[name] = RepeatedJson(message, field);
    } else if (!time_name.empty()) {
      json[time_name] = TimeJson(message.GetReflection()->GetInt64(message, field));
    } else {
      json[name] = FieldJson(message, field, -1);
    }
  }
  return json;
}

void SetMessages(Message& message) {
  const auto* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    SetMessages(*message.GetReflection()->MutableMessage(&message, field));
  }
}

Json ExperimentJson(const v1::ExperimentSummary& experiment) {
  Json json = WithId(absl::StrCat(experiment.experiment()), ToJson(experiment));
  if (experiment.best_trial() == 0) json["best_trial"] = json["best_value"] = nullptr;
  if (experiment.eta_seconds() < 0) json["eta_seconds"] = nullptr;
  return json;
}

Json TrialJson(const v1::TrialSummary& trial) {
  Json json = WithId(absl::StrCat(trial.experiment(), "/", trial.trial()), ToJson(trial));
  if (trial.eta_seconds() < 0) json["eta_seconds"] = nullptr;
  for (const char* name : {"target_steps", "train_tokens", "tokens_per_step", "tokens_per_second",
                           "model_parameters", "best_val_step"}) {
    if (json[name] == 0) json[name] = nullptr;
  }
  return json;
}

Json CheckpointJson(const v1::CheckpointSummary& checkpoint) {
  Json json = WithId(
      absl::StrCat(checkpoint.experiment(), "/", checkpoint.trial(), "#", checkpoint.attempt()),
      ToJson(checkpoint));
  json.erase("checkpoint");
  json.update(ToJson(checkpoint.checkpoint()));
  return json;
}

Json WorkerJson(const v1::WorkerSummary& worker) { return WithId(worker.worker(), ToJson(worker)); }

Json Document(std::string_view kind, const Json& fields) {
  Json json = Json::object();
  json["apiVersion"] = kApiVersion;
  json["kind"] = std::string(kind);
  json.update(fields);
  return json;
}

Json List(std::string_view kind, std::vector<Json> items) {
  Json fields = Json::object();
  fields["items"] = std::move(items);
  return Document(kind, fields);
}

std::string JsonText(const Json& json) { return Dump(json, 2) + "\n"; }

std::string JsonLine(const Json& json) { return Scalar(json) + "\n"; }

std::string YamlText(const Json& json) {
  if (!IsBlock(json)) return YamlScalar(json) + "\n";
  std::string text;
  AppendYaml(json, 0, text);
  return text;
}

std::string CsvCell(const Json& json) {
  if (json.is_null()) return "";
  if (json.is_string()) return Defused(json.get<std::string>());
  if (!json.is_structured()) return Scalar(json);
  std::string text;
  for (const auto& [key, value] : json.items()) {
    const std::string piece = value.is_string() ? value.get<std::string>() : Scalar(value);
    const bool is_text = value.is_string() || json.is_object();
    const std::string cell = json.is_object() ? absl::StrCat(key, "=", piece) : piece;
    absl::StrAppend(&text, text.empty() ? "" : ";", text.empty() && is_text ? Defused(cell) : cell);
  }
  return text;
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    absl::StrAppend(&line, i == 0 ? "" : ",", CsvField(cells[i]));
  }
  return line + "\n";
}

std::string CsvText(const std::vector<std::string>& columns, const std::vector<Json>& items) {
  std::string csv = CsvLine(columns);
  for (const Json& item : items) {
    Cells cells;
    for (const std::string& column : columns) cells[column];
    FillCells("", item, cells);
    std::vector<std::string> row;
    for (const std::string& column : columns) row.push_back(cells[column]);
    csv += CsvLine(row);
  }
  return csv;
}

std::vector<std::string> CsvColumns(const Json& item) {
  std::vector<std::string> columns;
  AppendColumns("", item, columns);
  return columns;
}

std::vector<std::string> WithParameters(std::vector<std::string> columns,
                                        const std::vector<std::string>& paths) {
  constexpr char kAssignments[] = "assignments";
  std::erase(columns, kAssignments);
  for (const std::string& path : paths) columns.push_back(absl::StrCat(kAssignments, ".", path));
  return columns;
}

}  // namespace dt::cli
