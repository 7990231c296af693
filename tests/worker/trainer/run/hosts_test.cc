// hosts_test.cc: ranks on several hosts, which are PID namespaces here: ranks of one host see each
// other's memory, ranks of another do not.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>

#include "common/descendants.h"
#include "tests/testing/await.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// Sums are made in another order.
constexpr double kLossesApart = 1e-5;

// A host that lives as long as this object, with everything on it.
class OtherHost {
 public:
  OtherHost()
      : holder_({.path = "/usr/bin/unshare",
                 .arguments = {"--pid", "--fork", "--kill-child", "--mount-proc", "tail", "-f",
                               "/dev/null"}}) {
    // Once a process runs on it, its /proc is mounted.
    const bool up = Await([this] {
      for (const pid_t pid : Descendants()) {
        std::string name;
        std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
        if (pid != holder_.pid() && name == "tail") first_ = pid;
      }
      return first_ > 0 || !holder_.Running();
    });
    if (!up) ADD_FAILURE() << "unshare neither runs nor ends";
  }

  bool there() const { return first_ > 0; }
  // Returns the command that runs another command on this host.
  std::vector<std::string> Enter() const {
    return {"/usr/bin/nsenter", "--target", std::to_string(first_), "--pid", "--mount"};
  }
  // Ends the host at once, as a power failure does.
  void Die() const { kill(first_, SIGKILL); }

 private:
  ChildProcess holder_;
  pid_t first_ = -1;
};

class HostsTest : public AttemptTest {
 protected:
  // New processes, because the test reads their memory.
  HostsTest() { BeginProcesses(); }
  void SetUp() override {
    if (!other_.there()) GTEST_SKIP() << "this process may make no space of process numbers";
  }
  static nlohmann::json Spec(int steps) {
    nlohmann::json spec = SmallSpec();
    spec["train"]["max_steps"] = std::to_string(steps);
    spec["train"]["batch_size"] = 2;
    spec["train"]["hash_every"] = 1;
    return spec;
  }
  // Alternates ranks between this host and the other.
  std::vector<std::vector<std::string>> Places(int ranks) const {
    std::vector<std::vector<std::string>> places;
    for (int rank = 0; rank < ranks; ++rank) {
      places.push_back(rank % 2 == 0 ? std::vector<std::string>() : other_.Enter());
    }
    return places;
  }
  static int Map(const std::string& what) {
    int processes = 0;
    for (const pid_t pid : Descendants()) {
      std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
      for (std::string line; std::getline(maps, line);) {
        if (line.find(what) == std::string::npos) continue;
        ++processes;
        break;
      }
    }
    return processes;
  }

  const OtherHost other_;
};

TEST_F(HostsTest, RanksOfTwoHostsSumInMemoryOnEachAndThenOverBoth) {
  const nlohmann::json spec = Spec(20);
  const Told together = TrainerGang(4).Run(Start(spec));
  ExpectFinished(together);
  int sharing = 0;
  TrainerGang gang(Places(4));
  const Told told = gang.Run(Start(spec), [&](TrainerGang&, const frames::FromTrainer& frame) {
    if (std::holds_alternative<frames::StepDone>(frame)) sharing = Map("memfd:dtrain-gradients");
  });
  // Each step compares the parameters of all ranks.
  ExpectFinished(told);
  EXPECT_EQ(sharing, 4);
  EXPECT_LE(LargestDifference(together.Losses(), told.Losses()), kLossesApart);
}

TEST_F(HostsTest, HostsOfOneRankEachShareNoMemory) {
  int sharing = -1;
  TrainerGang gang(Places(2));
  const Told told = gang.Run(Start(Spec(5)), [&](TrainerGang&, const frames::FromTrainer& frame) {
    if (std::holds_alternative<frames::StepDone>(frame)) sharing = Map("memfd:dtrain-gradients");
  });
  ExpectFinished(told);
  EXPECT_EQ(sharing, 0);
}

TEST_F(HostsTest, AHostThatDiesEndsTheRanksOfTheOther) {
  TrainerGang gang(Places(4));
  const Told told =
      gang.Run(Start(Spec(100000)), [this](TrainerGang&, const frames::FromTrainer& frame) {
        const auto* done = std::get_if<frames::StepDone>(&frame);
        if (done != nullptr && done->row.at("step").get<int>() == 3) other_.Die();
      });
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(told.Cause(rank), "collective") << told.Message(rank);
  }
}

}  // namespace
}  // namespace dt::testing
