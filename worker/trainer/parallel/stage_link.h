// stage_link.h: messages between pipeline stages: activations to the next stage, their gradients to
// the previous one.
//
// Role:      messages travel while the training thread computes. A send does not block. On a CPU, a
//            receive starts before its data is needed; on a GPU the host is far ahead anyway. Both
//            ends send and receive in one order, so messages need no names.
// Ownership: keeps what it sends until it has arrived; shares the groups and the timeline.
// Threads:   the training thread. On a CPU only a waiting thread learns that a message has arrived,
//            so there one thread waits for sent messages and one for expected ones.
// Errors:    LibTorch's exceptions pass through, from the wait at the latest. REQUIRES: the mesh is
//            aborted before the link is destroyed with messages in transit.
// Source:    parallel/actions.h.
// Tests:     tests/worker/trainer/run/pipeline_test.cc
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "worker/trainer/parallel/comm_times.h"
#include "worker/trainer/parallel/mesh.h"

namespace c10d {
class Work;
}  // namespace c10d

namespace dt::trainer {

class ArrivalThread;

class StageLink {
 public:
  enum class Way { kForward, kBack };
  // REQUIRES: `mesh` has a pipeline.
  StageLink(const Mesh& mesh, std::shared_ptr<Timeline> timeline, c10::Device device);
  ~StageLink();
  StageLink(const StageLink&) = delete;
  StageLink& operator=(const StageLink&) = delete;

  int stage() const { return stage_; }
  int stages() const { return stages_; }

  void BeginStep() { times_->Restart(); }
  // Declares shape and type of the next message in this direction that was not declared yet.
  void Expect(Way way, const std::vector<int64_t>& shape, at::ScalarType type);
  // Waits for the oldest expected message of a direction and returns it.
  at::Tensor Take(Way way, CommTimes::During during);
  void Send(Way way, const at::Tensor& tensor);
  // Blocks until all sent messages have arrived.
  void Finish(CommTimes::During during);
  CommTotals Totals() const { return times_->Totals(); }

 private:
  struct Message {
    at::Tensor tensor;
    size_t place = 0;  // index in times
    c10::intrusive_ptr<c10d::Work> work;
    uint64_t number = 0;  // number of the message in its thread
  };
  // Starts a message between this stage and its neighbour. `way`: kForward carries activations.
  Message Start(bool sends, Way way, const at::Tensor& tensor);
  void Await(const Message& message, ArrivalThread* thread, CommTimes::During during);

  const Mesh& mesh_;
  const int stage_, stages_;
  const c10::Device device_;
  const std::shared_ptr<Timeline> timeline_;
  const std::shared_ptr<CommTimes> times_;
  std::deque<Message> expected_[2];  // by direction
  std::deque<Message> sent_;
  std::unique_ptr<ArrivalThread> sending_, receiving_;  // null on a GPU
};

}  // namespace dt::trainer
