// peer_checker.cc: connections to all addresses at once, and poll.
#include "worker/shell/peer_checker.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/address.h"
#include "common/clock.h"
#include "common/detection_limits.h"
#include "common/limits.h"
#include "common/unique_fd.h"

namespace dt {
namespace {

constexpr size_t kChecksWaiting = 2;
constexpr size_t kAnswersWaiting = 4;

// Returns whether a host answered with this result of a connection.
bool IsAnswer(int error) { return error == 0 || error == ECONNREFUSED || error == ECONNRESET; }

struct Connection {
  size_t address = 0;  // place in the list
  UniqueFd socket;
  bool answered = false;
  bool open = false;  // waits for an answer
};

Connection Begin(const std::string& address) {
  Connection connection;
  const auto [host, port] = SplitHostAndPort(address);
  if (port.empty()) return connection;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return connection;
  connection.socket = UniqueFd(
      socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol));
  if (connection.socket.valid()) {
    const bool at_once = connect(connection.socket.get(), found->ai_addr, found->ai_addrlen) == 0;
    connection.open = !at_once && errno == EINPROGRESS;
    connection.answered = at_once || (!connection.open && IsAnswer(errno));
  }
  freeaddrinfo(found);
  return connection;
}

void TakeResult(Connection& connection) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(connection.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  connection.open = false;
  connection.answered = IsAnswer(error);
}

}  // namespace

std::vector<std::string> FindUnreachable(const std::vector<std::string>& addresses,
                                         absl::Duration patience) {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + patience;
  std::vector<Connection> connections;
  std::vector<bool> answered(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    for (int n = 0; n < limits::kPeerConnections && !answered[i]; ++n) {
      connections.push_back(Begin(addresses[i]));
      connections.back().address = i;
      answered[i] = connections.back().answered;
    }
  }
  for (;;) {
    std::vector<pollfd> waits;
    bool open = false;
    for (const Connection& each : connections) {
      const bool waited_for = each.open && !answered[each.address];
      waits.push_back({waited_for ? each.socket.get() : -1, POLLOUT, 0});
      open = open || waited_for;
    }
    const absl::Duration left = until - clock.Now().steady;
    if (!open || left <= absl::ZeroDuration()) break;
    poll(waits.data(), waits.size(), static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    for (size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents == 0) continue;
      TakeResult(connections[i]);
      if (connections[i].answered) answered[connections[i].address] = true;
    }
  }
  std::vector<std::string> unreachable;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (!answered[i]) unreachable.push_back(addresses[i]);
  }
  return unreachable;
}

PeerChecker& PeerChecker::Start() {
  auto& checker = *new PeerChecker();
  checker.thread_ = std::thread([&checker] { checker.Run(); });
  checker.thread_.detach();  // it ends with the process
  return checker;
}

PeerChecker::PeerChecker() : checks_(kChecksWaiting, 0), answers_(kAnswersWaiting, 0) {}

void PeerChecker::Run() {
  for (;;) {
    for (const CheckPeers& check : checks_.Drain(1, limits::kLookWait)) {
      PeersChecked answer{check.number, FindUnreachable(check.addresses, limits::kPeerAnswers)};
      if (!answers_.Post(std::move(answer), PostClass::kBulk)) continue;
      wake_.Signal();
    }
  }
}

void PeerChecker::Check(CheckPeers check) {
  [[maybe_unused]] const bool taken = checks_.Post(std::move(check), PostClass::kBulk);
}

std::vector<PeersChecked> PeerChecker::Take() {
  wake_.Clear();
  return answers_.Drain(kAnswersWaiting, absl::ZeroDuration());
}

}  // namespace dt
