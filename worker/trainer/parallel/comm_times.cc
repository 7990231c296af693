// comm_times.cc: sums the messages of a step.
#include "worker/trainer/parallel/comm_times.h"

#include <algorithm>
#include <utility>

namespace dt::trainer {
namespace {

Traffic& Of(CommTotals& totals, CollectiveOp op, Axis axis) {
  for (Traffic& traffic : totals.traffic) {
    if (traffic.op == op && traffic.axis == axis) return traffic;
  }
  totals.traffic.push_back({op, axis});
  return totals.traffic.back();
}

}  // namespace

void CommTotals::Append(const CommTotals& more) {
  traffic.insert(traffic.end(), more.traffic.begin(), more.traffic.end());
  forward_exposed_seconds += more.forward_exposed_seconds;
  backward_exposed_seconds += more.backward_exposed_seconds;
}

void StepShare::Add(const Traffic& traffic, double times) {
  Traffic& sum = Of(sum_, traffic.op, traffic.axis);
  sum.seconds += times * traffic.seconds;
  sum.exposed_seconds += times * traffic.exposed_seconds;
  sum.bytes += times * traffic.bytes;
  sum.count += times * traffic.count;
}

void StepShare::Add(const CommTotals& totals, double times) {
  for (const Traffic& traffic : totals.traffic) Add(traffic, times);
}

CommTotals StepShare::Take() {
  CommTotals sum = std::exchange(sum_, {});
  const auto steps = static_cast<double>(std::max<int64_t>(1, std::exchange(steps_, 0)));
  for (Traffic& each : sum.traffic) {
    each.seconds /= steps;
    each.exposed_seconds /= steps;
    each.bytes /= steps;
    each.count /= steps;
  }
  return sum;
}

void CommTimes::Restart() {
  std::lock_guard lock(mutex_);
  messages_.clear();
  waits_.clear();
}

size_t CommTimes::Post(CollectiveOp op, Axis axis, size_t bytes) {
  const Timeline::Moment now = timeline_->Now();
  std::lock_guard lock(mutex_);
  messages_.push_back({op, axis, bytes, now, -1});
  return messages_.size() - 1;
}

void CommTimes::NoteComplete(size_t place) {
  const Timeline::Moment now = timeline_->Now();
  std::lock_guard lock(mutex_);
  if (place < messages_.size()) messages_[place].complete = now;
}

void CommTimes::NoteWait(size_t place, Timeline::Moment from, Timeline::Moment to, During during) {
  std::lock_guard lock(mutex_);
  waits_.push_back({place, from, to, during});
}

CommTotals CommTimes::Totals() const {
  std::lock_guard lock(mutex_);
  CommTotals totals;
  for (size_t i = 0; i < messages_.size(); ++i) {
    const Message& message = messages_[i];
    if (message.complete < 0) continue;
    double seconds = timeline_->Seconds(message.ready, message.complete);
    // Messages of one axis run one after another, so do not count the time queued behind the one
    // before.
    for (size_t before = i; before-- > 0;) {
      if (messages_[before].axis != message.axis || messages_[before].complete < 0) continue;
      seconds = std::min(seconds, timeline_->Seconds(messages_[before].complete, message.complete));
      break;
    }
    Traffic& traffic = Of(totals, message.op, message.axis);
    traffic.seconds += std::max(seconds, 0.0);
    traffic.bytes += static_cast<double>(message.bytes);
    traffic.count += 1;
  }
  for (const Wait& wait : waits_) {
    const double seconds = timeline_->Seconds(wait.from, wait.to);
    if (wait.place < messages_.size()) {
      const Message& message = messages_[wait.place];
      Of(totals, message.op, message.axis).exposed_seconds += seconds;
    }
    if (wait.during == During::kForward) totals.forward_exposed_seconds += seconds;
    if (wait.during == During::kBackward) totals.backward_exposed_seconds += seconds;
  }
  return totals;
}

double CommTimes::TailSeconds() const {
  std::lock_guard lock(mutex_);
  for (size_t i = messages_.size(); i-- > 0;) {
    if (messages_[i].complete < 0) continue;
    return std::max(timeline_->Seconds(messages_[i].ready, messages_[i].complete), 0.0);
  }
  return 0;
}

}  // namespace dt::trainer
