// url.h: addresses of receivers: http and https in a strict form, and how they are shown.
//
// Role:  pure. Every other parser of addresses finds the same host in an address that is accepted
//        here.
// Tests: tests/common/url_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dt {

// Stands for a path and what follows it, which may hold a secret.
inline constexpr char kHiddenRest[] = "/...";

struct Url {
  std::string scheme;  // http | https
  std::string host;    // in lower case; a v6 address with its brackets
  int port = 0;
  std::string rest;  // from the path on; may be empty
};
// Errors: InvalidArgument with the reason; without the address, since it may hold a secret.
absl::StatusOr<Url> ParseUrl(std::string_view text);
// Returns "https://host" or "https://host:8443".
std::string OriginOf(const Url& url);
// Returns "https://host/...": where a notice goes, and nothing secret. "(hidden)" if it is no
// address.
std::string ShownUrl(std::string_view text);
// Returns `text`, which may be an experiment's file, with `url` and each address after a key `url`
// shown in that form. Hides a text completely if it finds none.
std::string HideUrl(std::string_view text, std::string_view url);

}  // namespace dt
