// convert.h: converts between frames, which are JSON, and the messages of the control plane.
//
// Role: pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/model.pb.h"
#include "worker/frames/frames.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Returns protobuf's JSON mapping with original field names and every plain field present. In it,
// 64-bit integers are JSON strings.
nlohmann::json SpecToJson(const v1::Spec& spec);
// Reads the row of a `step` frame: fields by name; null is NaN; unknown and ill-typed fields are
// skipped.
v1::StepRow RowFromJson(const nlohmann::json& row);
v1::Prepared ToMessage(const frames::Prepared& frame, const frames::Hello& trainer,
                       std::string_view host);
v1::CheckpointRef ToMessage(const frames::CheckpointDone& frame, std::string_view storage_id);
v1::Evaluation ToMessage(const frames::Eval& frame);
// Reads the word of an `end` frame. An unknown word comes from an unknown trainer: a crash.
v1::Cause CauseFromWord(std::string_view word);

}  // namespace dt
