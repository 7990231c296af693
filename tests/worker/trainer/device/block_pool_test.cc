// block_pool_test.cc: which block is used again, and which go back to the system.
#include "worker/trainer/device/block_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>

namespace dt::trainer {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(BlockPoolTest, AFreedBlockIsTheNextOneOfItsSize) {
  BlockPool pool;
  void* const first = pool.Take(3 * kMiB);
  ASSERT_NE(first, nullptr);
  std::memset(first, 1, 3 * kMiB);
  EXPECT_EQ(pool.BytesOf(first), 3 * kMiB);
  pool.Give(first);
  EXPECT_EQ(pool.BytesOf(first), 0u);
  EXPECT_EQ(pool.kept_bytes(), 3 * kMiB);
  EXPECT_EQ(pool.Take(3 * kMiB - 5000), first) << "a little less will do with it as well";
  EXPECT_EQ(pool.BytesOf(first), 3 * kMiB - 4096) << "the requested size, in pages";
  pool.Give(first);
  EXPECT_EQ(pool.kept_bytes(), 3 * kMiB) << "and it has its full size again";
  pool.Release();
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

TEST(BlockPoolTest, ABlockIsNotWastedOnMuchLess) {
  BlockPool pool;
  void* const large = pool.Take(16 * kMiB);
  pool.Give(large);
  void* const small = pool.Take(8 * kMiB);
  EXPECT_NE(small, large);
  EXPECT_EQ(pool.Take(16 * kMiB), large);
  pool.Give(small);
  pool.Give(large);
  pool.Release();
}

TEST(BlockPoolTest, AnotherAllocatorsMemoryIsNotTouched) {
  const BlockPool pool;
  void* const other = std::aligned_alloc(4096, 2 * kMiB);
  EXPECT_EQ(pool.BytesOf(other), 0u);
  EXPECT_EQ(pool.BytesOf(static_cast<char*>(other) + 64), 0u);
  std::free(other);
}

TEST(BlockPoolDeathTest, KeptBlocksMakeRoomIfTheSystemHasNoMoreMemory) {
  const auto within_limit = [] {
    const rlimit limit{256 * kMiB, 256 * kMiB};
    setrlimit(RLIMIT_DATA, &limit);
    BlockPool pool;
    void* const first = pool.Take(150 * kMiB);
    if (first == nullptr) std::exit(1);
    pool.Give(first);
    void* const second = pool.Take(100 * kMiB);
    if (second == nullptr) std::exit(2);  // both together do not fit
    void* const third = pool.Take(90 * kMiB);
    if (third == nullptr) std::exit(3);
    if (pool.kept_bytes() != 0) std::exit(4);
    if (pool.Take(200 * kMiB) != nullptr) std::exit(5);
    std::exit(0);
  };
  EXPECT_EXIT(within_limit(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dt::trainer
