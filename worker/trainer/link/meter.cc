// meter.cc: reports at most once per second.
#include "worker/trainer/link/meter.h"

#include <algorithm>
#include <utility>

namespace dt::trainer {
namespace {

constexpr std::chrono::seconds kBetweenSigns{1};

}  // namespace

EvalMeter::EvalMeter(Conversation& conversation, std::string token, int64_t step, bool saves_alone,
                     Clock::time_point begun)
    : conversation_(conversation),
      token_(std::move(token)),
      step_(step),
      saves_alone_(saves_alone),
      said_(begun) {}

EvalMeter::~EvalMeter() {
  if (ever_said_) Say(0, 0);
}

absl::Status EvalMeter::Done(Clock::time_point now) {
  ++done_;
  if (LeavesNow(conversation_.CurrentStopRequest(), saves_alone_)) {
    return CancelledError("stopped during the evaluation of step " + std::to_string(step_));
  }
  if (conversation_.PeerIsLost()) {
    return CollectiveError("a peer is gone during the evaluation of step " + std::to_string(step_));
  }
  if (now - said_ < kBetweenSigns) return absl::OkStatus();
  said_ = now;
  ever_said_ = true;
  Say(static_cast<uint64_t>(done_), static_cast<uint64_t>(std::max(parts_, done_)));
  return absl::OkStatus();
}

void EvalMeter::Say(uint64_t done, uint64_t parts) {
  conversation_.Say(frames::Progress{token_, static_cast<uint64_t>(step_), done, parts});
}

}  // namespace dt::trainer
