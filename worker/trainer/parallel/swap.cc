// swap.cc: swaps over Gloo and over NCCL.
#include "worker/trainer/parallel/swap.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "worker/trainer/parallel/arrival_thread.h"
#include "worker/trainer/trial/seconds_between.h"

namespace dt::trainer {
namespace {

using Clock = std::chrono::steady_clock;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

// A single tag is enough: messages with one peer arrive in the order in which they were sent.
constexpr int kTag = 0;

// A send and a receive, shared with the thread that waits for them.
class Both {
 public:
  Both(c10d::ProcessGroup& group, int peer, const at::Tensor& mine, const at::Tensor& theirs)
      : mine_(mine), theirs_(theirs), begun_(Clock::now()) {
    std::vector<at::Tensor> received{theirs_}, sent{mine_};
    receive_ = group.recv(received, peer, kTag);
    send_ = group.send(sent, peer, kTag);
  }
  // Waits for both, on the peer's thread. Wait rethrows an error.
  void Await() {
    std::exception_ptr error;
    try {
      receive_->wait();
      send_->wait();
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    error_ = error;
    complete_ = Clock::now();
    changed_.notify_all();
  }
  // Makes Await return, whatever the peer does.
  void GiveUp() {
    receive_->abort();
    send_->abort();
  }
  bool Done() {
    std::lock_guard lock(mutex_);
    return complete_.has_value();
  }
  Traffic Wait() {
    const Clock::time_point from = Clock::now();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return complete_.has_value(); });
    if (error_) std::rethrow_exception(error_);
    return {CollectiveOp::kSend,
            Axis::kData,
            SecondsBetween(begun_, *complete_),
            SecondsBetween(from, Clock::now()),
            static_cast<double>(mine_.nbytes()),
            1};
  }

 private:
  const at::Tensor mine_, theirs_;
  const Clock::time_point begun_;
  WorkPointer receive_, send_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> complete_;
  std::exception_ptr error_;
};

class GlooSwap final : public Swap {
 public:
  explicit GlooSwap(std::shared_ptr<Both> both) : both_(std::move(both)) {}
  bool Done() override { return both_->Done(); }
  std::optional<Traffic> Wait() override { return both_->Wait(); }

 private:
  const std::shared_ptr<Both> both_;
};

class GlooSwapper final : public Swapper {
 public:
  explicit GlooSwapper(std::shared_ptr<Group> group) : group_(std::move(group)) {}
  // Aborts the swaps in progress, so that no thread waits for a peer any more.
  ~GlooSwapper() override {
    for (const std::weak_ptr<Both>& each : under_way_) {
      const std::shared_ptr<Both> both = each.lock();
      if (both != nullptr && !both->Done()) both->GiveUp();
    }
  }
  std::unique_ptr<Swap> Begin(int peer, const at::Tensor& mine, const at::Tensor& theirs) override {
    auto both = std::make_shared<Both>(*group_->process_group(), peer, mine, theirs);
    std::erase_if(under_way_, [](const std::weak_ptr<Both>& each) { return each.expired(); });
    under_way_.push_back(both);
    threads_[peer].Add([both] { both->Await(); });
    return std::make_unique<GlooSwap>(std::move(both));
  }

 private:
  const std::shared_ptr<Group> group_;
  std::vector<std::weak_ptr<Both>> under_way_;
  std::map<int, ArrivalThread> threads_;  // one per peer of this rank
};

class NcclSwap final : public Swap {
 public:
  NcclSwap(const Route& route, at::Tensor mine, at::Tensor theirs, WorkPointer work)
      : route_(route), mine_(std::move(mine)), theirs_(std::move(theirs)), work_(std::move(work)) {}
  // Posts the message again, since the timeline restarts with each step.
  void BeginStep() override {
    place_ = route_.times->Post(CollectiveOp::kSend, route_.axis, mine_.nbytes());
    work_->getFuture()->addCallback(
        [times = route_.times, place = *place_](c10::ivalue::Future& done) {
          if (!done.hasError()) times->NoteComplete(place);
        });
  }
  bool Done() override { return true; }
  std::optional<Traffic> Wait() override {
    const Timeline::Moment from = route_.timeline->Now();
    work_->wait();
    if (place_) {
      route_.times->NoteWait(*place_, from, route_.timeline->Now(), CommTimes::During::kUpdate);
    }
    return std::nullopt;
  }

 private:
  const Route& route_;
  const at::Tensor mine_, theirs_;
  const WorkPointer work_;
  std::optional<size_t> place_;  // index among the messages of the step
};

class NcclSwapper final : public Swapper {
 public:
  explicit NcclSwapper(const Route& route) : route_(route) {}
  std::unique_ptr<Swap> Begin(int peer, const at::Tensor& mine, const at::Tensor& theirs) override {
    std::vector<int64_t> split(static_cast<size_t>(route_.group->size()), 0);
    split.at(static_cast<size_t>(peer)) = mine.numel();
    at::Tensor sent = mine, received = theirs;
    WorkPointer work = route_.group->process_group()->alltoall_base(received, sent, split, split);
    return std::make_unique<NcclSwap>(route_, mine, theirs, std::move(work));
  }

 private:
  const Route route_;
};

}  // namespace

std::unique_ptr<Swapper> MakeSwapper(const Route& route, c10::Device device) {
  if (device.is_cpu()) return std::make_unique<GlooSwapper>(route.group);
  return std::make_unique<NcclSwapper>(route);
}

}  // namespace dt::trainer
