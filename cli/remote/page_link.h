// page_link.h: the URL of an experiment's page, as seen from dtctl's host.
//
// Role:  pure.
// Tests: tests/cli/remote/page_link_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dt::cli {

struct PageLink {
  std::string url;         // "http://127.0.0.1:7601/#/experiments/12"; "": unknown
  bool elsewhere = false;  // works only on the coordinator's host
};
// Returns the link. `http` is the listening address that the coordinator reports, "0.0.0.0:7601"
// too. `dialled` has the address, or addresses, by which dtctl reaches the coordinator.
PageLink PageLinkOf(std::string_view http, std::string_view dialled, uint64_t experiment);

// Returns the link for a sentence, with a note if it works only on the coordinator's host.
std::string PageLinkText(const PageLink& link);

}  // namespace dt::cli
