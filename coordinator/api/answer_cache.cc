#include "coordinator/api/answer_cache.h"

#include <iterator>
#include <utility>

namespace dt {

AnswerCache::Found AnswerCache::Ask(const std::string& key, absl::Duration now,
                                    const HttpReply& reply) {
  SharedAnswer fresh;
  {
    MutexLock lock(&mutex_);
    const auto kept = by_key_.find(key);
    if (kept != by_key_.end() && kept->second->until > now) {
      fresh = kept->second->answer;
    } else if (const auto made = waiting_.find(key); made != waiting_.end()) {
      made->second.push_back(reply);
      return Found::kAnswered;
    } else if (waiting_.size() >= calls_max_) {
      return Found::kBusy;
    } else {
      waiting_[key].push_back(reply);
      return Found::kMake;
    }
  }
  reply(std::move(fresh));
  return Found::kAnswered;
}

void AnswerCache::Put(const std::string& key, HttpAnswer made, absl::Duration now,
                      absl::Duration fresh) {
  const SharedAnswer answer = Share(std::move(made));
  std::vector<HttpReply> replies;
  {
    MutexLock lock(&mutex_);
    if (const auto waiting = waiting_.find(key); waiting != waiting_.end()) {
      replies = std::move(waiting->second);
      waiting_.erase(waiting);
    }
    if (const auto old = by_key_.find(key); old != by_key_.end()) Drop(old->second);
    if (fresh > absl::ZeroDuration() && answer->body.size() <= bytes_max_) {
      kept_.push_back({key, answer, now + fresh});
      by_key_[key] = std::prev(kept_.end());
      bytes_ += answer->body.size();
    }
    while (!kept_.empty() && (bytes_ > bytes_max_ || kept_.front().until <= now)) {
      Drop(kept_.begin());
    }
  }
  for (const HttpReply& reply : replies) reply(answer);
}

void AnswerCache::Drop(std::list<Kept>::iterator kept) {
  bytes_ -= kept->answer->body.size();
  by_key_.erase(kept->key);
  kept_.erase(kept);
}

}  // namespace dt
