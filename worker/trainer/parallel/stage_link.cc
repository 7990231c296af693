// stage_link.cc: c10d's sends and receives, timed.
#include "worker/trainer/parallel/stage_link.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "common/check.h"
#include "worker/trainer/parallel/arrival_thread.h"

namespace dt::trainer {

StageLink::StageLink(const Mesh& mesh, std::shared_ptr<Timeline> timeline, c10::Device device)
    : mesh_(mesh),
      stage_(mesh.rank(Axis::kPipeline)),
      stages_(mesh.size(Axis::kPipeline)),
      device_(device),
      timeline_(timeline),
      times_(std::make_shared<CommTimes>(std::move(timeline))) {
  DT_CHECK(stages_ > 1);
  if (!device_.is_cpu()) return;
  sending_ = std::make_unique<ArrivalThread>();
  receiving_ = std::make_unique<ArrivalThread>();
}

StageLink::~StageLink() = default;

StageLink::Message StageLink::Start(bool sends, Way way, const at::Tensor& tensor) {
  const bool forward = way == Way::kForward;
  const int before = (stage_ + stages_ - 1) % stages_, after = (stage_ + 1) % stages_;
  const int peer = forward == sends ? after : before;
  const int from = sends ? stage_ : peer;
  const std::shared_ptr<Group>& own = mesh_.way(forward, from);
  c10d::ProcessGroup& group =
      *(own != nullptr ? own : mesh_.group(Axis::kPipeline))->process_group();
  const int peer_there = own != nullptr ? (sends ? 1 : 0) : peer;
  // Use one tag per direction: two stages may send to each other both ways.
  const int tag = forward ? 0 : 1;
  Message message{tensor,
                  times_->Post(sends ? CollectiveOp::kSend : CollectiveOp::kReceive,
                               Axis::kPipeline, tensor.nbytes()),
                  {},
                  0};
  std::vector<at::Tensor> tensors{tensor};
  message.work =
      sends ? group.send(tensors, peer_there, tag) : group.recv(tensors, peer_there, tag);
  if (device_.is_cpu()) {
    ArrivalThread& thread = sends ? *sending_ : *receiving_;
    // The lambda keeps the tensor as long as the backend uses it.
    message.number =
        thread.Add([work = message.work, times = times_, place = message.place, tensor] {
          work->wait();
          times->NoteComplete(place);
        });
  } else {
    message.work->getFuture()->addCallback(
        [times = times_, place = message.place](c10::ivalue::Future& done) {
          if (!done.hasError()) times->NoteComplete(place);
        });
  }
  return message;
}

void StageLink::Await(const Message& message, ArrivalThread* thread, CommTimes::During during) {
  const Timeline::Moment from = timeline_->Now();
  if (thread != nullptr) {
    thread->Await(message.number);
  } else {
    message.work->wait();
  }
  times_->NoteWait(message.place, from, timeline_->Now(), during);
}

void StageLink::Expect(Way way, const std::vector<int64_t>& shape, at::ScalarType type) {
  const at::Tensor into = at::empty(shape, at::TensorOptions(device_).dtype(type));
  // On a GPU, receive later: a pending receive occupies some of its multiprocessors.
  expected_[static_cast<size_t>(way)].push_back(device_.is_cpu() ? Start(/*sends=*/false, way, into)
                                                                 : Message{into, 0, {}, 0});
}

at::Tensor StageLink::Take(Way way, CommTimes::During during) {
  std::deque<Message>& expected = expected_[static_cast<size_t>(way)];
  DT_CHECK(!expected.empty());
  Message message = std::move(expected.front());
  expected.pop_front();
  if (!device_.is_cpu()) message = Start(/*sends=*/false, way, message.tensor);
  Await(message, receiving_.get(), during);
  return message.tensor;
}

void StageLink::Send(Way way, const at::Tensor& tensor) {
  // Drop messages that have arrived, to free their memory.
  while (!device_.is_cpu() && !sent_.empty() && sent_.front().work->isCompleted()) {
    sent_.pop_front();
  }
  Message message = Start(/*sends=*/true, way, tensor.contiguous());
  if (device_.is_cpu()) {
    // The sending thread keeps the tensor.
    message.tensor.reset();
    message.work.reset();
    sent_.clear();
  }
  sent_.push_back(std::move(message));
}

void StageLink::Finish(CommTimes::During during) {
  // On a CPU messages arrive in order, so only the newest one is kept here to wait for.
  for (const Message& message : sent_) Await(message, sending_.get(), during);
  sent_.clear();
}

}  // namespace dt::trainer
