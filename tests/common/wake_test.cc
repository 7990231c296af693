#include "common/wake.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace dt {
namespace {

bool IsReadable(const Wake& wake) {
  pollfd waiting{wake.fd(), POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

TEST(WakeTest, ItIsReadableFromASignalUntilItIsCleared) {
  const Wake wake;
  EXPECT_FALSE(IsReadable(wake));
  wake.Signal();
  wake.Signal();
  EXPECT_TRUE(IsReadable(wake));
  EXPECT_TRUE(wake.Clear());
  EXPECT_FALSE(IsReadable(wake));
  EXPECT_FALSE(wake.Clear()) << "nothing to wait for";
}

}  // namespace
}  // namespace dt
