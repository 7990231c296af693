// tracked_conversation.h: writes rank 0's reports to files while it trains: JSON lines and
// TensorBoard event files in the trial's folder in storage.
//
// Role:      a Conversation that wraps another one; the training loop does not know of it.
//              <storage>/<experiment>/<trial>/metrics.jsonl
//              <storage>/<experiment>/<trial>/events.out.tfevents.…
// Threads:   as Conversation.
// Errors:    training continues without the files; the error is printed to stderr, once.
// Invariant: after a resume from step R the files have each step once: lines beyond R are removed
//            from metrics.jsonl, and TensorBoard gets a record that voids those events. If a
//            trainer is killed, its file may end within a line, which the next attempt removes, and
//            may lack the last second.
// Tests:     tests/worker/trainer/tracking/tracking_test.cc
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "common/files.h"
#include "worker/trainer/link/conversation.h"

namespace dt::trainer {

class TrackedConversation final : public Conversation {
 public:
  // Borrows both. Writes nothing on ranks other than 0, or without storage.
  TrackedConversation(const frames::Start& start, Conversation& inner);
  ~TrackedConversation() override;

  void Say(const frames::FromTrainer& frame) override;
  StopRequest CurrentStopRequest() const override { return inner_.CurrentStopRequest(); }
  absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds limit) override {
    return inner_.AwaitStoreAddress(limit);
  }
  void AbortWith(std::function<void()> abort) override { inner_.AbortWith(std::move(abort)); }
  std::optional<uint64_t> RegisteredStep() const override { return inner_.RegisteredStep(); }
  void AwaitRegistered(uint64_t step, std::chrono::milliseconds limit) override {
    inner_.AwaitRegistered(step, limit);
  }
  bool PeerIsLost() const override { return inner_.PeerIsLost(); }
  std::optional<frames::Rescue> AwaitRescue(std::chrono::milliseconds limit) override {
    return inner_.AwaitRescue(limit);
  }
  // Also adds the rows that rank 0 did not write to metrics.jsonl, if this rank sees that file.
  void SayMissing(const std::vector<frames::StepDone>& rows, uint64_t after) override;

 private:
  absl::Status AddMissing(const std::vector<frames::StepDone>& rows);
  absl::Status Track(const frames::FromTrainer& frame);
  absl::Status Begin(uint64_t resumed_step);
  absl::Status Step(const nlohmann::json& row);
  absl::Status Evaluated(const frames::FromTrainer& frame);
  absl::Status End(const frames::End& end);
  absl::Status Write(nlohmann::json line, const std::string& record);
  absl::Status Flush();

  const frames::Start& start_;
  Conversation& inner_;
  const std::string folder_;
  bool tracking_ = false;
  std::optional<OutputFile> lines_, events_;
  std::string pending_lines_, pending_events_;
  std::chrono::steady_clock::time_point flushed_;
};

}  // namespace dt::trainer
