// schedule_test.cc: who goes next, and who waits for what.
#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class ScheduleTest : public CoreTest {};

TEST_F(ScheduleTest, FirstComeFirstServed) {
  const ExperimentId first = Submit(Trials(2));
  const ExperimentId second = Submit(OneTrial());
  AddWorker("a");
  ExpectOrders("a", {first, 1}, 0);
  Train({"a"});
  Finish({"a"});
  ExpectOrders("a", {first, 2}, 0);
  Train({"a"});
  Finish({"a"});
  ExpectOrders("a", {second, 1}, 0);
}

TEST_F(ScheduleTest, ALargeGangThatFitsTheFleetIsNotOvertaken) {
  AddWorker("a");
  AddWorker("b");
  const ExperimentId running = Submit(OneTrial());
  const ExperimentId large = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({running, 1}), v1::TRIAL_STARTING);
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_PENDING);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING) << "it must not take the slot";
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_STARTING);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING);
}

TEST_F(ScheduleTest, CancellingTheFirstInLineLetsTheNextOneGo) {
  AddWorker("a");
  AddWorker("b");
  Submit(OneTrial());
  const ExperimentId large = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING) << "behind the large gang";
  Cancel(large);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_STARTING);
}

TEST_F(ScheduleTest, AGangThatALostWorkerMakesTooLargeLetsTheNextOneGo) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  Submit(OnSlots(2));
  const ExperimentId large = Submit(OnSlots(3));
  const ExperimentId small = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING) << "behind the large gang";
  workers_.at("b").draining = true;
  Heartbeat("b");
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_PENDING);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_STARTING);
}

TEST_F(ScheduleTest, AGangThatCouldNeverFitIsPassedOver) {
  AddWorker("a");
  const ExperimentId large = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_PENDING);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_STARTING);
  AddWorker("b");
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_STARTING) << "now it fits";
}

TEST_F(ScheduleTest, DeviceKindsHaveQueuesOfTheirOwn) {
  AddWorker("gpu", {.device = "cuda"});
  const ExperimentId on_cpu = Submit(OneTrial());
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_resources()->set_device("cuda");
  const ExperimentId on_gpu = Submit(spec);
  EXPECT_EQ(StateOfTrial({on_cpu, 1}), v1::TRIAL_PENDING);
  ExpectOrders("gpu", {on_gpu, 1}, 0);
}

TEST_F(ScheduleTest, AnExperimentRunsNoMoreThanItsMaxConcurrent) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  const ExperimentId bounded = Submit(AtMost(1, Trials(3)));
  const ExperimentId other = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({bounded, 1}), v1::TRIAL_STARTING);
  EXPECT_EQ(StateOfTrial({bounded, 2}), v1::TRIAL_PENDING);
  EXPECT_EQ(StateOfTrial({other, 1}), v1::TRIAL_STARTING) << "the next experiment is not held up";
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({bounded, 2}), v1::TRIAL_STARTING);
  EXPECT_EQ(StateOfTrial({bounded, 3}), v1::TRIAL_PENDING);
  EXPECT_EQ(GetExperiment(state_.durable, bounded).active, 1u);
}

TEST_F(ScheduleTest, MaxConcurrentHoldsAfterARestart) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  const ExperimentId bounded = Submit(AtMost(1, Trials(3)));
  RestartCoordinator();
  Connect("a");
  Connect("b");
  Advance(absl::Seconds(5));
  EXPECT_EQ(GetExperiment(state_.durable, bounded).active, 1u);
}

TEST_F(ScheduleTest, ADrainingWorkerGetsNothingNew) {
  AddWorker("a").draining = true;
  Heartbeat("a");
  const ExperimentId id = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  workers_.at("a").draining = false;
  Heartbeat("a");
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_STARTING);
}

TEST_F(ScheduleTest, AWorkerWithoutAStreamGetsNothingNew) {
  AddWorker("a");
  Disconnect("a");
  const ExperimentId id = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  Connect("a");
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_STARTING);
}

TEST_F(ScheduleTest, RanksOfOneHostAreNumberedThere) {
  AddWorker("a/0", {.host = "a"});
  AddWorker("b/0", {.host = "b"});
  AddWorker("b/1", {.host = "b"});
  Submit(OnSlots(3));
  EXPECT_EQ(AssignedTo("b/0")->local_rank(), 0);
  EXPECT_EQ(AssignedTo("b/1")->local_rank(), 1);
  EXPECT_EQ(AssignedTo("a/0")->local_rank(), 0);
}

// A trial that saved step 10 on `storage-a` and then lost its worker.
class StorageTest : public ScheduleTest {
 protected:
  StorageTest() {
    AddWorker("a", {.storage = "storage-a"});
    id_ = {Submit(OneTrial()), 1};
    Train({"a"});
    SendItems("a", {Checkpoint("a", 10)});
  }
  TrialId id_;
};

TEST_F(StorageTest, RankZeroGoesWhereTheCheckpointsStorageIsSeen) {
  AddWorker("0-first-by-name", {.storage = "storage-b"});
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  Leave("a");
  Advance(absl::Seconds(2));
  ExpectOrders("a", id_, 0);
  EXPECT_EQ(AssignedTo("a")->resume().step(), 10u);
}

TEST_F(StorageTest, WaitsForABusyWorkerThatSeesItAndLetsOthersPass) {
  AddWorker("b", {.storage = "storage-b"});
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  const ExperimentId other = Submit(OnSlots(2));
  Leave("a");  // the pair takes both slots before the backoff is over
  ExpectOrders("a", {other, 1}, 0);
  Train({"a", "b"});
  Advance(absl::Seconds(2));
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED)});
  Leave("b");
  EXPECT_EQ(StateOfTrial(id_), v1::TRIAL_PENDING);
  EXPECT_NE(Explain(id_).find("storage storage-a"), std::string::npos) << Explain(id_);
  const ExperimentId later = Submit(OneTrial());
  ExpectOrders("b", {later, 1}, 0);
  Leave("a");
  ExpectOrders("a", id_, 0);
}

TEST_F(StorageTest, GoesOnElsewhereFromTheStartWhenNobodySeesItForLong) {
  AddWorker("b", {.storage = "storage-b"});
  Disconnect("a");
  Advance(limits::kStartupGrace + absl::Seconds(2));
  ASSERT_EQ(StateOfTrial(id_), v1::TRIAL_PENDING);
  EXPECT_NE(Explain(id_).find("no connected worker sees"), std::string::npos) << Explain(id_);
  Advance(limits::kStorageWait);
  ExpectOrders("b", id_, 0);
  EXPECT_FALSE(AssignedTo("b")->has_resume());
  EXPECT_NE(TrialOf(id_).attempts[1].reason.find("starts over: the checkpoint of step 10"),
            std::string::npos)
      << TrialOf(id_).attempts[1].reason;
}

TEST_F(StorageTest, GoesOnElsewhereFromAnOlderCheckpointThatIsSeen) {
  AddWorker("b", {.storage = "storage-b"});
  Disconnect("a");
  Advance(limits::kStartupGrace + limits::kStorageWait + absl::Seconds(3));
  Train({"b"});
  SendItems("b", {Checkpoint("b", 5), Ended("b", v1::CAUSE_TRAINER_CRASH)});
  Leave("b");
  Advance(absl::Seconds(3));
  // Attempt 2 started over: the checkpoint of attempt 1 is not part of this history.
  EXPECT_EQ(AssignedTo("b")->resume().step(), 5u);
}

TEST_F(StorageTest, AWorkerThatComesBackInTimeIsUsed) {
  AddWorker("b", {.storage = "storage-b"});
  Disconnect("a");
  Advance(limits::kStartupGrace + absl::Seconds(5));
  ASSERT_EQ(StateOfTrial(id_), v1::TRIAL_PENDING);
  workers_.at("a").holding.clear();
  Connect("a");
  ExpectOrders("a", id_, 0);
  EXPECT_EQ(AssignedTo("a")->resume().step(), 10u);
}

TEST_F(StorageTest, ARemovedCheckpointIsNotResumedFrom) {
  v1::Item removed = ItemOf("a");
  removed.mutable_checkpoint_removed()->set_storage_id("storage-a");
  removed.mutable_checkpoint_removed()->set_path("1/1/a1/step-10");
  SendItems("a", {removed, Ended("a", v1::CAUSE_TRAINER_CRASH)});
  Leave("a");
  Advance(absl::Seconds(2));
  ExpectOrders("a", id_, 0);
  EXPECT_FALSE(AssignedTo("a")->has_resume());
}

TEST_F(ScheduleTest, ALargeExperimentOnALargeFreeFleetIsPlacedInSteps) {
  constexpr int kWorkers = limits::kPlacementsPerEvent + limits::kPlacementsPerTick + 1;
  for (int i = 0; i < kWorkers; ++i) AddWorker(absl::StrCat("w", i));
  Submit(Trials(kWorkers));
  EXPECT_EQ(state_.live.attempts.size(), static_cast<size_t>(limits::kPlacementsPerEvent));
  EXPECT_LE(NextDeadline(state_), now_.steady) << "a tick is wanted at once";
  Tick();
  EXPECT_EQ(state_.live.attempts.size(), static_cast<size_t>(kWorkers - 1));
  EXPECT_LE(NextDeadline(state_), now_.steady);
  Tick();
  EXPECT_EQ(state_.live.attempts.size(), static_cast<size_t>(kWorkers));
  EXPECT_GT(NextDeadline(state_), now_.steady) << "nothing is left to place";
}

TEST_F(ScheduleTest, TenThousandTrialsOnAThousandWorkersRunThrough) {
  constexpr int kWorkers = 1000;
  for (int i = 0; i < kWorkers; ++i) {
    TestWorker& worker = workers_[absl::StrCat("w", i)];
    worker.hello.set_worker(absl::StrCat("w", i));
    worker.hello.set_instance(static_cast<uint64_t>(i + 1));
    worker.hello.set_device("cpu");
    worker.hello.set_session(1);
    v1::WorkerReport report;
    *report.mutable_hello() = worker.hello;
    ReportReceived received{
        .stream = static_cast<StreamId>(i + 1), .peer = {}, .report = report, .row_totals = {}};
    Step(state_, {.what = received}, now_);
  }
  v1::SubmitRequest request;
  *request.mutable_spec() = Trials(10000);
  ClientCall call{.reply = 1, .request = PrepareSubmission(request, DeviceKind::kCpu, 1)};
  Effects effects = Step(state_, {.what = std::move(call)}, now_);
  size_t finished = 0;
  std::vector<OrdersOut> orders = std::move(effects.orders);
  for (v1::Record& record : effects.records) journal_.push_back(record.SerializeAsString());
  std::map<StreamId, uint64_t> sequence;
  while (!orders.empty()) {
    std::vector<OrdersOut> next;
    for (OrdersOut& out : orders) {
      if (!out.orders.has_attempt() || out.orders.attempt().abandon()) continue;
      ReportReceived received;
      received.stream = out.stream;
      v1::Item item;
      item.set_attempt_token(out.orders.attempt().attempt_token());
      v1::WorkerReport& report = received.report;
      item.mutable_prepared()->set_target_steps(1);
      *report.add_items() = item;
      item.mutable_running();
      *report.add_items() = item;
      item.mutable_ended()->set_cause(v1::CAUSE_FINISHED);
      item.mutable_ended()->set_step(1);
      *report.add_items() = item;
      for (v1::Item& each : *report.mutable_items()) each.set_sequence(++sequence[out.stream]);
      Effects made = Step(state_, {.what = std::move(received)}, now_);
      ++finished;
      for (v1::Record& record : made.records) journal_.push_back(record.SerializeAsString());
      for (OrdersOut& more : made.orders) next.push_back(std::move(more));
    }
    orders = std::move(next);
  }
  EXPECT_EQ(finished, 10000u);
  EXPECT_EQ(GetExperiment(state_.durable, 1).finished, 10000u);
}

}  // namespace
}  // namespace dt
