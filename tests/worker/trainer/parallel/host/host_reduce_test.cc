// host_reduce_test.cc: averages in memory that processes share, and the ends of a wait for a peer.
#include "worker/trainer/parallel/host/host_reduce.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "tests/testing/await.h"

namespace dt::trainer {
namespace {

using ::dt::testing::kPatience;
constexpr uint64_t kKey = 42;

using Reduce = std::shared_ptr<HostReduce>;

// The ranks of other hosts; none if the gang has only this host.
struct Others {
  int ranks = 0;
  SumOverHosts sum;
};

// Returns the ranks of one gang, or of one of its hosts. Each has its own mapping, as processes do.
std::vector<Reduce> Gang(int ranks, size_t floats, std::chrono::milliseconds timeout = kPatience,
                         const Others& others = {}) {
  const HostMemoryShape shape{ranks, floats, kKey};
  auto made = HostMemory::Make(shape);
  EXPECT_TRUE(made.ok());
  const std::vector<pid_t> processes(ranks, getpid());
  std::vector<Reduce> gang;
  for (int r = 0; r < ranks; ++r) {
    auto memory = r == 0 ? made : HostMemory::Open(getpid(), (*made)->descriptor(), shape);
    EXPECT_TRUE(memory.ok());
    auto joined =
        HostReduce::Join(*memory, {r, processes, ranks + others.ranks, others.sum, timeout});
    EXPECT_TRUE(joined.ok());
    gang.push_back(*joined);
  }
  return gang;
}

float Value(int rank, size_t i, int round) {
  return std::sin(static_cast<float>(rank * 7 + round) + static_cast<float>(i) * 0.1f);
}

TEST(HostReduceTest, EveryRankGetsTheSameAverageOfEveryRange) {
  // Fewer numbers than a rank's share, a last block that is not full, and a range in the middle.
  const std::vector<std::pair<size_t, size_t>> ranges = {{0, 1}, {16, 5000}, {5024, 70001}};
  constexpr size_t kFloats = 80000;
  for (const int ranks : {1, 2, 3, 5}) {
    const std::vector<Reduce> gang = Gang(ranks, kFloats);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        float* part = gang[r]->memory()->Part(r);
        for (int round = 0; round < 20; ++round) {
          for (size_t i = 0; i < kFloats; ++i) part[i] = Value(r, i, round);
          for (const auto& [first, count] : ranges) {
            const uint64_t number = gang[r]->Post();
            ASSERT_TRUE(gang[r]->Average(number, first, count).ok());
            for (size_t i = first; i < first + count; ++i) {
              float sum = Value(0, i, round);
              for (int peer = 1; peer < ranks; ++peer) sum += Value(peer, i, round);
              ASSERT_EQ(part[i], sum / static_cast<float>(ranks)) << "rank " << r << " at " << i;
            }
          }
          ASSERT_EQ(part[1], Value(r, 1, round)) << "numbers in no range stay";
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// The first ranks of two hosts: both get the sum once both have come.
class BetweenTwo {
 public:
  absl::Status Sum(float* sums, size_t count) {
    std::unique_lock lock(mutex_);
    const uint64_t round = round_;
    if (waiting_ == nullptr) {
      waiting_ = sums;
      const bool met = changed_.wait_for(lock, kPatience, [&] { return round_ != round; });
      return met ? absl::OkStatus() : CollectiveError("nobody came");
    }
    for (size_t i = 0; i < count; ++i) sums[i] = waiting_[i] = waiting_[i] + sums[i];
    waiting_ = nullptr;
    ++round_;
    changed_.notify_all();
    return absl::OkStatus();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  float* waiting_ = nullptr;
  uint64_t round_ = 0;
};

TEST(HostReduceTest, EveryRankOfTwoHostsGetsTheAverageOverBoth) {
  constexpr size_t kFloats = 30000;
  BetweenTwo between;
  const SumOverHosts sum = [&](float* sums, size_t count) { return between.Sum(sums, count); };
  // Two ranks and three, some of which have no share in a range of one block.
  const std::vector<std::vector<Reduce>> hosts = {Gang(2, kFloats, kPatience, {3, sum}),
                                                  Gang(3, kFloats, kPatience, {2, sum})};
  std::vector<std::thread> threads;
  for (const std::vector<Reduce>& host : hosts) {
    for (const Reduce& reduce : host) {
      threads.emplace_back([&, first = &host == &hosts[0]] {
        float* part = reduce->memory()->Part(reduce->rank());
        for (int round = 0; round < 20; ++round) {
          const int rank = reduce->rank() + (first ? 0 : 2);
          for (size_t i = 0; i < kFloats; ++i) part[i] = Value(rank, i, round);
          for (const auto& [from, count] :
               std::vector<std::pair<size_t, size_t>>{{0, 1}, {16, 20000}, {20032, 9000}}) {
            ASSERT_TRUE(reduce->Average(reduce->Post(), from, count).ok());
            for (size_t i = from; i < from + count; ++i) {
              const float here = Value(0, i, round) + Value(1, i, round);
              const float there = Value(2, i, round) + Value(3, i, round) + Value(4, i, round);
              ASSERT_EQ(part[i], (here + there) / 5.0f) << "rank " << rank << " at " << i;
            }
          }
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HostReduceTest, AFailureBetweenHostsFailsOnEachHostOnceAborted) {
  const std::vector<Reduce> gang = Gang(
      2, 1000, kPatience, {1, [](float*, size_t) { return CollectiveError("the other is gone"); }});
  auto waiting = std::async(
      std::launch::async, [reduce = gang[1]] { return reduce->Average(reduce->Post(), 0, 1000); });
  const absl::Status first = gang[0]->Average(gang[0]->Post(), 0, 1000);
  EXPECT_EQ(first.message(), "the other is gone");
  gang[0]->Abort();
  ASSERT_EQ(waiting.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(waiting.get().code(), kCollectiveError);
}

TEST(HostReduceTest, AnAbortWakesEveryRankThatWaitsAndThoseThatCome) {
  const std::vector<Reduce> gang = Gang(3, 1000);
  std::vector<std::future<absl::Status>> waiting;
  for (const int r : {0, 1}) {
    waiting.push_back(std::async(std::launch::async, [reduce = gang[r]] {
      return reduce->Average(reduce->Post(), 0, 1000);
    }));
  }
  gang[2]->Abort();
  for (auto& wait : waiting) {
    ASSERT_EQ(wait.wait_for(kPatience), std::future_status::ready);
    const absl::Status averaged = wait.get();
    ASSERT_FALSE(averaged.ok());
    EXPECT_EQ(averaged.code(), kCollectiveError);
  }
  EXPECT_FALSE(gang[2]->Average(gang[2]->Post(), 0, 1000).ok());
}

TEST(HostReduceTest, AKilledPeerEndsTheWaitForIt) {
  const HostMemoryShape shape{2, 1000, kKey};
  auto memory = HostMemory::Make(shape);
  ASSERT_TRUE(memory.ok());
  const pid_t peer = fork();
  if (peer == 0) {
    pause();
    _exit(0);
  }
  auto joined = HostReduce::Join(*memory, {0, {getpid(), peer}, 2, {}, kPatience});
  ASSERT_TRUE(joined.ok());
  auto waiting = std::async(
      std::launch::async, [reduce = *joined] { return reduce->Average(reduce->Post(), 0, 1000); });
  kill(peer, SIGKILL);
  ASSERT_EQ(waiting.wait_for(kPatience), std::future_status::ready);
  const absl::Status averaged = waiting.get();
  waitpid(peer, nullptr, 0);
  ASSERT_FALSE(averaged.ok());
  EXPECT_EQ(averaged.code(), kCollectiveError);
  EXPECT_NE(averaged.message().find("rank 1"), std::string::npos);
}

TEST(HostReduceTest, APeerThatHangsIsGivenUpAfterTheTimeout) {
  const std::vector<Reduce> gang = Gang(2, 1000, std::chrono::milliseconds(50));
  const absl::Status averaged = gang[0]->Average(gang[0]->Post(), 0, 1000);
  ASSERT_FALSE(averaged.ok());
  EXPECT_EQ(averaged.code(), kCollectiveError);
}

TEST(HostMemoryTest, OnlyTheMemoryOfTheSameGangIsOpened) {
  const HostMemoryShape shape{2, 1000, kKey};
  auto made = HostMemory::Make(shape);
  ASSERT_TRUE(made.ok());
  const int descriptor = (*made)->descriptor();
  HostMemoryShape other = shape;
  other.key = kKey + 1;
  EXPECT_FALSE(HostMemory::Open(getpid(), descriptor, other).ok());
  other = shape;
  other.floats = 100000;
  EXPECT_FALSE(HostMemory::Open(getpid(), descriptor, other).ok());
  EXPECT_FALSE(HostMemory::Open(getpid(), STDIN_FILENO, shape).ok());
  EXPECT_TRUE(HostMemory::Open(getpid(), descriptor, shape).ok());
  (*made)->CloseDescriptor();
  EXPECT_FALSE(HostMemory::Open(getpid(), descriptor, shape).ok());
}

TEST(HostMemoryTest, ALimitOnDataCountsARanksPartWhileItIsThere) {
  constexpr uint64_t kLimit = uint64_t{1} << 30, kPart = uint64_t{256} << 20;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = kLimit;
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
  {
    auto made = HostMemory::Make({3, kPart / sizeof(float), kKey});
    ASSERT_TRUE(made.ok());
    getrlimit(RLIMIT_DATA, &limit);
    EXPECT_EQ(limit.rlim_cur, kLimit - kPart);
  }
  getrlimit(RLIMIT_DATA, &limit);
  EXPECT_EQ(limit.rlim_cur, kLimit);
  setrlimit(RLIMIT_DATA, &before);
}

}  // namespace
}  // namespace dt::trainer
