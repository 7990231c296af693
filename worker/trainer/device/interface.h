// interface.h: finds the network interface that has an address, for libraries that need its name.
//
// Tests: tests/worker/trainer/device/interface_test.cc
#pragma once

#include <string>

namespace dt::trainer {

// Returns the interface's name. Returns "" if no interface has the address, for loopback, and if
// `host` is a name instead of an IP address.
std::string InterfaceOf(const std::string& host);

}  // namespace dt::trainer
