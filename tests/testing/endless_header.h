// endless_header.h: what opens a connection of HTTP/2 and then sends one header without an end, in
// frames of CONTINUATION (CVE-2023-33953).
//
// Role: pure. The bytes alone; who sends them is the test's.
#pragma once

#include <cstddef>
#include <string>

namespace dt::testing {

// A frame on stream 1.
inline std::string Http2Frame(char type, char flags, const std::string& payload) {
  std::string frame;
  frame.push_back(static_cast<char>(payload.size() >> 16));
  frame.push_back(static_cast<char>(payload.size() >> 8));
  frame.push_back(static_cast<char>(payload.size()));
  frame += type;
  frame += flags;
  frame += std::string("\0\0\0\1", 4);
  return frame + payload;
}

// The preface, settings, and a literal header whose value is longer than all that is sent.
inline std::string EndlessHeaderOpening() {
  std::string settings = Http2Frame(4, 0, "");
  settings[8] = 0;  // of the connection
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings +
         Http2Frame(1, 0, std::string("\0\1x\x7f\xff\xff\xff\x7f", 8));
}

// What follows, again and again.
inline std::string EndlessHeaderMore() { return Http2Frame(9, 0, std::string(16 << 10, 'a')); }

// No server takes so much before it cuts the connection off.
inline constexpr size_t kEndlessHeaderBytes = 256 << 20;

}  // namespace dt::testing
