// service_manager_test.cc: messages to the service manager, and its watchdog.
#include "common/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "tests/testing/notify_socket.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

class ServiceManagerTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }
};

TEST_F(ServiceManagerTest, AMessageArrivesAsItIs) {
  const testing::TempFolder folder;
  testing::NotifySocket socket(folder.path() + "/notify");
  setenv("NOTIFY_SOCKET", socket.path().c_str(), 1);
  NotifyServiceManager("READY=1\nSTATUS=standby");
  EXPECT_EQ(socket.Receive(), "READY=1\nSTATUS=standby");
}

TEST_F(ServiceManagerTest, ASocketInTheAbstractNamespaceIsReached) {
  const std::string path = absl::StrCat("@dtrain-notify-test-", getpid());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(&name.sun_path[1], path.size() - 1, 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&name), size), 0);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  NotifyServiceManager("WATCHDOG=1");
  char buffer[64];
  const ssize_t got = recv(socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  EXPECT_EQ(std::string(buffer, got < 0 ? 0 : static_cast<size_t>(got)), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, WithoutAServiceManagerNothingIsSent) {
  unsetenv("NOTIFY_SOCKET");
  NotifyServiceManager("READY=1");
  for (const std::string& path :
       {std::string(), std::string("relative"), "/" + std::string(200, 'x')}) {
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    NotifyServiceManager("READY=1");
  }
}

TEST_F(ServiceManagerTest, TheWatchdogsPeriodIsThatOfThisProcess) {
  EXPECT_EQ(WatchdogPeriod(), absl::ZeroDuration());
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(WatchdogPeriod(), absl::Seconds(30));
  setenv("WATCHDOG_PID", absl::StrCat(getpid()).c_str(), 1);
  EXPECT_EQ(WatchdogPeriod(), absl::Seconds(30));
  setenv("WATCHDOG_PID", absl::StrCat(getppid()).c_str(), 1);
  EXPECT_EQ(WatchdogPeriod(), absl::ZeroDuration());
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(WatchdogPeriod(), absl::ZeroDuration());
}

}  // namespace
}  // namespace dt
