// group.cc: a TCPStore on our own socket, the c10d wrapper around Gloo or NCCL, and the abort.
#include "worker/trainer/parallel/group.h"

#include <dirent.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "worker/trainer/device/failure.h"

namespace dt::trainer {
namespace {

constexpr size_t kBroadcastBufferBytes = 250 << 20;  // as PyTorch's DDP
// While a backend is being built, an abort looks for new sockets at this interval, and for this
// long: after that the agent kills.
constexpr std::chrono::milliseconds kNextSockets{10};
constexpr std::chrono::seconds kAbortJoiningFor{2};
// Timeout of one attempt to reach the store, and the pause before the next, so that a stop is
// noticed.
constexpr std::chrono::milliseconds kNextTry{100};

enum class Sockets { kConnected, kAll };  // kAll: listening ones too

// Returns the sockets of this process, sorted.
std::vector<int> OpenSockets(Sockets which = Sockets::kConnected) {
  std::vector<int> sockets;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return sockets;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const int fd = std::atoi(entry->d_name);
    struct stat facts {};
    if (fstat(fd, &facts) != 0 || !S_ISSOCK(facts.st_mode)) continue;
    int listening = 0;
    socklen_t size = sizeof(listening);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 &&
        (listening == 0 || which == Sockets::kAll)) {
      sockets.push_back(fd);
    }
  }
  closedir(folder);
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

// Returns the open sockets that are not in `before`.
std::vector<int> Since(const std::vector<int>& before, Sockets which = Sockets::kConnected) {
  const std::vector<int> now = OpenSockets(which);
  std::vector<int> opened;
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                      std::back_inserter(opened));
  return opened;
}

// Returns a number that is equal for two processes exactly if they run on one host and see each
// other's process ids. It is a hash of the host's boot id and the pid namespace, cut to 52 bits,
// which a double holds exactly.
double HostNumber() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  struct stat space {};
  if (stat("/proc/self/ns/pid", &space) == 0) text += "/" + std::to_string(space.st_ino);
  return static_cast<double>(std::hash<std::string>()(text) >> 12);
}

struct Listening {
  int fd = -1;
  uint16_t port = 0;
};

absl::StatusOr<Listening> Listen(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return ConfigError("data address '" + host + "': " + gai_strerror(failed) +
                       "; give an address of this host as --data-address");
  }
  Listening listening;
  std::string reason;
  for (addrinfo* a = found; a != nullptr && listening.fd < 0; a = a->ai_next) {
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
      reason = std::strerror(errno);
      close(fd);
      continue;
    }
    listening.fd = fd;
    listening.port =
        ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  }
  freeaddrinfo(found);
  if (listening.fd < 0) {
    return ConfigError("cannot listen on data address '" + host + "': " + reason +
                       "; give an address of this host as --data-address");
  }
  return listening;
}

// Returns whether `host`:`port` accepts a connection within `patience`.
bool Answers(const std::string& host, const std::string& port, std::chrono::milliseconds patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return false;
  bool answers = false;
  for (addrinfo* a = found; a != nullptr && !answers; a = a->ai_next) {
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    pollfd connecting{fd, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof(error);
    answers =
        connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
        (errno == EINPROGRESS && poll(&connecting, 1, static_cast<int>(patience.count())) == 1 &&
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
    close(fd);
  }
  freeaddrinfo(found);
  return answers;
}

// Blocks until the store at `host`:`port` accepts connections. c10d's own attempts end at their
// timeout only, so a store that died with its process would use up all of it.
absl::Status AwaitStore(const std::string& host, const std::string& port,
                        const std::function<bool()>& leaves, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!Answers(host, port, kNextTry)) {
    if (leaves()) return CancelledError("stopped while connecting to rank 0's store");
    if (std::chrono::steady_clock::now() > until) {
      return CollectiveError("nothing accepts connections to the attempt's store at " + host + ":" +
                             port);
    }
    poll(nullptr, 0, static_cast<int>(kNextTry.count()));
  }
  return absl::OkStatus();
}

// Turns the exception into an error. A store needs threads, for which memory may be missing.
// REQUIRES: called in a catch block.
absl::Status StoreError(const std::string& what) {
  const absl::Status error = ErrorOfException();
  return StatusOf(error.code() == kOutOfMemoryError ? kOutOfMemoryError : kCollectiveError,
                  what + ": " + std::string(error.message()));
}

absl::Status SumInPlace(c10d::ProcessGroup& group, float* sums, size_t count) {
  std::vector<at::Tensor> tensors = {
      at::from_blob(sums, {static_cast<int64_t>(count)}, at::kFloat)};
  group.allreduce(tensors)->wait();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Rendezvous> HostStore(const std::string& host, uint16_t port) {
  DT_ASSIGN_OR_RETURN(const Listening listening, Listen(host, port));
  c10d::TCPStoreOptions options;
  options.port = listening.port;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = kRendezvousTimeout;
  options.masterListenFd = listening.fd;  // the store owns it from here on
  try {
    return Rendezvous{c10::make_intrusive<c10d::TCPStore>(host, options),
                      host + ":" + std::to_string(listening.port)};
  } catch (...) {
    return StoreError("opening the attempt's store on " + host);
  }
}

absl::StatusOr<Rendezvous> ConnectStore(const std::string& address,
                                        const std::function<bool()>& leaves,
                                        std::chrono::milliseconds limit) {
  const size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (port.empty() || port.size() > 5 ||
      port.find_first_not_of("0123456789") != std::string::npos) {
    return ConfigError("store address '" + address + "' is not host:port");
  }
  DT_RETURN_IF_ERROR(AwaitStore(address.substr(0, colon), port, leaves, limit));
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(std::stoi(port));
  options.waitWorkers = false;
  options.timeout = limit;
  try {
    return Rendezvous{c10::make_intrusive<c10d::TCPStore>(address.substr(0, colon), options),
                      address};
  } catch (...) {
    return StoreError("connecting to the attempt's store at " + address);
  }
}

Group::Group(Device& device, const GroupOptions& options)
    : options_(options),
      rank_(options.rank),
      size_(options.size),
      device_(device.Torch()),
      shares_memory_(device.SharesMemory()),
      backend_maker_(device),
      before_(OpenSockets()) {}

absl::Status Group::Join(Device& device, const Rendezvous& meeting) {
  const absl::Status joined = Guarded([&] { return JoinThrowing(device, meeting); });
  {
    std::lock_guard lock(abort_mutex_);
    backend_before_.reset();
    joining_over_.notify_all();
  }
  if (joined.ok()) return joined;
  const std::string what = "joining " + std::to_string(size_) + " ranks through the store at " +
                           meeting.address + ": " + std::string(joined.message());
  // Whatever else went wrong, the ranks did not meet.
  return StatusOf(joined.code() == kOutOfMemoryError ? kOutOfMemoryError : kCollectiveError, what);
}

absl::Status Group::JoinThrowing(Device& device, const Rendezvous& meeting) {
  {
    std::lock_guard lock(abort_mutex_);
    if (aborted_) return CollectiveError("the group was aborted");
    backend_before_ = OpenSockets(Sockets::kAll);
  }
  const std::vector<int> before = OpenSockets();
  meeting_ = {c10::make_intrusive<c10d::PrefixStore>(options_.key_prefix, meeting.store),
              meeting.address};
  BackendOptions backend;
  backend.store = meeting_.store;
  backend.rank = rank_;
  backend.size = size_;
  backend.listen_host = options_.listen_host;
  // Use the short timeout for joining; training gets the long one below.
  backend.timeout = options_.join_timeout;
  backend_ = device.JoinBackend(backend);
  process_group_ = c10::make_intrusive<c10d::ProcessGroup>(meeting_.store, rank_, size_);
  // Set this first, so that every backend of the group is bound to it.
  if (!device_.is_cpu()) process_group_->setBoundDeviceId(device_);
  using Kind = c10d::ProcessGroup::BackendType;
  const Kind kind = device_.is_cpu() ? Kind::GLOO : Kind::NCCL;
  process_group_->setDefaultBackend(kind);
  process_group_->setBackend(device_.type(), kind, backend_);
  AllGather({0});  // all ranks are here before anything of value begins
  backend_->setTimeout(options_.timeout);
  std::lock_guard lock(abort_mutex_);
  if (aborted_) return CollectiveError("the group was aborted");
  sockets_ = Since(before);
  joined_ = true;
  return absl::OkStatus();
}

Group::~Group() {
  // NCCL needs a clean end after success; after an abort there is nothing to wait for.
  bool aborted = false;
  {
    std::lock_guard lock(abort_mutex_);
    aborted = aborted_;
    aborted_ = true;
  }
  if (aborted || backend_ == nullptr) return;
  try {
    if (device_.is_cuda()) backend_->waitForPendingWorks();
    backend_->shutdown();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "closing the group: %s\n", error.what());
  }
}

std::vector<std::vector<double>> Group::AllGather(const std::vector<double>& mine) {
  const int64_t width = static_cast<int64_t>(mine.size());
  at::NoGradGuard no_grad;
  const at::Tensor host = Concatenated(at::tensor(mine, at::kDouble).to(device_)).cpu();
  RequireIntact();
  const double* values = host.const_data_ptr<double>();
  std::vector<std::vector<double>> rows;
  for (int r = 0; r < size_; ++r) {
    rows.emplace_back(values + r * width, values + (r + 1) * width);
  }
  return rows;
}

at::Tensor Group::Concatenated(const at::Tensor& mine) {
  at::NoGradGuard no_grad;
  at::Tensor input = mine;
  at::Tensor output = at::empty({size_ * mine.numel()}, mine.options());
  process_group_->_allgather_base(output, input)->wait();
  return output;
}

void Group::Broadcast(const std::vector<at::Tensor>& tensors, int from) {
  at::NoGradGuard no_grad;
  c10d::broadcast_coalesced(process_group_, tensors, kBroadcastBufferBytes, from);
}

std::shared_ptr<Group> Group::OfHosts(int rank, int size) {
  GroupOptions options = options_;
  options.rank = rank;
  options.size = size;
  options.key_prefix = "hosts";
  auto group = std::make_shared<Group>(backend_maker_, options);
  // An abort must end its waits in the store too, whose connections are older than this group.
  group->before_ = before_;
  std::lock_guard lock(abort_mutex_);
  if (aborted_) group->Abort();
  of_hosts_ = group;
  return group;
}

std::optional<Neighbours> Group::FindNeighbours() {
  std::vector<Seat> seats;
  for (const std::vector<double>& rank :
       AllGather({shares_memory_ ? HostNumber() : -1.0, static_cast<double>(getpid())})) {
    const bool shares = rank[0] >= 0;
    seats.push_back({shares ? std::optional(rank[0]) : std::nullopt, static_cast<pid_t>(rank[1])});
  }
  return NeighboursOf(seats, static_cast<size_t>(rank_));
}

absl::StatusOr<std::shared_ptr<HostMemory>> Group::MakeMemory(const Neighbours& neighbours,
                                                              size_t floats) {
  HostMemoryShape shape{static_cast<int>(neighbours.processes.size()), floats, 0};
  absl::StatusOr<std::shared_ptr<HostMemory>> memory;
  if (neighbours.place == 0) {
    shape.key = std::random_device()() + 1ull;
    memory = HostMemory::Make(shape);
  }
  const int descriptor = memory.ok() ? (*memory)->descriptor() : -1;
  const std::vector<double> first = AllGather(
      {static_cast<double>(descriptor), static_cast<double>(shape.key)})[neighbours.first_rank];
  if (neighbours.place == 0) return memory;
  if (first[0] < 0) return IoError("shared memory for all-reduce: the host's first rank has none");
  shape.key = static_cast<uint64_t>(first[1]);
  return HostMemory::Open(neighbours.processes[0], static_cast<int>(first[0]), shape);
}

bool Group::AllAre(const absl::Status& able) {
  const std::vector<std::vector<double>> ranks = AllGather({able.ok() ? 1.0 : 0.0});
  return std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank[0] == 1; });
}

std::shared_ptr<HostReduce> Group::ShareMemory(size_t floats, Spans spans) {
  if (!device_.is_cpu()) return nullptr;
  const std::optional<Neighbours> neighbours = FindNeighbours();
  if (!neighbours || (spans == Spans::kOneHost && neighbours->hosts > 1)) return nullptr;
  const auto memory = MakeMemory(*neighbours, floats);
  HostReduce::Options options{
      neighbours->place, neighbours->processes, size_, {}, kCollectiveTimeout};
  std::shared_ptr<Group> hosts;
  if (neighbours->place == 0 && neighbours->hosts > 1) {
    hosts = OfHosts(neighbours->host, neighbours->hosts);
    options.over_hosts = [hosts](float* sums, size_t count) {
      return Guarded([&] { return SumInPlace(*hosts->process_group(), sums, count); });
    };
  }
  absl::Status able = memory.status();
  absl::StatusOr<std::shared_ptr<HostReduce>> reduce;
  if (able.ok()) reduce = HostReduce::Join(*memory, std::move(options));
  if (able.ok()) able = reduce.status();
  // If one rank cannot, all use the backend. Hosts join only if all ranks can.
  bool together = AllAre(able);
  if (together && neighbours->hosts > 1) {
    if (hosts != nullptr) able = hosts->Join(backend_maker_, meeting_);
    together = AllAre(able);
  }
  if (!able.ok()) {
    std::fprintf(stderr, "gradients are sent over Gloo: %s\n", std::string(able.message()).c_str());
  }
  if (!together) return nullptr;
  (*memory)->CloseDescriptor();
  std::lock_guard lock(abort_mutex_);
  if (aborted_) (*reduce)->Abort();
  host_reduce_ = *reduce;
  return host_reduce_;
}

void Group::RequireIntact() {
  if (device_.is_cpu()) return;
  std::lock_guard lock(abort_mutex_);
  if (aborted_) C10_THROW_ERROR(DistError, "the group was aborted");
  if (backend_->getError() != c10d::ErrorType::SUCCESS) {
    C10_THROW_ERROR(DistError, "an NCCL collective failed: a peer has ended or hangs");
  }
}

void Group::AbortJoining(std::unique_lock<std::mutex>& lock) {
  // Shut down the store's connections too: a rank that waits there for a peer reads an end of file.
  for (const int fd : Since(before_)) shutdown(fd, SHUT_RD);
  // A backend that is being built has no abort yet: LibTorch holds back NCCL's communicator until
  // it is complete. But there too ranks meet through sockets. NCCL reports an error for a socket
  // that is shut down, even for the one on which it waits for a peer. It opens sockets one after
  // another, so look repeatedly.
  const auto until = std::chrono::steady_clock::now() + kAbortJoiningFor;
  while (backend_before_ && std::chrono::steady_clock::now() < until) {
    const Sockets which = device_.is_cpu() ? Sockets::kConnected : Sockets::kAll;
    for (const int fd : Since(*backend_before_, which)) shutdown(fd, SHUT_RD);
    joining_over_.wait_for(lock, kNextSockets);
  }
}

void Group::Abort() {
  std::unique_lock lock(abort_mutex_);
  if (aborted_) return;
  aborted_ = true;
  if (host_reduce_ != nullptr) host_reduce_->Abort();
  if (of_hosts_ != nullptr) of_hosts_->Abort();
  if (!joined_) {
    AbortJoining(lock);
    return;
  }
  if (device_.is_cpu()) {
    // Gloo has no abort that wakes its waiters. An end of file on their sockets wakes them, and
    // then Gloo closes the sockets, which the peers see. Only a buffer that Gloo has sent in part
    // is not woken until the group's timeout; in that case the agent kills the process.
    for (const int fd : sockets_) shutdown(fd, SHUT_RD);
    return;
  }
  try {
    backend_->abort();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "aborting the group: %s\n", error.what());
  }
}

}  // namespace dt::trainer
