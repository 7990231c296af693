// http_head.h: parses and checks the head of an HTTP/1.x request.
//
// Role:  pure.
// Tests: tests/coordinator/http/http_server_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"

namespace dt {

// Returns the bytes of the head with its empty line, or 0 while the head is incomplete.
size_t HeadBytes(const std::string& text);

struct RequestLine {
  std::string_view method, path, query, version;
};
RequestLine ParseRequestLine(std::string_view head);

// Returns the value of a header, or "".
std::string HeaderOf(std::string_view head, absl::string_view name);

// Returns what is wrong with the lines of a head, or "": a line that is no header, a header that
// must not be repeated, or an invalid Host. Programs read such a head in different ways; RFC 9112,
// 2.2, 3.2, 5.1 and 5.2, asks for a refusal.
std::string DefectOf(std::string_view head, const RequestLine& line);

// Returns whether the client used an address, the common name of every host ("localhost"), or no
// Host. A page from elsewhere can make its own name resolve to 127.0.0.1 and make the browser read
// the answer; it cannot do so with these.
bool IsOfThisHost(std::string host);

}  // namespace dt
