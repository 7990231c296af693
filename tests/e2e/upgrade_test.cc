// upgrade_test.cc: programs of version 0.1.0 and of today in one fleet: first the coordinator is
// replaced, then the workers, one by one.
//
// The programs of 0.1.0 are in the folder DTRAIN_OLD_BUILD (tools/old_build.sh makes it); without
// them the cases are skipped.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

constexpr char kFolder[] = "DTRAIN_OLD_BUILD";

class UpgradeTest : public FleetTest {
 protected:
  static testing::Programs OldPrograms() {
    const char* set = std::getenv(kFolder);
    const std::string folder = set == nullptr ? "nowhere" : set;
    return {folder + "/bin/dtcoord", folder + "/bin/dtworker", folder + "/tests/fake_trainer"};
  }
  void SetUp() override {
    if (!std::filesystem::exists(OldPrograms().coordinator)) {
      GTEST_SKIP() << kFolder << " names no build of 0.1.0";
    }
    cluster_.SetPrograms(OldPrograms());
    cluster_.StartCoordinator();
  }
  // Submits to 0.1.0 with its own dtctl.
  uint64_t SubmitOld(int steps, int ranks, const std::string& script) {
    const std::string file = cluster_.folder().Write(
        "old.yaml", absl::StrCat("version: 1\nname: old\nresources: {gpus: ", ranks,
                                 ", device: cpu}\nretries: {backoff: 0.1s}\ndata: {train: \"",
                                 script, "\", val: v}\ntrain: {max_steps: ", steps, "}\n"));
    const std::string log = cluster_.folder() / absl::StrCat("dtctl-", ++submitted_);
    testing::ChildProcess dtctl({absl::StrCat(std::getenv(kFolder), "/bin/dtctl"), "--address",
                                 cluster_.address(), "submit", file, "--id-only"},
                                log);
    EXPECT_EQ(dtctl.AwaitExit(), 0) << testing::Slurp(log);
    uint64_t experiment = 0;
    const std::string said = testing::Slurp(log);
    EXPECT_TRUE(absl::SimpleAtoi(said.substr(0, said.find('\n')), &experiment)) << said;
    return experiment;
  }
  // Stops the coordinator and starts today's at the same address.
  void UpgradeCoordinator() {
    cluster_.coordinator().Signal(SIGTERM);
    ASSERT_TRUE(cluster_.coordinator().AwaitExit());
    cluster_.SetPrograms(FakePrograms());
    cluster_.StartCoordinator();
  }
  // Replaces a worker as a service manager does: its trial saves a checkpoint.
  void UpgradeWorker(const std::string& name) {
    cluster_.worker(name).Signal(SIGTERM);
    ASSERT_TRUE(cluster_.worker(name).AwaitExit());
    cluster_.StartWorker(name);
  }

 private:
  int submitted_ = 0;
};

TEST_F(UpgradeTest, TrialsOfOldWorkersGoOnAndWaitingOnesAreTrained) {
  for (const char* name : {"w0", "w1"}) cluster_.StartWorker(name);
  const uint64_t gang = SubmitOld(3000, 2, "step_ms=2 checkpoint_every=500");
  const uint64_t one = SubmitOld(20, 1, "step_ms=1");
  ASSERT_TRUE(cluster_.AwaitStep(gang, 1, 20));
  UpgradeCoordinator();
  ASSERT_TRUE(cluster_.AwaitTrial(gang, 1, v1::TRIAL_FINISHED, std::chrono::seconds(60)));
  EXPECT_EQ(cluster_.Trial(gang).attempts(), 1u) << "it went on";
  ExpectEachStepOnce(gang, 3000);
  ASSERT_TRUE(cluster_.AwaitTrial(one, 1, v1::TRIAL_FINISHED));
  ExpectEachStepOnce(one, 20);
}

TEST_F(UpgradeTest, ATrialGoesOnFromItsCheckpointOnTheWorkerThatReplacesItsOwn) {
  cluster_.StartWorker("w0");
  const uint64_t experiment = SubmitOld(3000, 1, "step_ms=5 checkpoint_every=500");
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 600));
  UpgradeCoordinator();
  UpgradeWorker("w0");
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, std::chrono::seconds(60)));
  EXPECT_EQ(cluster_.Trial(experiment).attempts(), 2u);
  ExpectEachStepOnce(experiment, 3000);
}

TEST_F(UpgradeTest, NewExperimentsWaitForNewWorkersAndReportIt) {
  for (const char* name : {"w0", "w1"}) cluster_.StartWorker(name);
  ASSERT_TRUE(cluster_.AwaitWorkers(2));
  UpgradeCoordinator();
  ASSERT_TRUE(cluster_.AwaitWorkers(2));
  const uint64_t one = cluster_.Submit(Training(20).spec());
  const uint64_t gang = cluster_.Submit(Training(20, "step_ms=1", 2).spec());
  EXPECT_NE(cluster_.Explain(one).explanation().find("are of an older version"), std::string::npos)
      << cluster_.Explain(one).explanation();
  UpgradeWorker("w0");
  ASSERT_TRUE(cluster_.AwaitEnd(one));
  EXPECT_EQ(cluster_.Trial(gang).state(), v1::TRIAL_PENDING);
  UpgradeWorker("w1");
  ASSERT_TRUE(cluster_.AwaitEnd(gang));
  ExpectEachStepOnce(gang, 20);
}

}  // namespace
}  // namespace dt
