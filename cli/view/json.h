// json.h: the machine formats: messages as JSON with stable names, and JSON as YAML and CSV.
//
// Role:  pure. JSON is versioned API ("apiVersion": "dtrain/v1"); tables are not.
// Rules: field names as in the .proto files; enum values are lower-case words without their prefix
//        ("running"), unspecified is null; NaN and infinities are null; an unset message is null;
//        x_wall_ms becomes x_at, ISO 8601 in UTC, null when 0; assignments and labels become
//        objects; 64 random bits (fixed64) become 16 hex digits, since readers keep numbers as
//        doubles.
// Tests: tests/cli/view/json_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/control.pb.h"
#include "nlohmann/json.hpp"

namespace dt::cli {

namespace v1 = ::dtrain::v1;
using Json = nlohmann::ordered_json;

inline constexpr char kApiVersion[] = "dtrain/v1";

// "running", "oom"; "" when unspecified or unknown to this program.
std::string Word(v1::TrialState state);
std::string Word(v1::ExperimentState state);
std::string Word(v1::Cause cause);
// The state named `word`, or TRIAL_STATE_UNSPECIFIED.
v1::TrialState TrialStateFromWord(std::string_view word);

// Generic rules above; the overloads add "id" and say "unknown" as null.
Json ToJson(const google::protobuf::Message& message);
void SetMessages(google::protobuf::Message& message);  // all that it may hold, not repeated ones
Json TimeJson(int64_t wall_ms);                        // ISO 8601; 0: null
Json ExperimentJson(const v1::ExperimentSummary& experiment);
Json TrialJson(const v1::TrialSummary& trial);
Json CheckpointJson(const v1::CheckpointSummary& checkpoint);
Json WorkerJson(const v1::WorkerSummary& worker);

// {"apiVersion", "kind", …fields}, and {"apiVersion", "kind", "items"}.
Json Document(std::string_view kind, const Json& fields);
Json List(std::string_view kind, std::vector<Json> items);

std::string JsonText(const Json& json);  // indented, newline at the end
std::string JsonLine(const Json& json);  // one line, newline at the end
std::string YamlText(const Json& json);

// CSV: nested objects become dotted columns, lists are joined with ';', null is empty. What an item
// has beside the columns is left out.
std::string CsvText(const std::vector<std::string>& columns, const std::vector<Json>& items);
std::string CsvCell(const Json& json);
std::string CsvLine(const std::vector<std::string>& cells);
// The columns of an item in which nothing is null.
std::vector<std::string> CsvColumns(const Json& item);
// `message` with each of its messages set, so that no name is missing from its JSON.
template <typename Message>
Message Whole() {
  Message message;
  SetMessages(message);
  return message;
}
// Assignments as one column for each of an experiment's parameters, behind the others: the same
// columns whichever trials are listed.
std::vector<std::string> WithParameters(std::vector<std::string> columns,
                                        const std::vector<std::string>& paths);

}  // namespace dt::cli
