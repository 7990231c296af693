// acceptor.cc: the loop that accepts connections.
#include "coordinator/rpc/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr absl::Duration kSweepEvery = absl::Seconds(1);
constexpr absl::Duration kLookBetween = absl::Milliseconds(100);

UniqueFd OpenReserve() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& address) {
  DT_ASSIGN_OR_RETURN(Listening listening, dt::Listen("--listen", address));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return absl::ResourceExhaustedError(absl::StrCat("--listen: eventfd: ", std::strerror(errno)));
  }
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(listening), std::move(wake)));
}

Acceptor::Acceptor(Listening listening, UniqueFd wake)
    : listening_(std::move(listening)), wake_(std::move(wake)), reserve_(OpenReserve()) {}

Acceptor::~Acceptor() {
  Stop();
  if (!listening_.socket_path.empty()) unlink(listening_.socket_path.c_str());
}

void Acceptor::Start(std::unique_ptr<Sink> sink, ConnectionWatch& watch) {
  sink_ = std::move(sink);
  watch_ = &watch;
  thread_ = std::thread([this] { Run(); });
  sweeping_ = std::thread([this] { Sweep(); });
}

void Acceptor::Stop() {
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  if (sweeping_.joinable()) sweeping_.join();
}

void Acceptor::Run() {
  pollfd watched[] = {{listening_.fd.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (true) {
    // The listener is level-triggered: connections left by one round are found by the next.
    const int ready = poll(watched, 2, -1);
    if (ready < 0 && errno != EINTR) {
      spdlog::error("accepting connections: poll: {}", std::strerror(errno));
      return;
    }
    if (watched[1].revents != 0) return;
    if (ready > 0 && watched[0].revents != 0) AcceptAll();
  }
}

void Acceptor::Sweep() {
  pollfd wake{wake_.get(), POLLIN, 0};
  absl::Time sweep = absl::Now();
  while (poll(&wake, 1, static_cast<int>(absl::ToInt64Milliseconds(kLookBetween))) <= 0) {
    const absl::Time now = absl::Now();
    if (now < sweep + kSweepEvery) {
      watch_->SweepSuspects();
    } else {
      sweep = now;
      watch_->Sweep();
    }
  }
}

void Acceptor::AcceptAll() {
  while (true) {
    const int fd = accept4(listening_.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));  // fails on Unix sockets, which
                                                                    // do not need it
      Sink::NewConnectionParameters connection;
      connection.listener_fd = listening_.fd.get();
      connection.fd = fd;
      watch_->Add(fd);
      sink_->HandleNewConnection(&connection);
      continue;
    }
    const int reason = errno;
    if (reason == ECONNABORTED || reason == EINTR) continue;
    const bool exhausted =
        reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM;
    if (exhausted) Shed();
    return;  // or EAGAIN: all connections are accepted
  }
}

// Closes the newest connection at once instead of leaving it in the backlog; the peer comes back
// after its backoff.
void Acceptor::Shed() {
  reserve_ = UniqueFd();
  const bool shed = UniqueFd(accept(listening_.fd.get(), nullptr, nullptr)).valid();
  reserve_ = OpenReserve();
  // Without a reserve no connection can be shed: waits a little instead of spinning on a full
  // table.
  if (!shed) poll(nullptr, 0, 50);
}

}  // namespace dt
