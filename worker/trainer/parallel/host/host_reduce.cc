// host_reduce.cc: futex waits, and the sum.
#include "worker/trainer/parallel/host/host_reduce.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

namespace dt::trainer {
namespace {

// A peer that dies wakes nobody, so a waiter looks for the dead this often.
constexpr auto kDeathWatch = std::chrono::milliseconds(20);
// Summed at a time: the sum stays in the nearest cache while the parts go by.
constexpr size_t kBlockFloats = 2048;

// False: for so long nothing changed.
bool FutexWait(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds at_most) {
  const timespec wait{0, static_cast<long>(at_most.count())};
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &wait, nullptr,
                 0) == 0 ||
         errno != ETIMEDOUT;
}

void AverageBlock(HostMemory& memory, size_t first, size_t count) {
  const int ranks = memory.shape().ranks;
  const float divisor = static_cast<float>(ranks);
  float sum[kBlockFloats];
  std::copy_n(memory.Part(0) + first, count, sum);
  for (int r = 1; r < ranks; ++r) {
    const float* part = memory.Part(r) + first;
    for (size_t i = 0; i < count; ++i) sum[i] += part[i];
  }
  for (size_t i = 0; i < count; ++i) sum[i] /= divisor;
  for (int r = 0; r < ranks; ++r) std::copy_n(sum, count, memory.Part(r) + first);
}

}  // namespace

absl::StatusOr<std::shared_ptr<HostReduce>> HostReduce::Join(std::shared_ptr<HostMemory> memory,
                                                             int rank,
                                                             const std::vector<pid_t>& processes,
                                                             std::chrono::milliseconds timeout) {
  std::shared_ptr<HostReduce> reduce(new HostReduce(std::move(memory), rank, timeout));
  for (size_t r = 0; r < processes.size(); ++r) {
    const bool self = static_cast<int>(r) == rank;
    const int fd = self ? -1 : static_cast<int>(syscall(SYS_pidfd_open, processes[r], /*flags=*/0));
    if (!self && fd < 0) {
      return IoError("watching process " + std::to_string(processes[r]) + ": " +
                     std::strerror(errno));
    }
    reduce->peers_.push_back(fd);
  }
  return reduce;
}

HostReduce::~HostReduce() {
  for (const int fd : peers_) {
    if (fd >= 0) close(fd);
  }
}

void HostReduce::Announce() {
  std::atomic<uint32_t>& changes = memory_->control().changes;
  changes.fetch_add(1);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&changes), FUTEX_WAKE, INT32_MAX, nullptr, nullptr,
          0);
}

uint64_t HostReduce::Post() {
  memory_->control().ranks[rank_].posted.store(++posted_);
  Announce();
  return posted_;
}

void HostReduce::Abort() {
  memory_->control().aborted.store(1);
  Announce();
}

bool HostReduce::Reached(Word word, uint64_t number) const {
  const HostRankWords* ranks = memory_->control().ranks;
  return std::all_of(ranks, ranks + memory_->shape().ranks,
                     [&](const HostRankWords& words) { return (words.*word).load() >= number; });
}

absl::Status HostReduce::RequirePeers() const {
  for (size_t r = 0; r < peers_.size(); ++r) {
    pollfd peer{peers_[r], POLLIN, 0};
    if (peers_[r] >= 0 && poll(&peer, 1, 0) > 0) {
      return CollectiveError("the process of rank " + std::to_string(r) +
                             " ended during an all-reduce");
    }
  }
  return absl::OkStatus();
}

absl::Status HostReduce::Await(Word word, uint64_t number) {
  HostControl& control = memory_->control();
  const auto until = std::chrono::steady_clock::now() + timeout_;
  for (;;) {
    // Before the look at what it announces: a change in between then ends the wait at once.
    const uint32_t seen = control.changes.load();
    // Before the abort: what is complete stays good, and this rank may have a cause of its own to
    // tell, the same as the peer that aborts.
    if (Reached(word, number)) return {};
    if (control.aborted.load() != 0) {
      return CollectiveError("the all-reduce was aborted by a rank");
    }
    if (std::chrono::steady_clock::now() > until) {
      return CollectiveError("a rank did not join an all-reduce within " +
                             std::to_string(timeout_.count() / 1000) + " s");
    }
    if (FutexWait(control.changes, seen, kDeathWatch)) continue;
    if (absl::Status living = RequirePeers(); !living.ok() && !Reached(word, number)) return living;
  }
}

absl::Status HostReduce::Average(uint64_t number, size_t first, size_t count) {
  DT_RETURN_IF_ERROR(Await(&HostRankWords::posted, number));
  const size_t ranks = static_cast<size_t>(memory_->shape().ranks);
  const size_t blocks = (count + kBlockFloats - 1) / kBlockFloats;
  const size_t mine = static_cast<size_t>(rank_);
  const size_t end = first + std::min(blocks * (mine + 1) / ranks * kBlockFloats, count);
  for (size_t at = first + blocks * mine / ranks * kBlockFloats; at < end; at += kBlockFloats) {
    AverageBlock(*memory_, at, std::min(kBlockFloats, end - at));
  }
  memory_->control().ranks[rank_].reduced.store(number);
  Announce();
  return Await(&HostRankWords::reduced, number);
}

}  // namespace dt::trainer
