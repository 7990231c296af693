// json.h: messages as JSON with stable names: what `dtctl -o json` prints and /api/v1 answers.
//
// Role:  pure. JSON is versioned API ("apiVersion": "dtrain/v1").
// Rules: field names as in the .proto files; enum values are lower-case words without their prefix
//        ("running"), unspecified is null; NaN and infinities are null; an unset message is null;
//        x_wall_ms becomes x_at, ISO 8601 in UTC, null when 0; assignments and labels become
//        objects; 64 random bits (fixed64) become 16 hex digits, since readers keep numbers as
//        doubles.
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

// "running", "oom"; "" when unspecified or unknown to this program.
std::string Word(v1::TrialState state);
std::string Word(v1::ExperimentState state);
std::string Word(v1::Cause cause);
// The state named `word`, or TRIAL_STATE_UNSPECIFIED.
v1::TrialState TrialStateFromWord(std::string_view word);

std::string FormatIso(int64_t wall_ms);  // "2025-11-21T07:40:12.345Z"
Json TimeJson(int64_t wall_ms);          // ISO 8601; 0: null
Json NumberJson(double value);           // null where it is none

// Generic rules above; the overloads add "id" and say "unknown" as null.
Json ToJson(const google::protobuf::Message& message);
Json ExperimentJson(const v1::ExperimentSummary& experiment);
// A summary with the specification, the file and what people changed.
Json ExperimentFields(const v1::GetExperimentResponse& found);
Json TrialJson(const v1::TrialSummary& trial);
// A trial's summary with its explanation, attempts and takeovers.
Json ExplanationFields(const v1::ExplainTrialResponse& found);
Json CheckpointJson(const v1::CheckpointSummary& checkpoint);
Json WorkerJson(const v1::WorkerSummary& worker);
Json QuotaJson(const v1::QuotaSummary& quota);
// With whether it was changed; of one that is not there, with nothing but that.
Json QuotaFields(const v1::SetQuotaResponse& set);

// {"apiVersion", "kind", …fields}, and {"apiVersion", "kind", "items"}.
Json Document(std::string_view kind, Json fields);
Json List(std::string_view kind, std::vector<Json> items);

// Control characters, and marks that change the direction of writing, are \u escapes: they occur in
// strings alone, and JSON is printed on terminals too. `indent` negative: all in one line.
std::string Dump(const Json& json, int indent);
std::string JsonText(const Json& json);  // indented, newline at the end
std::string JsonLine(const Json& json);  // one line, newline at the end

}  // namespace dt::api
