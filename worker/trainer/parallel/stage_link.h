// stage_link.h: what the stages of a pipeline send each other: hidden states to the stage after,
// their gradients to the stage before.
//
// Role:      a message is under way while the training thread computes: it sends and goes on, and,
//            on a CPU, begins to receive before it needs what comes; of a GPU it is far ahead
//            anyway. Both ends of a way send and take in one order, so that messages need no names.
// Ownership: keeps what it sends until it has arrived; shares the groups and the time line.
// Threads:   the training thread. On a CPU, where the backend tells only who waits that a message
//            has arrived, one thread of its own waits for what was sent, and one for what is to
//            come.
// Errors:    LibTorch's exceptions pass through, from the wait at the latest. REQUIRES: the mesh is
//            aborted before the link ends with messages under way.
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
  // The next message of a way that nobody expects yet will be of this shape and type.
  void Expect(Way way, const std::vector<int64_t>& shape, at::ScalarType type);
  // The message of a way that was expected first; waits for it.
  at::Tensor Take(Way way, CommTimes::During during);
  void Send(Way way, const at::Tensor& tensor);
  // Until all that was sent has arrived.
  void Finish(CommTimes::During during);
  CommTotals Totals() const { return times_->Totals(); }

 private:
  struct Message {
    at::Tensor tensor;
    size_t place = 0;  // in times
    c10::intrusive_ptr<c10d::Work> work;
    uint64_t number = 0;  // among those of its thread
  };
  // Between this stage and its neighbour; `forward`: the way of hidden states.
  Message Start(bool sends, Way way, const at::Tensor& tensor);
  void Await(const Message& message, ArrivalThread* thread, CommTimes::During during);

  const Mesh& mesh_;
  const int stage_, stages_;
  const c10::Device device_;
  const std::shared_ptr<Timeline> timeline_;
  const std::shared_ptr<CommTimes> times_;
  std::deque<Message> expected_[2];  // by way
  std::deque<Message> sent_;
  std::unique_ptr<ArrivalThread> sending_, receiving_;  // null on a GPU
};

}  // namespace dt::trainer
