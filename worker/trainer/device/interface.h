// interface.h: which network interface has an address, for libraries that want its name.
//
// Tests: tests/worker/trainer/device/interface_test.cc
#pragma once

#include <string>

namespace dt::trainer {

// "" when none has it, and for loopback, and when `host` is no IP address but a name.
std::string InterfaceOf(const std::string& host);

}  // namespace dt::trainer
