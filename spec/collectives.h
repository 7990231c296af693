// collectives.h: sums of what rows say of collectives, by operation and axis.
//
// Role:  pure. Words that this version does not know (common/collectives.h) are left out, so that a
//        sum has a bounded number of parts whatever a worker sends.
// Tests: tests/spec/collectives_test.cc
#pragma once

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// Adds what `row` says, so many times, to `sum`. Numbers that are not finite, or below 0, add
// nothing.
void AddCollectives(const ::dtrain::v1::StepRow& row, double times, ::dtrain::v1::StepRow& sum);

// In collectives, hidden or not. Of rows that tell of no collectives, but of all-reduces, theirs.
double CommunicationSeconds(const ::dtrain::v1::StepRow& row);

// In which a stage of a pipeline waited for another, mean over the ranks; negative: no pipeline.
double StageWaitSeconds(const ::dtrain::v1::StepRow& row);

}  // namespace dt::spec
