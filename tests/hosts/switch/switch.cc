// switch.cc: joins hosts that are network namespaces of one machine, and treats their frames badly.
//
//   hosts_switch CONTROL_SOCKET SEED tap|packet
//
// A line on the control socket is a command, and has one line as its answer: those of commands.h,
// and `plug NAME PID [CABLE]`, which opens the port of a host, or again that of a host which was
// off; the answer is its number. The hardware address of host N is 02:00:00:00:00:N, so nothing
// has to be learned. Ends with the process that made it (tests/hosts/lab.py).
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "common/unique_fd.h"
#include "tests/hosts/switch/commands.h"
#include "tests/hosts/switch/links.h"
#include "tests/hosts/switch/port.h"

namespace dt::hosts {
namespace {

// Frames under way; more are dropped, as by a switch whose memory is full. 75 MB of 1500 bytes.
constexpr size_t kFramesMax = 50000;
// Frames of one port before the others get their turn.
constexpr int kFramesAtOnce = 64;
constexpr size_t kLineBytesMax = 4096;
constexpr size_t kHostsMax = 250;  // the last byte of an address

Nanoseconds Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

struct Frame {
  Nanoseconds due;
  uint64_t number;  // of two that are due at once, the earlier goes first
  size_t to;
  std::string bytes;

  bool operator<(const Frame& other) const {
    return due != other.due ? due > other.due : number > other.number;
  }
};

class Switch {
 public:
  Switch(UniqueFd listener, uint64_t seed, PortKind kind)
      : listener_(std::move(listener)), links_(seed), kind_(kind) {}

  [[noreturn]] void Run() {
    for (;;) {
      Await();
      TakeFrames();
      TakeLines();
      DeliverFrames();
    }
  }

 private:
  struct Client {
    UniqueFd fd;
    std::string unread;
  };

  // Waits for a frame, a line or the time at which a frame is due.
  void Await() {
    std::vector<pollfd> polled = {{listener_.get(), POLLIN, 0}};
    for (const auto& [number, port] : ports_) polled.push_back({port.fd(), POLLIN, 0});
    for (const Client& client : clients_) polled.push_back({client.fd.get(), POLLIN, 0});
    timespec left{};
    if (!frames_.empty()) {
      const Nanoseconds wait = std::max(frames_.top().due - Now(), Nanoseconds(0));
      left.tv_sec = wait.count() / 1000000000;
      left.tv_nsec = wait.count() % 1000000000;
    }
    ::ppoll(polled.data(), polled.size(), frames_.empty() ? nullptr : &left, nullptr);
  }

  void TakeFrames() {
    for (auto port = ports_.begin(); port != ports_.end();) {
      bool is_there = true;
      for (int i = 0; i < kFramesAtOnce; ++i) {
        const absl::StatusOr<std::optional<std::string>> frame = port->second.Read();
        is_there = frame.ok();
        if (!is_there || !frame->has_value()) break;
        Forward(port->first, **frame);
      }
      port = is_there ? std::next(port) : ports_.erase(port);
    }
  }

  // Takes the receiver from the destination's address: its last byte, or everybody for a group.
  void Forward(size_t from, const std::string& frame) {
    if (frame.size() < 14) return;
    const auto first = static_cast<unsigned char>(frame[0]);
    const auto last = static_cast<unsigned char>(frame[5]);
    const Nanoseconds now = Now();
    for (const auto& [to, port] : ports_) {
      const bool receives = (first & 1) != 0 || to + 1 == last;
      if (to == from || !receives) continue;
      const Decision decision = links_.Take(from, to, now);
      if (decision.fate != Fate::kDelivered || frames_.size() >= kFramesMax) continue;
      frames_.push({decision.due, next_number_++, to, frame});
    }
  }

  void DeliverFrames() {
    while (!frames_.empty() && frames_.top().due <= Now()) {
      const auto port = ports_.find(frames_.top().to);
      if (port != ports_.end()) port->second.Write(frames_.top().bytes);
      frames_.pop();
    }
  }

  void TakeLines() {
    for (;;) {
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) break;
      clients_.push_back({UniqueFd(fd), ""});
    }
    std::erase_if(clients_, [this](Client& client) { return !Serve(client); });
  }

  // Returns false once the client has gone, or sends what is not a line.
  bool Serve(Client& client) {
    char buffer[kLineBytesMax];
    for (;;) {
      const ssize_t bytes = ::recv(client.fd.get(), buffer, sizeof buffer, 0);
      if (bytes < 0) return errno == EAGAIN || errno == EINTR;
      if (bytes == 0) return false;
      client.unread.append(buffer, bytes);
      for (size_t end; (end = client.unread.find('\n')) != std::string::npos;) {
        const std::string answer = Answer(client.unread.substr(0, end)) + "\n";
        client.unread.erase(0, end + 1);
        const ssize_t sent = ::send(client.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(answer.size())) return false;
      }
      if (client.unread.size() > kLineBytesMax) return false;
    }
  }

  std::string Answer(const std::string& line) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() || words[0] != "plug") return Execute(line, links_);
    if (words.size() < 3 || words.size() > 4) return "error: give: plug NAME PID [CABLE]";
    absl::StatusOr<Port> port =
        Port::Open(kind_, std::atoi(words[2].c_str()), words.size() == 4 ? words[3] : "");
    if (!port.ok()) return absl::StrCat("error: ", port.status().message());
    links_.AddHost(words[1]);
    const auto& hosts = links_.hosts();
    const size_t index = std::find(hosts.begin(), hosts.end(), words[1]) - hosts.begin();
    if (index >= kHostsMax) return absl::StrCat("error: more than ", kHostsMax, " hosts");
    ports_.erase(index);
    ports_.emplace(index, *std::move(port));
    return absl::StrCat("ok ", index + 1);
  }

  const UniqueFd listener_;
  Links links_;
  const PortKind kind_;
  std::map<size_t, Port> ports_;  // by the index of the host
  std::vector<Client> clients_;
  std::priority_queue<Frame> frames_;
  uint64_t next_number_ = 0;
};

absl::StatusOr<UniqueFd> Listen(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ConfigError("too long for a socket: " + path);
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 8) != 0) {
    return IoError(absl::StrCat("cannot listen on ", path, ": ", std::strerror(errno)));
  }
  return fd;
}

int Main(int argc, char** argv) {
  const std::string kind = argc == 4 ? argv[3] : "";
  if (kind != "tap" && kind != "packet") {
    std::fprintf(stderr, "usage: hosts_switch CONTROL_SOCKET SEED tap|packet\n");
    return 2;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  absl::StatusOr<UniqueFd> listener = Listen(argv[1]);
  if (!listener.ok()) {
    std::fprintf(stderr, "%s\n", std::string(listener.status().message()).c_str());
    return 1;
  }
  Switch(*std::move(listener), std::strtoull(argv[2], nullptr, 10),
         kind == "tap" ? PortKind::kTap : PortKind::kPacket)
      .Run();
}

}  // namespace
}  // namespace dt::hosts

int main(int argc, char** argv) { return dt::hosts::Main(argc, argv); }
