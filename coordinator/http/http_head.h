// http_head.h: the head of an HTTP/1.x request: its lines, and whether it is one at all.
//
// Role:  pure.
// Tests: tests/coordinator/http/http_server_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"

namespace dt {

// Returns the bytes of the head with its empty line, or 0 while that has not come.
size_t HeadBytes(const std::string& text);

struct RequestLine {
  std::string_view method, path, query, version;
};
RequestLine ParseRequestLine(std::string_view head);

// Returns the value of a header, or "".
std::string HeaderOf(std::string_view head, absl::string_view name);

// Returns what is wrong with the lines of a head, "" if nothing is: a line that is no header, one
// that must be there once and is there twice, a Host that is none. Programs read such a head in
// different ways; RFC 9112, 2.2, 3.2, 5.1 and 5.2, asks for a refusal.
std::string DefectOf(std::string_view head, const RequestLine& line);

// Returns whether a client asked by an address, or by the one name that everybody gives this host,
// or by none. A page from elsewhere can have its own name stand for 127.0.0.1 and have the browser
// read what is answered; it cannot do so with these.
bool IsOfThisHost(std::string host);

}  // namespace dt
