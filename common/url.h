// url.h: addresses of receivers: http and https in a strict form, and how they are shown.
//
// Role:  pure. What is taken here every other reader of addresses takes for the same host.
// Tests: tests/common/url_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dt {

struct Url {
  std::string scheme;  // http | https
  std::string host;    // in lower case; [v6] with its brackets
  int port = 0;
  std::string rest;  // from the path on; ""
};
// Errors: InvalidArgument with what is wrong; the address is not part of the message, since it may
// hold a secret.
absl::StatusOr<Url> ParseUrl(std::string_view text);
// "https://host", "https://host:8443".
std::string OriginOf(const Url& url);
// "https://host/...": where it goes and nothing that is secret. "(hidden)" for what is no address.
std::string ShownUrl(std::string_view text);
// `text`, which may be an experiment's file, with `url` and each address behind a key `url` shown
// so; a text in which none is found is hidden whole.
std::string HideUrl(std::string_view text, std::string_view url);

}  // namespace dt
