// journal.h: how a decision becomes a fact.
//
// Role:      the only place where Step changes durable state: through Apply, with the indices that
//            follow from the facts.
// Tests:     tests/coordinator/core/
#pragma once

#include "coordinator/core/model/turn.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// Applies the record and adds it to the effects. A record that Apply refuses is a bug: aborts.
void Journal(Turn& turn, v1::Record record);

}  // namespace dt
