// answer_cache_test.cc: which thread computes an answer, which calls get it, and when it is
// computed again.
#include "coordinator/api/answer_cache.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dt {
namespace {

constexpr absl::Duration kFresh = absl::Seconds(1);

class AnswerCacheTest : public ::testing::Test {
 protected:
  AnswerCache::Found Ask(const std::string& key) {
    return cache_.Ask(key, now_, [this](const SharedAnswer& answer) {
      got_.push_back(answer->body);
      given_.push_back(answer);
    });
  }
  void Put(const std::string& key, const std::string& body) {
    cache_.Put(key, {200, body}, now_, kFresh);
  }

  AnswerCache cache_{2, 100};
  absl::Duration now_ = absl::Seconds(1000);
  std::vector<std::string> got_;
  std::vector<SharedAnswer> given_;
};

TEST_F(AnswerCacheTest, CallersDuringAComputationGetTheSameAnswer) {
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kMake);
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kAnswered);
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kAnswered);
  EXPECT_TRUE(got_.empty());
  Put("a", "one");
  EXPECT_EQ(got_, (std::vector<std::string>{"one", "one", "one"}));
}

TEST_F(AnswerCacheTest, AnAnswerIsReusedWhileItIsFresh) {
  Ask("a");
  Put("a", "one");
  now_ += kFresh / 2;
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kAnswered);
  EXPECT_EQ(got_.size(), 2u);
  now_ += kFresh;
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kMake);
  Put("a", "two");
  EXPECT_EQ(got_.back(), "two");
}

TEST_F(AnswerCacheTest, AllCallersShareOneAnswer) {
  Ask("a");
  Ask("a");
  Put("a", "one");
  Ask("a");
  ASSERT_EQ(given_.size(), 3u);
  EXPECT_EQ(given_[1], given_[0]);
  EXPECT_EQ(given_[2], given_[0]);
}

TEST_F(AnswerCacheTest, TooManyComputationsAtOnceAreRefusedButWaitersAreNot) {
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kMake);
  EXPECT_EQ(Ask("b"), AnswerCache::Found::kMake);
  EXPECT_EQ(Ask("c"), AnswerCache::Found::kBusy);
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kAnswered);
  Put("a", "");
  EXPECT_EQ(Ask("c"), AnswerCache::Found::kMake);
}

TEST_F(AnswerCacheTest, BeyondTheBoundOfBytesTheOldestGoes) {
  for (const char* key : {"a", "b", "c"}) {
    Ask(key);
    Put(key, std::string(40, *key));
  }
  EXPECT_EQ(Ask("c"), AnswerCache::Found::kAnswered);
  EXPECT_EQ(Ask("b"), AnswerCache::Found::kAnswered);
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kMake);
  Put("a", std::string(101, 'a'));  // alone over the bound: returned, but not kept
  EXPECT_EQ(got_.back().size(), 101u);
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kMake);
}

TEST_F(AnswerCacheTest, AnAnswerThatMustNotBeKeptIsComputedAgain) {
  Ask("a");
  cache_.Put("a", {503, "busy"}, now_, absl::ZeroDuration());
  EXPECT_EQ(got_.back(), "busy");
  EXPECT_EQ(Ask("a"), AnswerCache::Found::kMake);
}

}  // namespace
}  // namespace dt
