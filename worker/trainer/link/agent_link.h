// agent_link.h: the trainer's end of the socket pair: frames from the agent become starts and
// wishes, frames to it are written whole.
//
// Role:    no LibTorch. One thread reads for the life of the process, so that a stop, an exit or
//          the agent's death is noticed while the training thread computes.
// Threads: thread-safe.
// Errors:  when the descriptor closes or speaks nonsense the process ends: a trainer without an
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
  // Takes over `fd`. Lives as long as the process: its reading thread ends that.
  explicit AgentLink(int fd);
  ~AgentLink() = delete;
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  struct Order {
    frames::Start start;
    std::shared_ptr<Conversation> conversation;
  };
  // Waits for the next start; waiting is the life of an idle trainer.
  Order AwaitStart();
  void Say(const frames::FromTrainer& frame);

 private:
  class Attempt;

  void Read();
  void OnLine(std::string_view line);

  const int fd_;
  std::mutex write_mutex_;
  std::mutex mutex_;
  std::condition_variable started_;
  std::optional<Order> next_;
  std::shared_ptr<Attempt> current_;
  std::thread reader_;
};

}  // namespace dt::trainer
