// loopback.h: a plain connection to a server's port on this host.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "absl/strings/numbers.h"
#include "common/unique_fd.h"
#include "tests/testing/await.h"
#include "tests/testing/endless_header.h"

namespace dt::testing {

// Connects to a server on this host. `address`: host:port, of which only the port is used. Sends
// and receives give up after kPatience.
inline UniqueFd ConnectLoopback(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) << address;
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0) << address;
  const timeval patience{kPatience.count(), 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return fd;
}

// Returns whether the peer took all of it.
inline bool Sends(const UniqueFd& fd, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

// Sends a header without an end until the peer closes the connection or kPatience is over. Returns
// the bytes that the peer took: kEndlessHeaderBytes or more if it never closed the connection.
inline size_t SendsUntilCutOff(const UniqueFd& fd) {
  const std::string more = EndlessHeaderMore();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  size_t sent = 0;
  if (!Sends(fd, EndlessHeaderOpening())) return sent;
  while (sent < kEndlessHeaderBytes) {
    if (std::chrono::steady_clock::now() > end) return kEndlessHeaderBytes;
    if (!Sends(fd, more)) return sent;
    sent += more.size();
  }
  return sent;
}

}  // namespace dt::testing
