// arrival_thread.cc: see arrival_thread.h.
#include "worker/trainer/parallel/arrival_thread.h"

#include <utility>

namespace dt::trainer {

ArrivalThread::ArrivalThread() : thread_([this] { Work(); }) {}

ArrivalThread::~ArrivalThread() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

uint64_t ArrivalThread::Add(std::function<void()> await) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(await));
  changed_.notify_all();
  return ++added_;
}

void ArrivalThread::Await(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return arrived_ >= number || failed_ != nullptr; });
  if (arrived_ < number) std::rethrow_exception(failed_);
}

void ArrivalThread::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leaving_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::function<void()> await = std::move(waiting_.front());
    waiting_.pop_front();
    // The group has failed: later messages would fail too, or wait for a long time.
    if (failed_ != nullptr) continue;
    lock.unlock();
    std::exception_ptr failed;
    try {
      await();
    } catch (...) {
      failed = std::current_exception();
    }
    await = nullptr;
    lock.lock();
    if (failed != nullptr) {
      failed_ = failed;
    } else {
      ++arrived_;
    }
    changed_.notify_all();
  }
}

}  // namespace dt::trainer
