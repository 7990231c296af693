// agent_link.h: the trainer's end of the socket pair to its agent. Frames from the agent become
// starts and stop requests; frames to it are written in full.
//
// Role:    no LibTorch. One thread reads for the life of the process, so that a stop, an exit or
//          the agent's death is noticed while the training thread computes.
// Threads: thread-safe.
// Errors:  the process ends if the descriptor closes or sends invalid frames: a trainer without an
//          agent is an orphan.
// Tests:   tests/worker/trainer/link/agent_link_test.cc, attempt_test.cc
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "worker/trainer/link/conversation.h"

namespace dt::trainer {

class AgentLink {
 public:
  // Takes ownership of `fd`. Lives as long as the process, which its reading thread may end.
  explicit AgentLink(int fd);
  ~AgentLink() = delete;
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  struct Order {
    frames::Start start;
    std::shared_ptr<Conversation> conversation;
  };
  // Blocks until the next start. An idle trainer spends all its time here.
  Order AwaitStart();
  void Say(const frames::FromTrainer& frame);

 private:
  class AttemptConversation;

  void Read();
  void TakeLine(std::string_view line);

  const int fd_;
  std::mutex write_mutex_;
  std::mutex mutex_;
  std::condition_variable started_;
  std::optional<Order> next_;
  std::shared_ptr<AttemptConversation> current_;
  std::thread reader_;
};

}  // namespace dt::trainer
