// caller.h: the person and the machine that a command runs for.
//
// Role: reads the environment, the user database and the kernel's random numbers.
#pragma once

#include <string>

#include "cli/remote/session.h"

namespace dt::cli {

// Who the person is, by the name that this machine has for them. A coordinator that asks for
// certificates takes theirs instead.
std::string WhoAmI(Session& session);
// By which a submission that is sent again is known.
std::string RandomRequestId();
// The cores that this process may use.
int UsableCores();

}  // namespace dt::cli
