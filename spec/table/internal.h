// internal.h: functions that the files of this room share.
#pragma once

#include <vector>

#include "spec/table/field.h"

namespace dt::spec::internal {

// Make the tables, in fields.cc and experiment_fields.cc; FieldTable and ExperimentFieldTable cache
// them.
std::vector<Field> MakeFieldTable();
std::vector<Field> MakeExperimentFieldTable();

}  // namespace dt::spec::internal
