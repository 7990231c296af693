// json.h: messages as JSON with stable names: the output of `dtctl -o json` and the answers of
// /api/v1.
//
// Role:  pure. JSON is versioned API ("apiVersion": "dtrain/v1").
// Rules: field names as in the .proto files; enum values are lower-case words without their prefix
//        ("running"), unspecified is null; NaN and infinities are null; an unset message is null;
//        x_wall_ms becomes x_at, ISO 8601 in UTC, null when 0; assignments and labels become
//        objects; 64 random bits (fixed64) become 16 hex digits, since parsers keep numbers as
//        doubles; bytes become hex digits.
// Tests: tests/cli/view/json_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/control.pb.h"
#include "nlohmann/json.hpp"

namespace dt::api {

namespace v1 = ::dtrain::v1;
using Json = nlohmann::ordered_json;

inline constexpr char kApiVersion[] = "dtrain/v1";

// Returns "running", "oom"; "" when unspecified or unknown to this program.
std::string Word(v1::TrialState state);
std::string Word(v1::ExperimentState state);
std::string Word(v1::Cause cause);
// Returns the state named `word`, or TRIAL_STATE_UNSPECIFIED.
v1::TrialState TrialStateFromWord(std::string_view word);

std::string FormatIso(int64_t wall_ms);  // "2025-11-21T07:40:12.345Z"
Json TimeJson(int64_t wall_ms);          // ISO 8601; 0: null
Json NumberJson(double value);           // null for NaN and infinities

// Follows the generic rules above; the overloads add "id" and map "unknown" to null.
Json ToJson(const google::protobuf::Message& message);
Json ExperimentJson(const v1::ExperimentSummary& experiment);
// Returns a summary with the specification, the file and people's changes.
Json ExperimentFields(const v1::GetExperimentResponse& found);
Json TrialJson(const v1::TrialSummary& trial);
// Returns a trial's summary with its explanation, attempts and takeovers.
Json ExplanationFields(const v1::ExplainTrialResponse& found);
Json CheckpointJson(const v1::CheckpointSummary& checkpoint);
Json WorkerJson(const v1::WorkerSummary& worker);
Json QuotaJson(const v1::QuotaSummary& quota);
// Includes whether the quota changed; for an absent quota, only that.
Json QuotaFields(const v1::SetQuotaResponse& set);

// Return {"apiVersion", "kind", …fields} and {"apiVersion", "kind", "items"}.
Json Document(std::string_view kind, Json fields);
Json List(std::string_view kind, std::vector<Json> items);

// Escapes control characters and marks that change the direction of writing as \u: they occur only
// in strings, and JSON is printed on terminals too. A negative `indent` gives one line.
std::string Dump(const Json& json, int indent);
std::string JsonText(const Json& json);  // indented, newline at the end
std::string JsonLine(const Json& json);  // one line, newline at the end

}  // namespace dt::api
