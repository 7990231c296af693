// convert.h: between frames, which are JSON, and the messages of the control plane.
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

// Protobuf's JSON mapping with original field names and every plain field present. 64-bit integers
// are JSON strings there.
nlohmann::json SpecToJson(const v1::Spec& spec);
// A `step` frame's row: fields by name; null is NaN, unknown and ill-typed fields are left out.
v1::StepRow RowFromJson(const nlohmann::json& row);
v1::Prepared ToMessage(const frames::Prepared& frame, const frames::Hello& trainer,
                       std::string_view host);
v1::CheckpointRef ToMessage(const frames::CheckpointDone& frame, std::string_view storage_id);
v1::Evaluation ToMessage(const frames::Eval& frame);
// The word of an `end` frame. Any other word comes from a trainer that we do not know: a crash.
v1::Cause CauseFromWord(std::string_view word);

}  // namespace dt
