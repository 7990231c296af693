// parallel_rules.h: decides whether a trial's ranks may share as its `parallel` says.
#pragma once

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

namespace v1 = ::dtrain::v1;

// Applies the rules for files, but for those of single fields.
bool AllowsParallel(const v1::Spec& trial);

}  // namespace dt::spec
