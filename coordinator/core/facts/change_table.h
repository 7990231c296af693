// change_table.h: the changes that people make to a submitted experiment, a row each.
//
// Role:      pure. calls/editing.h asks whether a change is allowed, and journals it; Apply makes
//            it. A new change is a field of the two oneofs `change`, of the same name and type, and
//            a row here.
// Errors:    InvalidArgument for a value out of its range; FailedPrecondition if the experiment
//            cannot be changed so. Each names the experiment and the alternative.
// Tests:     tests/coordinator/core/editing_test.cc, editing_more_test.cc
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "common/limits.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// Bytes of a line of the history: the beginning of a note or of labels is enough to recognize it.
inline constexpr size_t kHistoryBytes = limits::kNameBytes;

struct ExperimentChange {
  v1::ExperimentChanged::ChangeCase field;
  // Checks whether the experiment may be changed so.
  absl::Status (*check)(const Experiment& experiment, const v1::ExperimentChanged& change);
  // Returns whether the experiment is so already.
  bool (*already)(const Experiment& experiment, const v1::ExperimentChanged& change);
  // Makes the change. Returns its words for the history: "priority 0, now 5".
  std::string (*apply)(Experiment& experiment, const v1::ExperimentChanged& change);
};

// Returns nullptr for a change that this version does not know.
const ExperimentChange* FindChange(const v1::ExperimentChanged& change);

}  // namespace dt
