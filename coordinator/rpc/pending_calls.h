// pending_calls.h: callers that wait for the core's answer.
//
// Threads:   thread-safe. A continuation runs on the thread that answers, outside the lock.
// Invariant: every added continuation runs exactly once, or the caller that added it takes it back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "coordinator/core/model/effects.h"

namespace dt {

using Continuation =
    std::function<void(absl::Status, std::unique_ptr<google::protobuf::Message> response)>;

class PendingCalls {
 public:
  ReplyId Add(Continuation continuation) {
    MutexLock lock(&mutex_);
    waiting_.emplace(++last_, std::move(continuation));
    return last_;
  }
  // Removes the continuation without running it.
  std::optional<Continuation> Take(ReplyId id) {
    MutexLock lock(&mutex_);
    auto found = waiting_.find(id);
    if (found == waiting_.end()) return std::nullopt;
    Continuation continuation = std::move(found->second);
    waiting_.erase(found);
    return continuation;
  }
  void Answer(Reply&& reply) {
    if (auto continuation = Take(reply.id)) {
      (*continuation)(std::move(reply.status), std::move(reply.response));
    }
  }
  // Ends all waiting calls at shutdown, when no answers come any more.
  void FailAll(const absl::Status& status) {
    absl::flat_hash_map<ReplyId, Continuation> waiting;
    {
      MutexLock lock(&mutex_);
      waiting.swap(waiting_);
    }
    for (auto& [id, continuation] : waiting) continuation(status, nullptr);
  }

 private:
  Mutex mutex_;
  ReplyId last_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<ReplyId, Continuation> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dt
