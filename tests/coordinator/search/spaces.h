// spaces.h: a dimension of each kind, and a space of all of them.
#pragma once

#include "spec/space.h"

namespace dt::search::testing {

inline spec::v1::Value Integer(int64_t integer) {
  spec::v1::Value value;
  value.set_integer(integer);
  return value;
}
inline spec::v1::Value Text(const char* text) {
  spec::v1::Value value;
  value.set_text(text);
  return value;
}

inline spec::Dimension LearningRate() {
  return {.path = "optimizer.lr", .low = 1e-5, .high = 0.1, .log = true};
}
inline spec::Dimension Warmup() { return {.path = "schedule.warmup_ratio", .low = 0, .high = 0.3}; }
inline spec::Dimension Dropout() {
  return {.path = "model.dropout",
          .kind = spec::DimensionKind::kStepped,
          .low = 0,
          .high = 0.5,
          .step = 0.05};
}
inline spec::Dimension Layers() {
  return {.path = "model.n_layer",
          .kind = spec::DimensionKind::kStepped,
          .low = 2,
          .high = 12,
          .step = 1,
          .integer = true};
}
inline spec::Dimension Width() {
  return {.path = "model.n_embd",
          .kind = spec::DimensionKind::kStepped,
          .low = 4,
          .high = 64,
          .step = 1,
          .log = true,
          .integer = true};
}
inline spec::Dimension Batch() {
  return {.path = "train.batch_size",
          .kind = spec::DimensionKind::kOrdered,
          .integer = true,
          .values = {Integer(8), Integer(16), Integer(64)}};
}
inline spec::Dimension Norm() {
  return {.path = "model.norm",
          .kind = spec::DimensionKind::kChoice,
          .values = {Text("pre"), Text("post")}};
}
inline spec::Space Mixed() {
  return {{Dropout(), Width(), Layers(), Norm(), LearningRate(), Warmup(), Batch()}};
}

}  // namespace dt::search::testing
