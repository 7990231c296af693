// reader_thread.h: the one thread that reads metric history and logs, so that large reads never
// delay the core.
//
// Ownership: borrows the StoreReader.
// Threads:   Post may be called from any thread; the work runs on the thread that ReaderThread
//            owns.
// Errors:    Post returns false if limits::kReadsWaiting reads already wait, and after Stop.
#pragma once

#include <functional>
#include <thread>

#include "common/limits.h"
#include "common/mailbox.h"
#include "coordinator/store/store.h"

namespace dt {

using ReadWork = std::function<void(StoreReader&)>;

class ReaderThread {
 public:
  explicit ReaderThread(StoreReader& reader)
      : waiting_(limits::kReadsWaiting, 0), thread_([this, &reader] { Run(reader); }) {}
  ~ReaderThread() { Stop(); }
  ReaderThread(const ReaderThread&) = delete;
  ReaderThread& operator=(const ReaderThread&) = delete;

  [[nodiscard]] bool Post(ReadWork&& work) {
    return waiting_.Post(std::move(work), PostClass::kControl);
  }

  // Finishes the accepted reads and ends the thread.
  void Stop() {
    waiting_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run(StoreReader& reader) {
    while (true) {
      // Work or Stop ends the wait; the minute only bounds it.
      auto works = waiting_.Drain(limits::kReadsWaiting, absl::Minutes(1));
      if (works.empty() && waiting_.Closed()) return;
      for (ReadWork& work : works) work(reader);
    }
  }

  Mailbox<ReadWork> waiting_;
  std::thread thread_;
};

}  // namespace dt
