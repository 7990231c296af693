// host_reduce.cc: futex waits and the sum.
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

// Interval at which a waiter checks for dead peers, since a peer that dies wakes nobody.
constexpr auto kDeathWatch = std::chrono::milliseconds(20);
// Floats per block: the running sum stays in the L1 cache while the parts stream by.
constexpr size_t kBlockFloats = 2048;

// Returns false on timeout: the word did not change.
bool FutexWait(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds at_most) {
  const timespec wait{0, static_cast<long>(at_most.count())};
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &wait, nullptr,
                 0) == 0 ||
         errno != ETIMEDOUT;
}

// Sums a block over the ranks, divides by `divisor`, and writes it to the first `into` parts.
void SumBlock(HostMemory& memory, size_t first, size_t count, float divisor, int into) {
  const int ranks = memory.shape().ranks;
  float sum[kBlockFloats];
  std::copy_n(memory.Part(0) + first, count, sum);
  for (int r = 1; r < ranks; ++r) {
    const float* part = memory.Part(r) + first;
    for (size_t i = 0; i < count; ++i) sum[i] += part[i];
  }
  for (size_t i = 0; i < count; ++i) sum[i] /= divisor;
  for (int r = 0; r < into; ++r) std::copy_n(sum, count, memory.Part(r) + first);
}

}  // namespace

absl::StatusOr<std::shared_ptr<HostReduce>> HostReduce::Join(std::shared_ptr<HostMemory> memory,
                                                             Options options) {
  std::shared_ptr<HostReduce> reduce(new HostReduce(std::move(memory), std::move(options)));
  const std::vector<pid_t>& processes = reduce->options_.processes;
  for (size_t r = 0; r < processes.size(); ++r) {
    const bool self = static_cast<int>(r) == reduce->rank();
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

void HostReduce::Wake() {
  std::atomic<uint32_t>& changes = memory_->control().changes;
  changes.fetch_add(1);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&changes), FUTEX_WAKE, INT32_MAX, nullptr, nullptr,
          0);
}

void HostReduce::Announce(Word word, uint64_t number) {
  (memory_->control().ranks[rank()].*word).store(number);
  Wake();
}

uint64_t HostReduce::Post() {
  Announce(&HostRankWords::posted, ++posted_);
  return posted_;
}

void HostReduce::Abort() {
  memory_->control().aborted.store(1);
  Wake();
}

bool HostReduce::Reached(Word word, uint64_t number) const {
  const HostRankWords* ranks = memory_->control().ranks;
  const int which = word == &HostRankWords::total ? 1 : memory_->shape().ranks;
  return std::all_of(ranks, ranks + which,
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
  const auto until = std::chrono::steady_clock::now() + options_.timeout;
  for (;;) {
    // Read the counter before the words it announces: a change in between then ends the wait at
    // once.
    const uint32_t seen = control.changes.load();
    // Check this before the abort flag: a completed reduction stays valid, and this rank may have
    // an error of its own to report, the same as the aborting peer's.
    if (Reached(word, number)) return {};
    if (control.aborted.load() != 0) {
      return CollectiveError("the all-reduce was aborted by a rank");
    }
    if (std::chrono::steady_clock::now() > until) {
      return CollectiveError("a rank did not join an all-reduce within " +
                             std::to_string(options_.timeout.count() / 1000) + " s");
    }
    if (FutexWait(control.changes, seen, kDeathWatch)) continue;
    if (absl::Status living = RequirePeers(); !living.ok() && !Reached(word, number)) return living;
  }
}

HostReduce::Share HostReduce::ShareOf(size_t first, size_t count) const {
  const auto ranks = static_cast<size_t>(memory_->shape().ranks);
  const size_t blocks = (count + kBlockFloats - 1) / kBlockFloats;
  const auto mine = static_cast<size_t>(rank());
  return {first + blocks * mine / ranks * kBlockFloats,
          first + std::min(blocks * (mine + 1) / ranks * kBlockFloats, count)};
}

absl::Status HostReduce::Average(uint64_t number, size_t first, size_t count) {
  DT_RETURN_IF_ERROR(Await(&HostRankWords::posted, number));
  const int ranks = memory_->shape().ranks;
  const float divisor = HasOtherHosts() ? 1 : static_cast<float>(ranks);
  const int into = HasOtherHosts() ? 1 : ranks;
  const Share share = ShareOf(first, count);
  for (size_t at = share.from; at < share.end; at += kBlockFloats) {
    SumBlock(*memory_, at, std::min(kBlockFloats, share.end - at), divisor, into);
  }
  Announce(&HostRankWords::reduced, number);
  if (!HasOtherHosts()) return Await(&HostRankWords::reduced, number);
  return SumOverAll(number, first, count);
}

// Sums over all hosts. Every rank copies its share of the total to all parts, and returns when all
// have: a rank that returned earlier would write its next gradients where others still read.
absl::Status HostReduce::SumOverAll(uint64_t number, size_t first, size_t count) {
  float* const sums = memory_->Part(0);
  if (rank() == 0) {
    DT_RETURN_IF_ERROR(Await(&HostRankWords::reduced, number));
    DT_RETURN_IF_ERROR(options_.over_hosts(sums + first, count));
    Announce(&HostRankWords::total, number);
  } else {
    DT_RETURN_IF_ERROR(Await(&HostRankWords::total, number));
  }
  const auto divisor = static_cast<float>(options_.ranks_of_all);
  const Share share = ShareOf(first, count);
  for (size_t i = share.from; i < share.end; ++i) sums[i] /= divisor;
  for (int r = 1; r < memory_->shape().ranks; ++r) {
    std::copy(sums + share.from, sums + share.end, memory_->Part(r) + share.from);
  }
  Announce(&HostRankWords::spread, number);
  return Await(&HostRankWords::spread, number);
}

}  // namespace dt::trainer
