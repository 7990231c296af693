// cluster_test.cc: the processes that `dtctl up` starts, with scripts in place of the programs.
#include "cli/local/cluster.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/net/listen.h"
#include "gtest/gtest.h"
#include "tests/cli/local/pause.h"
#include "tests/testing/await.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

using Workers = std::vector<std::string>;

constexpr char kFakeCoordinator[] =
    "#!/bin/sh\n"
    "echo \"$@\"\n"
    "[ -e \"$(dirname \"$0\")/broken\" ] && { echo no such state; exit 1; }\n"
    "listen=$2\n"
    "while [ \"$1\" != --addresses-file ]; do shift; done\n"
    "[ \"$listen\" = 127.0.0.1:0 ] && listen=127.0.0.1:17\n"
    "echo \"{\\\"grpc\\\": \\\"$listen\\\", \\\"http\\\": \\\"127.0.0.1:18\\\"}\" >$2.new\n"
    "mv $2.new $2\n"
    "exec sleep 300\n";
constexpr char kFakeWorker[] =
    "#!/bin/sh\necho \"$@\" gpus=$CUDA_VISIBLE_DEVICES\nexec sleep 300\n";

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, text] :
         {std::pair("bin/dtcoord", kFakeCoordinator), std::pair("bin/dtworker", kFakeWorker)}) {
      std::filesystem::permissions(folder_.Write(name, text), std::filesystem::perms::owner_all);
    }
    options_.state_home = folder_ / "state";
    options_.programs = folder_ / "bin";
    options_.cores = 4;
    options_.grpc_port = options_.http_port = 0;
  }
  void TearDown() override {
    LocalCluster cluster = Open();
    EXPECT_TRUE(cluster.Down(Pause).ok());
  }
  LocalCluster Open() { return *LocalCluster::Open(options_, Pause); }
  std::string File(const std::string& name) const {
    std::ifstream file(folder_ / ("state/local/" + name));
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  // Kills the process of this name as the kernel would.
  void Kill(const std::string& name) {
    std::ifstream list(folder_ / "state/local/processes");
    for (std::string line; std::getline(list, line);) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      if (words.at(2) == name) kill(std::stoi(words[0]), SIGKILL);
    }
    KeptProcesses kept = *KeptProcesses::Open(folder_ / "state/local", Pause);
    while (kept.IsAlive(name)) Pause(absl::Milliseconds(1));
  }

  testing::TempFolder folder_;
  ClusterOptions options_;
};

TEST_F(ClusterTest, RepeatedStartsMakeOneCluster) {
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
    EXPECT_EQ(cluster.started(), (Workers{"dtcoord", "cpu:0", "cpu:1"}));
    EXPECT_EQ(cluster.addresses().grpc, "127.0.0.1:17");
  }
  LocalCluster again = Open();
  ASSERT_TRUE(again.Up(Pause).ok());
  EXPECT_EQ(again.started(), Workers{});
  EXPECT_EQ(again.workers(), (Workers{"cpu:0", "cpu:1"}));
  EXPECT_EQ(*again.Down(Pause), 3u);
  EXPECT_EQ(*again.Down(Pause), 0u);
}

TEST_F(ClusterTest, ADeadCoordinatorIsRestartedAtTheAddressThatWorkersKnow) {
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
  }
  Kill("cpu:1");
  Kill("dtcoord");
  LocalCluster cluster = Open();
  ASSERT_TRUE(cluster.Up(Pause).ok());
  EXPECT_EQ(cluster.started(), (Workers{"dtcoord", "cpu:1"}));
  EXPECT_NE(File("logs/dtcoord.log").find("--listen 127.0.0.1:17"), std::string::npos);
}

// Tests with a coordinator that reports the addresses it was given.
class AddressesTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    folder_.Write("bin/dtcoord",
                  "#!/bin/sh\nlisten=$2\nhttp=$4\n"
                  "while [ \"$1\" != --addresses-file ]; do shift; done\n"
                  "echo \"{\\\"grpc\\\": \\\"$listen\\\", \\\"http\\\": \\\"$http\\\"}\" >$2.new\n"
                  "mv $2.new $2\nexec sleep 300\n");
  }
  static Listening Taken() { return *Listen("", "127.0.0.1:0"); }
  static int PortOf(const Listening& taken) {
    return std::stoi(taken.address.substr(taken.address.rfind(':') + 1));
  }
  // Returns ports on which no process listens now.
  static std::pair<int, int> FreePorts() {
    const Listening one = Taken();
    const Listening other = Taken();
    return {PortOf(one), PortOf(other)};
  }
};

TEST_F(AddressesTest, TheUsualPortsAreTakenAndStayForEveryUpThatFollows) {
  std::tie(options_.grpc_port, options_.http_port) = FreePorts();
  const std::string grpc = absl::StrCat("127.0.0.1:", options_.grpc_port);
  const std::string http = absl::StrCat("127.0.0.1:", options_.http_port);
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
    EXPECT_EQ(cluster.addresses().grpc, grpc);
    EXPECT_EQ(cluster.addresses().http, http);
    ASSERT_TRUE(cluster.Down(Pause).ok());
  }
  options_.grpc_port = options_.http_port = 0;
  LocalCluster again = Open();
  ASSERT_TRUE(again.Up(Pause).ok());
  EXPECT_EQ(again.addresses().grpc, grpc);
  EXPECT_EQ(again.addresses().http, http);
  EXPECT_TRUE(again.moved().empty());
}

TEST_F(AddressesTest, AKilledCoordinatorComesBackAtItsAddress) {
  std::tie(options_.grpc_port, options_.http_port) = FreePorts();
  std::string http;
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
    http = cluster.addresses().http;
  }
  Kill("dtcoord");
  options_.http_port = 0;
  LocalCluster again = Open();
  ASSERT_TRUE(again.Up(Pause).ok());
  EXPECT_EQ(again.addresses().http, http);
}

TEST_F(AddressesTest, PortsInUseByAnotherProgramAreAvoidedAndTheMoveIsReported) {
  const Listening taken = Taken();
  options_.http_port = PortOf(taken);
  LocalCluster cluster = Open();
  ASSERT_TRUE(cluster.Up(Pause).ok());
  EXPECT_NE(cluster.addresses().http, taken.address);
  EXPECT_TRUE(cluster.moved().empty()) << "it was never elsewhere";
  ASSERT_TRUE(cluster.Down(Pause).ok());
  folder_.Write("state/local/last-addresses.json",
                absl::StrCat(R"({"grpc": "127.0.0.1:1", "http": ")", taken.address, "\"}"));
  ASSERT_TRUE(cluster.Up(Pause).ok());
  ASSERT_FALSE(cluster.moved().empty());
  EXPECT_NE(cluster.moved()[0].find(taken.address), std::string::npos) << cluster.moved()[0];
}

TEST_F(ClusterTest, ARunFolderIsThatOfTheStartAndStaysWhileTheClusterIsUp) {
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string old = before == nullptr ? "" : before;
  const auto in = [this](const std::string& name) {
    setenv("XDG_RUNTIME_DIR", (folder_ / name).c_str(), 1);
    LocalCluster cluster = Open();
    EXPECT_TRUE(cluster.Up(Pause).ok());
    return File("run-folder");
  };
  EXPECT_EQ(in("a"), folder_ / "a/dtrain");
  EXPECT_EQ(in("b"), folder_ / "a/dtrain");
  EXPECT_TRUE(testing::Await([&] {
    return absl::StrContains(File("logs/cpu-1.log"), "--run-dir " + (folder_ / "a/dtrain"));
  })) << File("logs/cpu-1.log");
  ASSERT_TRUE(Open().Down(Pause).ok());
  EXPECT_EQ(in("b"), folder_ / "b/dtrain") << "the former may be gone since a logout";
  if (before == nullptr) {
    unsetenv("XDG_RUNTIME_DIR");
  } else {
    setenv("XDG_RUNTIME_DIR", old.c_str(), 1);
  }
}

TEST_F(ClusterTest, WithTokensWorkersGetOneAndTokensStayUntilAPurge) {
  int made = 0;
  options_.worker_token = [&made](const std::string& address, const std::string& admin) {
    EXPECT_EQ(address, "127.0.0.1:17");
    EXPECT_TRUE(absl::EndsWith(admin, "/coordinator/admin.token")) << admin;
    ++made;
    return absl::StrCat("dtr_", std::string(64, 'a'));
  };
  options_.auth = true;
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
    EXPECT_NE(cluster.token_file(), "");
    EXPECT_TRUE(testing::Await([&] {
      return File("logs/cpu-1.log")
                 .find("--token-file " + (folder_ / "state/local/worker.token")) !=
             std::string::npos;
    })) << File("logs/cpu-1.log");
    EXPECT_NE(File("logs/dtcoord.log").find("--auth tokens"), std::string::npos);
    const auto mode = std::filesystem::status(folder_ / "state/local/worker.token").permissions();
    EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    ASSERT_TRUE(cluster.Down(Pause).ok());
  }
  folder_.Write("state/local/coordinator/access.db", "");  // as the real coordinator leaves it
  options_.auth = false;
  LocalCluster again = Open();
  ASSERT_TRUE(again.Up(Pause).ok());
  EXPECT_NE(again.token_file(), "") << "a cluster with tokens is not open after a restart";
  EXPECT_EQ(made, 1);
  ASSERT_TRUE(again.Down(Pause).ok());
  ASSERT_TRUE(again.Purge().ok());
  EXPECT_EQ(again.token_file(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state/local/worker.token"));
}

TEST_F(ClusterTest, AClusterWithoutTokensIsNotTakenForOneWithTokens) {
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
  }
  options_.auth = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(Open().Up(Pause)));
}

TEST_F(ClusterTest, WorkersAreFoundThoughTheListOfAddressesIsLost) {
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
  }
  std::filesystem::remove(folder_ / "state/local/addresses.json");
  LocalCluster cluster = Open();
  ASSERT_TRUE(cluster.Up(Pause).ok());
  EXPECT_EQ(cluster.started(), Workers{"dtcoord"}) << "the workers go on";
  EXPECT_NE(File("logs/dtcoord.log").find("--listen 127.0.0.1:17"), std::string::npos);
}

TEST_F(ClusterTest, AWorkerThatLooksForItsCoordinatorElsewhereIsStartedAgain) {
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
  }
  folder_.Write("state/local/addresses.json", R"({"grpc": "127.0.0.1:19"})");
  LocalCluster cluster = Open();
  ASSERT_TRUE(cluster.Up(Pause).ok());
  EXPECT_EQ(cluster.started(), (Workers{"cpu:0", "cpu:1"}));
  EXPECT_EQ(cluster.addresses().grpc, "127.0.0.1:19");
}

TEST_F(ClusterTest, ACoordinatorThatEndsAtOnceIsAnErrorWithItsLog) {
  folder_.Write("bin/broken", "");
  LocalCluster cluster = Open();
  const absl::Status status = cluster.Up(Pause);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("no such state"), std::string::npos) << status;
}

TEST_F(ClusterTest, OtherSlotsThanThoseThatRunAreRefused) {
  {
    LocalCluster cluster = Open();
    ASSERT_TRUE(cluster.Up(Pause).ok());
  }
  options_.cpu_slots = 3;
  LocalCluster cluster = Open();
  const absl::Status status = cluster.Up(Pause);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(status.message()).find("up with 2 CPU slots"), std::string::npos);
  ASSERT_TRUE(cluster.Down(Pause).ok());
  EXPECT_TRUE(cluster.Up(Pause).ok()) << "after down";
  EXPECT_EQ(cluster.workers().size(), 3u);
}

TEST_F(ClusterTest, APurgeRemovesItsOwnFilesAndNoData) {
  LocalCluster cluster = Open();
  ASSERT_TRUE(cluster.Up(Pause).ok());
  folder_.Write("state/local/data/mine/text", "precious");
  folder_.Write("state/local/storage/1/1/a1/step-5/x", "weights");
  ASSERT_TRUE(cluster.Down(Pause).ok());
  ASSERT_TRUE(cluster.Purge().ok());
  EXPECT_EQ(File("data/mine/text"), "precious");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state/local/storage"));
  std::filesystem::remove_all(folder_ / "state/local/data/mine");
  ASSERT_TRUE(cluster.Purge().ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state/local"));
}

TEST_F(ClusterTest, DataOfAnotherFolderIsUsedAndNeverRemoved) {
  folder_.Write("mine/text", "precious");
  options_.data_root = folder_ / "mine";
  LocalCluster cluster = Open();
  ASSERT_TRUE(cluster.Up(Pause).ok());
  EXPECT_EQ(File("data/text"), "precious");
  ASSERT_TRUE(cluster.Down(Pause).ok());
  ASSERT_TRUE(cluster.Purge().ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mine/text"));
}

TEST(WantedWorkersTest, TheDefaultIsAllGpusOrElseTwoCpuSlots) {
  ClusterOptions options;
  options.cores = 16;
  EXPECT_EQ(*WantedWorkers(options, {}, false), (Workers{"cpu:0", "cpu:1"}));
  options.cores = 1;
  EXPECT_EQ(*WantedWorkers(options, {}, false), (Workers{"cpu:0"}));
  options.has_gpus = true;
  EXPECT_EQ(*WantedWorkers(options, {}, false), (Workers{"gpus"}));
  options.gpus = "0,1";
  EXPECT_EQ(*WantedWorkers(options, {}, false), (Workers{"gpus:0,1"}));
  EXPECT_EQ(ShapeText({"gpus:0,1"}), "GPUs 0,1");
  options.gpus = "first";
  EXPECT_EQ(WantedWorkers(options, {}, false).status().code(), absl::StatusCode::kInvalidArgument);
  options.gpus = "all";
  options.has_gpus = false;
  EXPECT_EQ(WantedWorkers(options, {}, false).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(WantedWorkersTest, SlotsAreBounded) {
  ClusterOptions options;
  for (const int64_t slots : {-1, 0, 100000}) {
    options.cpu_slots = slots;
    EXPECT_EQ(WantedWorkers(options, {}, false).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  options.cpu_slots = 3;
  EXPECT_EQ(WantedWorkers(options, {}, false)->size(), 3u);
}

}  // namespace
}  // namespace dt::cli
