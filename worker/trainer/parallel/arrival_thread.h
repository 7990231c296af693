// arrival_thread.h: a thread that waits for messages, one after another, and notes when each has
// arrived.
//
// Role:      Gloo's point-to-point messages have no future: only who waits for one learns of it.
// Ownership: keeps each message's work and tensor until it has arrived.
// Threads:   any one thread adds and awaits.
// Errors:    what a message failed with is thrown by Await of it and of all behind it.
// Tests:     tests/worker/trainer/run/pipeline_test.cc, parallel/gossip_test.cc
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dt::trainer {

class ArrivalThread {
 public:
  ArrivalThread();
  // Waits for what was added; an abort of the group ends that.
  ~ArrivalThread();
  ArrivalThread(const ArrivalThread&) = delete;
  ArrivalThread& operator=(const ArrivalThread&) = delete;

  // `await` returns when the message has arrived, and is dropped then. Returns its number.
  uint64_t Add(std::function<void()> await);
  // Until message `number` has arrived.
  void Await(uint64_t number);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  uint64_t added_ = 0, arrived_ = 0;
  std::exception_ptr failed_;
  bool leaving_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dt::trainer
