// collectives.h: sums rows, and their collectives by operation and axis.
//
// Role:  pure. Words that this version does not know (common/collectives.h) are skipped, so a sum
//        has a bounded number of parts whatever a worker sends.
// Tests: tests/spec/collectives_test.cc
#pragma once

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// Adds the collectives of `row`, `times` times, to `sum`. Numbers that are not finite or below 0
// add nothing.
void AddCollectives(const ::dtrain::v1::StepRow& row, double times, ::dtrain::v1::StepRow& sum);

// Adds the row to a sum of rows: the columns that add up, and the collectives. A column that covers
// the logged step alone counts for all steps of its row.
void AddRow(const ::dtrain::v1::StepRow& row, ::dtrain::v1::StepRow& sum);

// Returns the seconds in collectives, hidden or not. If a row has only all-reduces and no list of
// collectives, it counts those.
double CommunicationSeconds(const ::dtrain::v1::StepRow& row);

// Returns the seconds in which one stage of a pipeline waited for another, mean over the ranks;
// negative: no pipeline.
double StageWaitSeconds(const ::dtrain::v1::StepRow& row);

}  // namespace dt::spec
