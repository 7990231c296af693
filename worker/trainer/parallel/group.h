// group.h: the ranks of one attempt: the store where they meet, and the group they reduce in.
//
// Ownership: a Group is shared by the training thread and by whoever may abort it.
// Threads:   Abort from any thread; everything else from the training thread.
// Errors:    joining returns them; collectives throw LibTorch's exceptions, which train.cc turns
//            into the outcome `collective`.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/limits.h"
#include "common/status.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/parallel/host/host_reduce.h"
#include "worker/trainer/parallel/host/seats.h"

namespace c10d {
class ProcessGroup;
}  // namespace c10d

namespace dt::trainer {

// When the coordinator gives up on a gang.
inline const std::chrono::milliseconds kRendezvousTimeout =
    absl::ToChronoMilliseconds(limits::kRendezvousTimeout);
// A peer that is silent in a collective for this long is hung: rank 0 may be writing a large
// checkpoint to a slow disk meanwhile. The coordinator's own hang timer ends most cases earlier.
inline constexpr std::chrono::milliseconds kCollectiveTimeout = std::chrono::minutes(10);

struct Rendezvous {
  c10::intrusive_ptr<c10d::Store> store;
  std::string address;  // host:port
};

// Rank 0: a store that listens on `host` alone. `port` 0: the system chooses.
absl::StatusOr<Rendezvous> HostStore(const std::string& host, uint16_t port);
// Other ranks: the store at `address` (host:port). Errors: CancelledError when `leaves` says so
// while nobody answers there.
absl::StatusOr<Rendezvous> ConnectStore(const std::string& address,
                                        const std::function<bool()>& leaves);

struct GroupOptions {
  int rank = 0;
  int size = 1;
  std::string key_prefix;  // the attempt's token: a store never serves two attempts alike
  std::string listen_host;
};

class Group {
 public:
  // Before the store is opened: connections from here on are torn down by an abort while joining.
  Group(Device& device, const GroupOptions& options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // With the other ranks, through the store of `meeting`; all of them call it, once.
  absl::Status Join(Device& device, const Rendezvous& meeting);

  int rank() const { return rank_; }
  int size() const { return size_; }
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return process_group_; }

  // Every rank's row of numbers, in order of rank. All ranks give equally many.
  std::vector<std::vector<double>> AllGather(const std::vector<double>& mine);
  // Every rank's `mine` in order of rank, on the device: rows of numbers, all of one length.
  at::Tensor Concatenated(const at::Tensor& mine);
  // Overwrites `tensors` with those of rank `from`.
  void Broadcast(const std::vector<at::Tensor>& tensors, int from);
  void BroadcastFromRoot(const std::vector<at::Tensor>& tensors) { Broadcast(tensors, 0); }
  // Memory for `floats` numbers of each rank, to sum them in without the backend; of ranks on
  // several hosts the first of each sums over hosts, in a group of their own. Null where no host
  // has two of them, of kOneHost where there are several, on GPUs, where ranks do not see each
  // other's processes, or one's device does not share memory. Every rank calls it and gets the same
  // answer.
  enum class Spans { kHosts, kOneHost };
  std::shared_ptr<HostReduce> ShareMemory(size_t floats, Spans spans = Spans::kHosts);
  // Throws, as a failed collective does, when this group was aborted or its backend has failed. On
  // a GPU a collective counts as complete once it is enqueued, and an abort lets the stream go on:
  // what it computed is good only when this passes after the device was synchronised. On a CPU the
  // collectives themselves throw.
  void RequireIntact();
  // Makes every collective of this group fail, here and on the peers, now. One that comes while the
  // ranks join ends that, and waits for it, for a bounded time.
  void Abort();

 private:
  absl::Status JoinThrowing(Device& device, const Rendezvous& meeting);
  std::optional<Neighbours> FindNeighbours();
  // Memory of the ranks of this host; all ranks of the group call it.
  absl::StatusOr<std::shared_ptr<HostMemory>> MakeMemory(const Neighbours& neighbours,
                                                         size_t floats);
  // Whether every rank is.
  bool AllAre(const absl::Status& able);
  // The group of each host's first rank, of which this is one.
  std::shared_ptr<Group> OfHosts(int rank, int size);
  // REQUIRES: `lock` holds abort_mutex_.
  void AbortJoining(std::unique_lock<std::mutex>& lock);

  const GroupOptions options_;
  const int rank_;
  const int size_;
  const c10::Device device_;
  const bool shares_memory_;
  Device& backend_maker_;
  Rendezvous meeting_;  // with a store that is this group's alone
  c10::intrusive_ptr<c10d::Backend> backend_;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group_;
  std::mutex abort_mutex_;
  bool aborted_ = false;
  bool joined_ = false;
  std::condition_variable joining_over_;
  std::optional<std::vector<int>> backend_before_;  // while Join runs: what was open before it
  std::vector<int> before_;   // sockets of this process that are not the group's
  std::vector<int> sockets_;  // that appeared while the backend was built
  std::shared_ptr<HostReduce> host_reduce_;
  std::shared_ptr<Group> of_hosts_;  // null but on the first rank of each of several hosts
};

}  // namespace dt::trainer
