// fake_conversation.h: a conversation that records the trainer's frames and requests what the test
// asks for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/link/conversation.h"

namespace dt::trainer {

class FakeConversation final : public Conversation {
 public:
  void Say(const frames::FromTrainer& frame) override { said.push_back(frame); }
  StopRequest CurrentStopRequest() const override { return stop_request; }
  absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds) override {
    return {"a:1"};
  }
  void AbortWith(std::function<void()>) override {}
  bool PeerIsLost() const override { return peer_is_lost; }
  std::optional<uint64_t> RegisteredStep() const override { return registered; }
  void AwaitRegistered(uint64_t, std::chrono::milliseconds) override {}

  std::vector<frames::FromTrainer> said;
  StopRequest stop_request = StopRequest::kNone;
  bool peer_is_lost = false;
  std::optional<uint64_t> registered;
};

}  // namespace dt::trainer
