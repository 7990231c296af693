// comm_times.h: when each collective of a step was ready and when it was complete, on the device's
// time line, and who waited for it: summed by operation and axis.
//
// Ownership: outlives the strategy in the callbacks of what is under way.
// Threads:   written by the training thread, the backward pass and the backend's threads; read
//            between steps.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/worker/trainer/run/strategy_test.cc,
//            tests/gpu
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/collectives.h"
#include "worker/trainer/device/device.h"

namespace dt::trainer {

// One operation along one axis in one step.
struct Traffic {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Axis axis = Axis::kData;
  double seconds = 0;  // ready to complete, waiting behind another along the same axis left out
  double exposed_seconds = 0;  // waited for
  double bytes = 0;            // of the whole buffers
  double count = 0;
};
struct CommTotals {
  std::vector<Traffic> traffic;
  // Waiting within the forward and within the backward passes.
  double forward_exposed_seconds = 0;
  double backward_exposed_seconds = 0;

  // What was sent along other axes in the same step.
  void Append(const CommTotals& more);
};

// What steps sent that are not alike, as one step's share of it.
class StepShare {
 public:
  void BeginStep() { ++steps_; }
  // So many times that of one of the steps.
  void Add(const Traffic& traffic, double times = 1);
  void Add(const CommTotals& totals, double times = 1);
  // Since the last call.
  CommTotals Take();

 private:
  CommTotals sum_;
  int64_t steps_ = 0;
};

class CommTimes {
 public:
  // Where the training thread waits.
  enum class During { kForward, kBackward, kUpdate };

  explicit CommTimes(std::shared_ptr<Timeline> timeline) : timeline_(std::move(timeline)) {}
  // A step begins.
  void Restart();
  // One more, ready now. Its place, counted from 0 in each step.
  size_t Post(CollectiveOp op, Axis axis, size_t bytes);
  void NoteComplete(size_t place);
  void NoteWait(size_t place, Timeline::Moment from, Timeline::Moment to, During during);

  // REQUIRES: the device synchronised since the step's last wait.
  CommTotals Totals() const;
  // Last complete minus last ready: what is exposed where the wait itself cannot be seen.
  double TailSeconds() const;

 private:
  struct Message {
    CollectiveOp op;
    Axis axis;
    size_t bytes;
    Timeline::Moment ready = -1;
    Timeline::Moment complete = -1;
  };
  struct Wait {
    size_t place;
    Timeline::Moment from, to;
    During during;
  };
  // A collective may complete while the attempt is torn down around it.
  const std::shared_ptr<Timeline> timeline_;
  mutable std::mutex mutex_;
  std::vector<Message> messages_;
  std::vector<Wait> waits_;
};

}  // namespace dt::trainer
