// arrival_thread.h: a thread that waits for messages, one after another, and records their arrival.
//
// Role:      Gloo's point-to-point messages have no future: only a thread that waits for a message
//            learns of its arrival.
// Ownership: keeps each message's work and tensor until it has arrived.
// Threads:   one thread calls Add and Await.
// Errors:    Await throws a message's error, for that message and all later ones.
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
  // Waits for all added messages; an abort of the group ends that.
  ~ArrivalThread();
  ArrivalThread(const ArrivalThread&) = delete;
  ArrivalThread& operator=(const ArrivalThread&) = delete;

  // Adds a message. `await` must return when the message has arrived; it is destroyed then. Returns
  // the message's number.
  uint64_t Add(std::function<void()> await);
  // Blocks until message `number` has arrived.
  void Await(uint64_t number);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  uint64_t added_ = 0, arrived_ = 0;
  std::exception_ptr failed_;
  bool leaving_ = false;
  std::thread thread_;  // declared last: it uses all fields above
};

}  // namespace dt::trainer
