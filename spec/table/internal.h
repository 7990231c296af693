// internal.h: what the files of this room share and nobody else needs.
#pragma once

#include <vector>

#include "spec/table/field.h"

namespace dt::spec::internal {

// In fields.cc; FieldTable and ExperimentFieldTable keep them.
std::vector<Field> MakeFieldTable();
std::vector<Field> MakeExperimentFieldTable();

}  // namespace dt::spec::internal
