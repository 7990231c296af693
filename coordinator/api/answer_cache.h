// answer_cache.h: answers that are still fresh, and the clients that wait for one being made.
//
// Role:      makes an answer once in limits::kApiFresh, however many clients ask for it.
// Ownership: shares its answers with the connections that send them.
// Threads:   thread-safe. Replies run outside the lock, on the thread that brings the answer.
// Invariant: each reply runs exactly once. At most `calls` answers are being made, and `bytes` of
//            answers are kept; the oldest go.
// Tests:     tests/coordinator/api/answer_cache_test.cc
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "coordinator/http/http_server.h"

namespace dt {

class AnswerCache {
 public:
  AnswerCache(size_t calls, size_t bytes) : calls_max_(calls), bytes_max_(bytes) {}

  enum class Found {
    kAnswered,  // the reply has run, or will run with the answer being made
    kMake,      // the caller makes the answer and brings it with Put
    kBusy,      // too many answers are being made; the caller must reply itself
  };
  // `now` is steady time.
  Found Ask(const std::string& key, absl::Duration now, const HttpReply& reply);
  // Replies to all waiting clients, and keeps the answer for `fresh`.
  void Put(const std::string& key, HttpAnswer made, absl::Duration now, absl::Duration fresh);

 private:
  struct Kept {
    std::string key;
    SharedAnswer answer;
    absl::Duration until;
  };
  void Drop(std::list<Kept>::iterator kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t calls_max_;
  const size_t bytes_max_;
  Mutex mutex_;
  std::map<std::string, std::vector<HttpReply>> waiting_ ABSL_GUARDED_BY(mutex_);  // by key
  std::list<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // in the order of their making
  std::map<std::string, std::list<Kept>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dt
