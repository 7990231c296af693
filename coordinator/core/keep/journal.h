// journal.h: turns a decision into a fact.
//
// Role:      the only place where Step changes durable state: through Apply, together with the
//            indices that follow from the facts.
// Tests:     tests/coordinator/core/
#pragma once

#include "coordinator/core/model/turn.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// Applies the record and adds it to the effects. Aborts if Apply refuses it: that is a bug.
void Journal(Turn& turn, v1::Record record);

}  // namespace dt
