// notify_socket.h: the service manager's end of sd_notify(3).
//
// Ownership: the socket; its file lies in a folder of the test.
// Errors:    a message that does not come within kPatience reads as "nothing".
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "tests/testing/await.h"

namespace dt::testing {

class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path)
      : path_(path), fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    EXPECT_LT(path.size(), sizeof(name.sun_path));
    path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  }
  ~NotifySocket() { close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  const std::string& path() const { return path_; }
  std::string Receive() {
    char buffer[512];
    ssize_t got = -1;
    // Not SO_RCVTIMEO: with it, recv fails after a signal has stopped and continued this process.
    Await([&] { return (got = recv(fd_, buffer, sizeof(buffer), MSG_DONTWAIT)) >= 0; });
    return got < 0 ? "nothing" : std::string(buffer, static_cast<size_t>(got));
  }
  // Reads until a message starts with `start`. Returns "nothing" if no more messages come.
  std::string ReceiveUntil(const std::string& start) {
    for (;;) {
      const std::string message = Receive();
      if (message == "nothing" || message.rfind(start, 0) == 0) return message;
    }
  }

 private:
  std::string path_;
  int fd_;
};

}  // namespace dt::testing
