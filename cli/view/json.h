// json.h: the machine formats: api's JSON, and JSON as YAML and CSV.
//
// Role:  pure.
// Tests: tests/cli/view/json_test.cc
#pragma once

#include <string>
#include <vector>

#include "api/json.h"
#include "dtrain/v1/control.pb.h"
#include "report/words/csv.h"

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
using report::CsvCell;
using report::CsvColumns;
using report::CsvLine;
using report::CsvText;
using report::WithParameters;

void SetMessages(google::protobuf::Message& message);  // recursively, except repeated ones

std::string YamlText(const Json& json);

// Returns a message with each of its messages set, so that its JSON has all names.
template <typename Message>
Message Whole() {
  Message message;
  SetMessages(message);
  return message;
}
}  // namespace dt::cli
