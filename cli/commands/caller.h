// caller.h: the user and the machine of a command.
//
// Role: reads the environment, the user database and the kernel's random numbers.
#pragma once

#include <string>

#include "cli/remote/session.h"

namespace dt::cli {

// Returns the user's name on this machine. A coordinator that requires certificates uses the name
// in the certificate instead.
std::string WhoAmI(Session& session);
// Returns a random id, by which the coordinator recognises a repeated submission.
std::string RandomRequestId();
// Returns the number of cores that this process may use.
int UsableCores();

}  // namespace dt::cli
