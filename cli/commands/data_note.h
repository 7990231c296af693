// data_note.h: notes on missing data of an experiment, where dtctl can see it.
#pragma once

#include <string>

#include "cli/remote/session.h"
#include "dtrain/v1/model.pb.h"

namespace dt::cli {

// Returns the folder of the cluster of `dtctl up` if the command uses it; "" for another
// coordinator.
std::string OwnClusterFolder(const Session& session);

// Returns a sentence on the first data of the experiment that are missing in the data folder of
// that cluster; "" if all exist, or for another coordinator.
std::string MissingDataNote(const Session& session, const v1::ExperimentSpec& spec);

}  // namespace dt::cli
