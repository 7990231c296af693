// group.h: the ranks of one attempt: the store through which they meet, and the group in which they
// communicate.
//
// Ownership: a Group is shared by the training thread and any thread that may abort it.
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

// Time after which the coordinator gives up on a gang.
inline const std::chrono::milliseconds kRendezvousTimeout =
    absl::ToChronoMilliseconds(limits::kRendezvousTimeout);
// Time after which a silent peer in a collective is taken for hung: rank 0 may be writing a large
// checkpoint to a slow disk meanwhile. The coordinator's own hang timer ends most cases earlier.
inline constexpr std::chrono::milliseconds kCollectiveTimeout = std::chrono::minutes(10);

struct Rendezvous {
  c10::intrusive_ptr<c10d::Store> store;
  std::string address;  // host:port
};

// Opens the store on rank 0; it listens on `host` only. `port` 0: the system chooses one.
absl::StatusOr<Rendezvous> HostStore(const std::string& host, uint16_t port);
// Connects the other ranks to the store at `address` (host:port), which answers within `limit`.
// Errors: CancelledError if `leaves` returns true before that.
absl::StatusOr<Rendezvous> ConnectStore(const std::string& address,
                                        const std::function<bool()>& leaves,
                                        std::chrono::milliseconds limit = kRendezvousTimeout);

struct GroupOptions {
  int rank = 0;
  int size = 1;
  std::string key_prefix;  // the attempt's token, since no two attempts may share keys of a store
  std::string listen_host;
  std::chrono::milliseconds join_timeout = kRendezvousTimeout;  // for ranks that do not come
  std::chrono::milliseconds timeout = kCollectiveTimeout;       // for one that is silent
};

class Group {
 public:
  // Call before the store is opened: an abort during joining closes the connections opened after
  // this.
  Group(Device& device, const GroupOptions& options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Joins the other ranks, through the store of `meeting`. All ranks call it, once.
  absl::Status Join(Device& device, const Rendezvous& meeting);

  int rank() const { return rank_; }
  int size() const { return size_; }
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return process_group_; }

  // Returns every rank's row of numbers, in rank order. All rows must have the same length.
  std::vector<std::vector<double>> AllGather(const std::vector<double>& mine);
  // Returns every rank's `mine`, concatenated in rank order, on the device. All must have the same
  // length.
  at::Tensor Concatenated(const at::Tensor& mine);
  // Overwrites `tensors` with those of rank `from`.
  void Broadcast(const std::vector<at::Tensor>& tensors, int from);
  void BroadcastFromRoot(const std::vector<at::Tensor>& tensors) { Broadcast(tensors, 0); }
  // Makes shared memory with `floats` numbers per rank, for sums without the backend. With several
  // hosts, the first rank of each sums over hosts, in a group of their own. Returns null if no host
  // has two ranks, for kOneHost if there are several hosts, on GPUs, if ranks do not see each
  // other's processes, or if a device does not share memory. Every rank calls it and gets the same
  // answer.
  enum class Spans { kHosts, kOneHost };
  std::shared_ptr<HostReduce> ShareMemory(size_t floats, Spans spans = Spans::kHosts);
  // Throws, as a failed collective does, if this group was aborted or its backend has failed. On a
  // GPU a collective counts as complete once it is enqueued, and an abort lets the stream continue:
  // results are valid only if this call passes after the device was synchronised. On a CPU the
  // collectives themselves throw.
  void RequireIntact();
  // Makes every collective of this group fail, here and on the peers, now. During joining it ends
  // the joining and waits for that, for a bounded time.
  void Abort();

 private:
  absl::Status JoinThrowing(Device& device, const Rendezvous& meeting);
  std::optional<Neighbours> FindNeighbours();
  // Makes memory shared by the ranks of this host; all ranks of the group call it.
  absl::StatusOr<std::shared_ptr<HostMemory>> MakeMemory(const Neighbours& neighbours,
                                                         size_t floats);
  // Returns whether `able` is OK on every rank.
  bool AllAre(const absl::Status& able);
  // Makes the group of the first rank of each host, to which this rank belongs.
  std::shared_ptr<Group> OfHosts(int rank, int size);
  // REQUIRES: `lock` holds abort_mutex_.
  void AbortJoining(std::unique_lock<std::mutex>& lock);

  const GroupOptions options_;
  const int rank_;
  const int size_;
  const c10::Device device_;
  const bool shares_memory_;
  Device& backend_maker_;
  Rendezvous meeting_;  // its store is a prefix of this group only
  c10::intrusive_ptr<c10d::Backend> backend_;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group_;
  std::mutex abort_mutex_;
  bool aborted_ = false;
  bool joined_ = false;
  std::condition_variable joining_over_;
  std::optional<std::vector<int>> backend_before_;  // set while Join runs: sockets open before it
  std::vector<int> before_;   // sockets of this process that are not the group's
  std::vector<int> sockets_;  // sockets opened while the backend was built
  std::shared_ptr<HostReduce> host_reduce_;
  std::shared_ptr<Group> of_hosts_;  // null except on the first rank of each of several hosts
};

}  // namespace dt::trainer
