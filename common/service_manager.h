// service_manager.h: reports of a service to systemd, a datagram each, without libsystemd.
//
// Threads: any.
// Errors:  none. A lost message only makes the service manager restart a service that runs.
// Source:  sd_notify(3), sd_watchdog_enabled(3)
// Tests:   tests/common/service_manager_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"

namespace dt {

// Sends lines such as "READY=1" to the socket that $NOTIFY_SOCKET names, if the service manager wants them.
void NotifyServiceManager(const std::string& lines);

// Returns the longest time between two "WATCHDOG=1" that the service manager allows; zero if it does not watch this
// process.
absl::Duration WatchdogPeriod();

}  // namespace dt
