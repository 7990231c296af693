// parallel_rules.h: whether a trial's ranks may share as its `parallel` says.
#pragma once

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

namespace v1 = ::dtrain::v1;

// By the rules that a file is read by; those of single fields aside.
bool AllowsParallel(const v1::Spec& trial);

}  // namespace dt::spec
