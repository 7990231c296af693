#include "coordinator/api/act_fields.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/api_limits.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "dtrain/v1/control.pb.h"
#include "google/protobuf/descriptor.h"

namespace dt {
namespace {

namespace v1 = ::dtrain::v1;
using api::Json;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status Refused(const Json& body, const char* name, const std::string& what) {
  const std::string sent = body[name].dump(-1, ' ', true);
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", CleanText(sent, limits::kQuotedBytes), "; it is ", what));
}

// Returns "" if the body does not have the field.
absl::StatusOr<std::string> TextOf(const Json& body, const char* name) {
  if (!body.contains(name)) return "";
  if (body[name].is_string()) return body[name].get<std::string>();
  return Refused(body, name, "a text");
}

template <typename Number>
absl::StatusOr<Number> IntegerOf(const Json& body, const char* name) {
  const Json& value = body[name];
  const auto least = static_cast<int64_t>(std::numeric_limits<Number>::min());
  const auto most = static_cast<int64_t>(
      std::min<uint64_t>(std::numeric_limits<Number>::max(), std::numeric_limits<int64_t>::max()));
  const bool integer =
      value.is_number_integer() &&
      !(value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max());
  if (integer && value.get<int64_t>() >= least && value.get<int64_t>() <= most) {
    return static_cast<Number>(value.get<int64_t>());
  }
  return Refused(body, name, absl::StrCat("an integer from ", least, " to ", most));
}

// Reads {"team": "a", "old": null}: sets one label and removes one.
absl::StatusOr<v1::ExperimentChanged::Labels> LabelsOf(const Json& body, const char* name) {
  static constexpr char kLabels[] =
      "an object of texts, {\"team\": \"a\"}, where null removes a label";
  v1::ExperimentChanged::Labels labels;
  if (!body[name].is_object()) return Refused(body, name, kLabels);
  for (const auto& [key, value] : body[name].items()) {
    if (value.is_null()) {
      labels.add_removed(key);
    } else if (value.is_string()) {
      labels.add_set()->set_key(key);
      labels.mutable_set()->rbegin()->set_value(value.get<std::string>());
    } else {
      return Refused(body, name, kLabels);
    }
  }
  return labels;
}

// Reads {"val_loss": 0.25, "accuracy": null}; null is a value that is no number.
absl::Status ReadMetrics(const Json& body, const char* name, const FieldDescriptor& field,
                         Message& into) {
  static constexpr char kMetrics[] =
      "an object of numbers, {\"val_loss\": 0.25}, where null is a value that is no number";
  if (!body[name].is_object()) return Refused(body, name, kMetrics);
  if (body[name].size() > limits::kMetrics) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has ", body[name].size(), " entries; at most ", limits::kMetrics, " are allowed"));
  }
  for (const auto& [key, value] : body[name].items()) {
    if (!value.is_number() && !value.is_null()) return Refused(body, name, kMetrics);
    auto& metric = static_cast<v1::Metric&>(*into.GetReflection()->AddMessage(&into, &field));
    metric.set_name(key);
    metric.set_value(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                     : value.get<double>());
  }
  return absl::OkStatus();
}

// Reads 16 hex digits, as answers have 64 random bits.
absl::StatusOr<uint64_t> BitsOf(const Json& body, const char* name) {
  uint64_t bits = 0;
  DT_ASSIGN_OR_RETURN(const std::string text, TextOf(body, name));
  if (text.size() == 16 && absl::SimpleHexAtoi(text, &bits)) return bits;
  return Refused(body, name, "16 hex digits");
}

// Reads bytes that an answer has as hex digits.
absl::StatusOr<std::string> BytesOf(const Json& body, const char* name) {
  DT_ASSIGN_OR_RETURN(const std::string text, TextOf(body, name));
  const bool hex = text.size() % 2 == 0 && std::all_of(text.begin(), text.end(), [](char c) {
                     return absl::ascii_isxdigit(static_cast<unsigned char>(c));
                   });
  if (hex) return absl::HexStringToBytes(text);
  return Refused(body, name, "hex digits, two a byte");
}

// Reads a word of an enum in lower case.
absl::Status ReadWord(const Json& body, const char* name, const FieldDescriptor& field,
                      Message& into) {
  DT_ASSIGN_OR_RETURN(const std::string text, TextOf(body, name));
  std::vector<std::string> words;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const auto& value = *field.enum_type()->value(i);
    if (value.number() == 0) continue;
    words.push_back(absl::AsciiStrToLower(value.name()));
    if (words.back() != text) continue;
    into.GetReflection()->SetEnum(&into, &field, &value);
    return absl::OkStatus();
  }
  return Refused(body, name, absl::StrCat("one of ", absl::StrJoin(words, ", ")));
}

}  // namespace

absl::Status ReadField(const Json& body, const char* name, Message& into) {
  const FieldDescriptor* field = into.GetDescriptor()->FindFieldByName(name);
  const google::protobuf::Reflection& reflection = *into.GetReflection();
  if (field->is_repeated()) {
    DT_CHECK(field->message_type() == v1::Metric::descriptor());
    return ReadMetrics(body, name, *field, into);
  }
  if (field->type() == FieldDescriptor::TYPE_BYTES) {
    DT_ASSIGN_OR_RETURN(const std::string bytes, BytesOf(body, name));
    reflection.SetString(&into, field, bytes);
  } else if (field->type() == FieldDescriptor::TYPE_FIXED64) {
    DT_ASSIGN_OR_RETURN(const uint64_t bits, BitsOf(body, name));
    reflection.SetUInt64(&into, field, bits);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    return ReadWord(body, name, *field, into);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    DT_ASSIGN_OR_RETURN(const std::string text, TextOf(body, name));
    reflection.SetString(&into, field, text);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    if (!body[name].is_boolean()) return Refused(body, name, "true or false");
    reflection.SetBool(&into, field, body[name].get<bool>());
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    if (!body[name].is_number()) return Refused(body, name, "a number");
    reflection.SetDouble(&into, field, body[name].get<double>());
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    DT_ASSIGN_OR_RETURN(const uint64_t number, IntegerOf<uint64_t>(body, name));
    reflection.SetUInt64(&into, field, number);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    DT_ASSIGN_OR_RETURN(const uint32_t number, IntegerOf<uint32_t>(body, name));
    reflection.SetUInt32(&into, field, number);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    DT_ASSIGN_OR_RETURN(const int32_t number, IntegerOf<int32_t>(body, name));
    reflection.SetInt32(&into, field, number);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    DT_ASSIGN_OR_RETURN(const int64_t number, IntegerOf<int64_t>(body, name));
    reflection.SetInt64(&into, field, number);
  } else {
    DT_CHECK(field->message_type() == v1::ExperimentChanged::Labels::descriptor());
    DT_ASSIGN_OR_RETURN(const v1::ExperimentChanged::Labels labels, LabelsOf(body, name));
    reflection.MutableMessage(&into, field)->CopyFrom(labels);
  }
  return absl::OkStatus();
}

}  // namespace dt
