// data_note.h: data that an experiment names and that are not there, where dtctl can see.
#pragma once

#include <string>

#include "cli/remote/session.h"
#include "dtrain/v1/model.pb.h"

namespace dt::cli {

// The folder of the cluster that `dtctl up` made and that the command means; "" where it means
// another coordinator.
std::string OwnClusterFolder(const Session& session);

// A sentence on the first data of the experiment that are not in the data folder of the cluster
// which `dtctl up` made and the command means. "": all are there, or it is another coordinator's.
std::string MissingDataNote(const Session& session, const v1::ExperimentSpec& spec);

}  // namespace dt::cli
