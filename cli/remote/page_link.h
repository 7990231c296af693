// page_link.h: where a browser shows an experiment, seen from where dtctl runs.
//
// Role:  pure.
// Tests: tests/cli/remote/page_link_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dt::cli {

struct PageLink {
  std::string url;         // "http://127.0.0.1:7601/#/experiments/12"; "": not known
  bool elsewhere = false;  // it works on the coordinator's host alone
};
// `http`: as the coordinator says it listens, "0.0.0.0:7601" too. `dialled`: the address, or
// addresses, by which dtctl reaches the coordinator.
PageLink PageLinkOf(std::string_view http, std::string_view dialled, uint64_t experiment);

// The link as a sentence has it: with where it works, where that is not here.
std::string PageLinkText(const PageLink& link);

}  // namespace dt::cli
