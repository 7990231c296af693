// ca_bundle.h: where this system keeps the authorities that it trusts.
//
// Role:  libcurl has a path that was chosen where it was built. A program that runs on several
//        distributions looks for the file of its own.
// Tests: tests/common/ca_bundle_test.cc
#pragma once

#include <string>

namespace dt {

// Returns the first file of a short list that exists, below `root`; "" if there is none: libcurl's path then counts.
std::string FindCaBundle(const std::string& root = "");

}  // namespace dt
