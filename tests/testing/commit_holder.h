// commit_holder.h: a proxy between a coordinator and its PostgreSQL that holds back the reply to a
// COMMIT. The coordinator is then between commit and reply for as long as the test likes.
//
// Ownership: its sockets and a thread; the destructor ends them and the connections through them.
// Threads:   HoldNext and held from any.
// Source:    PostgreSQL's protocol 3.0, simple queries: 'Q', length, text, 0.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/unique_fd.h"
#include "tests/testing/temp_folder.h"

namespace dt::testing {

class CommitHolder {
 public:
  // `server`: the folder of the server's socket.
  explicit CommitHolder(const std::string& server)
      : server_(server), stop_(eventfd(0, EFD_CLOEXEC)), listener_(Socket()) {
    const sockaddr_un name = NameIn(folder_.path());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    EXPECT_EQ(listen(listener_.get(), 16), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~CommitHolder() {
    const uint64_t one = 1;
    EXPECT_EQ(write(stop_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    thread_.join();
  }
  CommitHolder(const CommitHolder&) = delete;
  CommitHolder& operator=(const CommitHolder&) = delete;

  // Returns the folder of the socket that a coordinator uses in place of the server's.
  const std::string& folder() const { return folder_.path(); }
  // Holds back the reply to the next COMMIT.
  void HoldNext() { hold_.store(true); }
  // Returns true once the server has committed and the client has not been answered.
  bool held() const { return held_.load(); }

 private:
  struct Pair {
    UniqueFd client;
    UniqueFd server;
    bool committing = false;  // the next reply answers a COMMIT that is held
  };

  static UniqueFd Socket() { return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
  static sockaddr_un NameIn(const std::string& folder) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string path = folder + "/.s.PGSQL.5432";
    EXPECT_LT(path.size(), sizeof(name.sun_path)) << path;
    path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    return name;
  }
  static bool Send(const UniqueFd& to, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void Accept() {
    Pair pair{UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), Socket()};
    const sockaddr_un name = NameIn(server_);
    if (pair.client.valid() &&
        connect(pair.server.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0) {
      pairs_.push_back(std::move(pair));
    }
  }
  // Passes on the bytes that one side sent. Returns whether the pair is still connected.
  bool PassOn(Pair& pair, bool from_client) {
    static constexpr std::string_view kCommit("Q\0\0\0\013COMMIT\0", 12);
    char block[16 << 10];
    const ssize_t got =
        recv((from_client ? pair.client : pair.server).get(), block, sizeof(block), 0);
    if (got <= 0) return false;
    const std::string_view bytes(block, static_cast<size_t>(got));
    if (from_client) {
      // libpq sends a simple query in one piece, and the next one after the reply.
      if (bytes == kCommit && hold_.exchange(false)) pair.committing = true;
      return Send(pair.server, bytes);
    }
    if (!pair.committing) return Send(pair.client, bytes);
    held_.store(true);
    return true;
  }
  void Run() {
    while (true) {
      std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        fds.push_back({pair.client.get(), POLLIN, 0});
        fds.push_back({pair.server.get(), POLLIN, 0});
      }
      if (poll(fds.data(), fds.size(), -1) < 0) continue;
      if (fds[0].revents != 0) return;
      size_t at = 2;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
        const bool lives = (fds[at].revents == 0 || PassOn(*pair, true)) &&
                           (fds[at + 1].revents == 0 || PassOn(*pair, false));
        pair = lives ? std::next(pair) : pairs_.erase(pair);
      }
      if (fds[1].revents != 0) Accept();
    }
  }

  const std::string server_;
  const TempFolder folder_;
  const UniqueFd stop_;
  const UniqueFd listener_;
  std::list<Pair> pairs_;  // used by the thread alone
  std::atomic<bool> hold_{false};
  std::atomic<bool> held_{false};
  std::thread thread_;
};

}  // namespace dt::testing
