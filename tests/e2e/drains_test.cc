// drains_test.cc: workers that get no new trials: drained by a user, or because all attempts fail
// there.
#include <algorithm>
#include <chrono>

#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

// Several times the restart after a crash, on a slow machine.
constexpr std::chrono::seconds kLong{90};

class DrainsTest : public FleetTest {
 protected:
  v1::MarkWorkerResponse Mark(const std::string& worker, bool drain) {
    v1::MarkWorkerRequest request;
    request.set_worker(worker);
    request.set_drain(drain);
    request.set_who("ann");
    request.set_reason("new disk");
    v1::MarkWorkerResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const grpc::Status status = cluster_.control().MarkWorker(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::WorkerSummary SummaryOf(const std::string& name) {
    for (const v1::WorkerSummary& one : cluster_.Workers()) {
      if (one.worker() == name) return one;
    }
    return {};
  }
};

TEST_F(DrainsTest, ADrainedWorkerHandsItsTrialOverWithItsCheckpointAndStaysDrained) {
  Start({"w0", "w1"});
  const uint64_t experiment = cluster_.Submit(
      Training(400, "checkpoint_every=100 wait_at=250").Set("retries.max", "0").spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 250));
  const std::string drained = WorkerOf(experiment, 0);
  const v1::MarkWorkerResponse marked = Mark(drained, true);
  EXPECT_TRUE(marked.changed() && marked.known());
  EXPECT_EQ(marked.stopping(), 1u);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kLong));
  ExpectEachStepOnce(experiment, 400);
  const auto explained = cluster_.Explain(experiment);
  ASSERT_EQ(explained.attempts_size(), 2);
  EXPECT_EQ(explained.attempts(0).cause(), v1::CAUSE_PREEMPTED);
  EXPECT_NE(explained.attempts(0).message().find("drained by ann: new disk"), std::string::npos)
      << explained.attempts(0).message();
  EXPECT_EQ(explained.attempts(1).resumed_step(), 250u);
  EXPECT_NE(WorkerOf(experiment, 0), drained);
  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  EXPECT_TRUE(Await([&] { return SummaryOf(drained).state() == "drained"; }));
  EXPECT_TRUE(Mark(drained, false).changed());
  EXPECT_TRUE(Await([&] { return SummaryOf(drained).state() == "idle"; }));
}

TEST_F(DrainsTest, AWorkerWhoseTrainerAlwaysCrashesIsQuarantinedAndTheRestFinishesElsewhere) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("broken", {}, {{"FAKE_CRASH", "1"}});
  cluster_.StartWorker("good");
  ASSERT_TRUE(cluster_.AwaitWorkers(2));
  const uint64_t experiment =
      cluster_.Submit(Training(20, "step_ms=60 checkpoint_every=5")
                          .Set("retries.max", "3")
                          .Sweep("seed", {"1", "2", "3", "4", "5", "6", "7", "8"})
                          .spec());
  ASSERT_TRUE(cluster_.AwaitEnd(experiment, kLong));
  const v1::ExperimentSummary ended = cluster_.Experiment(experiment);
  EXPECT_EQ(ended.state(), v1::EXPERIMENT_FINISHED);
  EXPECT_EQ(ended.finished(), 8u);
  const v1::WorkerSummary broken = SummaryOf("broken");
  EXPECT_EQ(broken.state(), "quarantined");
  EXPECT_NE(broken.mark().find("crashed here"), std::string::npos) << broken.mark();
}

}  // namespace
}  // namespace dt
