// comm_times.h: times of each collective in a step: ready, complete, and waits for it, on the
// device's timeline, summed by operation and axis.
//
// Ownership: may outlive the strategy, in the callbacks of collectives in progress.
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

// Traffic of one operation along one axis in one step.
struct Traffic {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Axis axis = Axis::kData;
  double seconds = 0;  // from ready to complete, without the time queued behind another message of
                       // the axis
  double exposed_seconds = 0;  // time that a thread waited for it
  double bytes = 0;            // of the full buffers
  double count = 0;
};
struct CommTotals {
  std::vector<Traffic> traffic;
  // Time waited within forward passes and within backward passes.
  double forward_exposed_seconds = 0;
  double backward_exposed_seconds = 0;

  // Adds the traffic along other axes in the same step.
  void Append(const CommTotals& more);
};

// Averages steps with different traffic into one step's share.
class StepShare {
 public:
  void BeginStep() { ++steps_; }
  // Adds this traffic `times` times.
  void Add(const Traffic& traffic, double times = 1);
  void Add(const CommTotals& totals, double times = 1);
  // Returns the average per step since the last call, and starts again.
  CommTotals Take();

 private:
  CommTotals sum_;
  int64_t steps_ = 0;
};

class CommTimes {
 public:
  // Phase in which the training thread waits.
  enum class During { kForward, kBackward, kUpdate };

  explicit CommTimes(std::shared_ptr<Timeline> timeline) : timeline_(std::move(timeline)) {}
  // Begins a step.
  void Restart();
  // Records a message that is ready now. Returns its index in the step, from 0.
  size_t Post(CollectiveOp op, Axis axis, size_t bytes);
  void NoteComplete(size_t place);
  void NoteWait(size_t place, Timeline::Moment from, Timeline::Moment to, During during);

  // Returns the sums of the step. REQUIRES: the device was synchronised since the step's last wait.
  CommTotals Totals() const;
  // Returns the time from the last message ready to the last one complete: the exposed time where
  // the wait itself cannot be observed.
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
  // Shared: a collective may complete while the attempt is torn down around it.
  const std::shared_ptr<Timeline> timeline_;
  mutable std::mutex mutex_;
  std::vector<Message> messages_;
  std::vector<Wait> waits_;
};

}  // namespace dt::trainer
