// json.h: the machine formats: api's JSON, and JSON as YAML and CSV.
//
// Role:  pure.
// Tests: tests/cli/view/json_test.cc
#pragma once

#include <string>
#include <vector>

#include "api/json.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;
using api::CheckpointJson;
using api::Document;
using api::ExperimentFields;
using api::ExperimentJson;
using api::ExplanationFields;
using api::FormatIso;
using api::Json;
using api::JsonLine;
using api::JsonText;
using api::kApiVersion;
using api::List;
using api::TimeJson;
using api::ToJson;
using api::TrialJson;
using api::TrialStateFromWord;
using api::Word;
using api::WorkerJson;

void SetMessages(google::protobuf::Message& message);  // all that it may hold, not repeated ones

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
