// schedule_test.cc: which trial starts next, and the reasons for waits.
#include "coordinator/core/run/schedule.h"

#include <gtest/gtest.h>

#include "common/worker_level.h"
#include "coordinator/core/keep/queue.h"
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
  TrainToTheLastStep({"a"});
  const ExperimentId large = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({running, 1}), v1::TRIAL_RUNNING);
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_PENDING);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING) << "it must not take the slot";
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({large, 1}), v1::TRIAL_STARTING);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING);
}

TEST_F(ScheduleTest, CancellingTheFirstInLineLetsTheNextOneGo) {
  AddWorker("a");
  AddWorker("b");
  Submit(OneTrial());
  TrainToTheLastStep({"a"});
  const ExperimentId large = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING) << "behind the large gang";
  Cancel(large);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_STARTING);
}

TEST_F(ScheduleTest, AGangThatALostWorkerMakesTooLargeLetsTheNextOneGo) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  Submit(OnSlots(2));
  TrainToTheLastStep({"a", "b"});
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

v1::ExperimentSpec OfWorkers(const std::string& zone, v1::ExperimentSpec spec) {
  v1::Label& label = *spec.mutable_base()->mutable_resources()->add_labels();
  label.set_key("zone");
  label.set_value(zone);
  return spec;
}

TEST_F(ScheduleTest, ALargerPriorityGoesFirst) {
  const ExperimentId usual = Submit(OneTrial());
  const ExperimentId later = Submit(Prior(-1, OneTrial()));
  const ExperimentId urgent = Submit(Prior(5, OneTrial()));
  AddWorker("a");
  for (const ExperimentId next : {urgent, usual, later}) {
    ExpectOrders("a", {next, 1}, 0);
    Train({"a"});
    Finish({"a"});
  }
}

TEST_F(ScheduleTest, ExperimentsOfOnePriorityShareTheSlots) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) AddWorker(name);
  const ExperimentId first = Submit(Trials(30));
  while (state_.live.placement_due) Tick();
  const ExperimentId second = Submit(Trials(30));
  const ExperimentId third = Submit(Trials(30));
  EXPECT_EQ(SlotsHeld(state_.live, first), 6u) << "it was alone when they were free";
  // As its trials end, each by itself, the other experiments get their share, and keep it.
  for (int round = 0; round < 5; ++round) {
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
      Train({name});
      Finish({name});
      while (state_.live.placement_due) Tick();
    }
    for (const ExperimentId id : {first, second, third}) {
      EXPECT_EQ(SlotsHeld(state_.live, id), 2u) << "experiment " << id << ", round " << round;
    }
  }
}

TEST_F(ScheduleTest, AnExperimentHoldsNoMoreSlotsThanItsMaxGpusTotal) {
  for (const char* name : {"a", "b", "c", "d", "e"}) AddWorker(name);
  v1::ExperimentSpec spec = OnSlots(2, Trials(3));
  spec.mutable_base()->mutable_resources()->set_max_gpus_total(3);
  const ExperimentId bounded = Submit(spec);
  EXPECT_EQ(SlotsHeld(state_.live, bounded), 2u);
  EXPECT_NE(Explain({bounded, 2}).find("experiment holds 2 of at most 3 slots"), std::string::npos)
      << Explain({bounded, 2});
  RestartCoordinator();
  for (const char* name : {"a", "b", "c", "d", "e"}) Connect(name);
  Advance(absl::Seconds(3));
  EXPECT_EQ(SlotsHeld(state_.live, bounded), 2u);
}

TEST_F(ScheduleTest, ATrialOfTheTrainerWaitsForAWorkerThatHasOne) {
  AddWorker("a");
  const auto connect_again = [this](const std::string& no_trainer) {
    Disconnect("a");
    workers_.at("a").hello.set_no_trainer(no_trainer);
    Connect("a");
  };
  connect_again("its dttrain does not find libtorch_cpu.so");
  const ExperimentId trains = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({trains, 1}), v1::TRIAL_PENDING);
  EXPECT_EQ(Explain({trains, 1}),
            "waits: needs 1 cpu slot; worker a has no trainer: its dttrain does not find "
            "libtorch_cpu.so");
  connect_again("");  // LibTorch was installed
  ExpectOrders("a", {trains, 1}, 0);
}

TEST_F(ScheduleTest, AWorkerWithoutATrainerTakesPrograms) {
  AddWorker("a");
  Disconnect("a");
  workers_.at("a").hello.set_no_trainer("reason");
  Connect("a");
  v1::ExperimentSpec runs = OneTrial();
  runs.mutable_base()->set_run("true");
  runs.clear_explicit_paths();
  for (const char* path : {"run", "resources.gpus", "resources.device"}) {
    runs.add_explicit_paths(path);
  }
  ExpectOrders("a", {Submit(runs), 1}, 0);
}

TEST_F(ScheduleTest, AGangNamesItsWorkerWithoutATrainer) {
  AddWorker("a");
  AddWorker("b");
  Disconnect("b");
  workers_.at("b").hello.set_no_trainer("reason");
  Connect("b");
  const ExperimentId pair = Submit(OnSlots(2, OneTrial()));
  EXPECT_EQ(Explain({pair, 1}),
            "waits: needs 2 cpu slots; 1 cpu worker connected, 1 free; worker b has no trainer: "
            "reason");
}

TEST_F(ScheduleTest, ATrialGoesOnlyToWorkersWithItsLabels) {
  AddWorker("a");
  const ExperimentId wants = Submit(OfWorkers("west", OneTrial()));
  EXPECT_EQ(StateOfTrial({wants, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({wants, 1})
                .find("needs 1 cpu slot with label zone=west; 0 such workers "
                      "connected, 0 free; no connected worker has label zone=west"),
            std::string::npos)
      << Explain({wants, 1});
  const ExperimentId other = Submit(OneTrial());
  ExpectOrders("a", {other, 1}, 0);
  TestWorker& west = workers_["b"];
  west.hello = workers_.at("a").hello;
  west.hello.set_worker("b");
  west.hello.set_instance(77);
  v1::Label& zone = *west.hello.add_labels();
  zone.set_key("zone");
  zone.set_value("west");
  Connect("b");
  ExpectOrders("b", {wants, 1}, 0);
}

TEST_F(ScheduleTest, AWorkerOfAnOlderVersionGetsNothingThatItMightNotKnow) {
  AddWorker("old").hello.set_level(0);
  Connect("old");
  const ExperimentId today = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({today, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({today, 1}).find("are of an older version"), std::string::npos)
      << Explain({today, 1});
  const ExperimentId gang = Submit(OnSlots(2, OneTrial()));
  // A worker knows the settings that its own version accepted, but ranks of two versions do not
  // mix.
  for (std::string& text : journal_) {
    v1::Record record;
    ASSERT_TRUE(record.ParseFromString(text));
    if (record.has_experiment_submitted()) record.mutable_experiment_submitted()->clear_level();
    text = record.SerializeAsString();
  }
  RestartCoordinator();
  Connect("old");
  Advance(absl::Seconds(1));
  ExpectOrders("old", {today, 1}, 0);
  Finish({"old"});
  AddWorker("new-1");
  EXPECT_EQ(StateOfTrial({gang, 1}), v1::TRIAL_PENDING);
  AddWorker("new-2");
  EXPECT_EQ(StateOfTrial({gang, 1}), v1::TRIAL_STARTING);
}

TEST_F(ScheduleTest, WorkersThatAStartWaitsForAreNotTakenForOlderOnes) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  const ExperimentId trains = Submit(OnSlots(2, OneTrial()));
  Train({"a", "b"});
  const ExperimentId waits = Submit(OnSlots(2, OneTrial()));
  RestartCoordinator();
  const std::string why = Explain({waits, 1});
  EXPECT_EQ(why,
            absl::StrCat("waits: needs 2 cpu slots; 2 cpu workers connected, 0 free; it is next; ",
                         trains, "/1 has what it needs, and when one ends is not known yet"));
}

TEST_F(ScheduleTest, ATrialGoesOnlyToItsAccelerator) {
  AddWorker("a").hello.set_device_name("NVIDIA H100 80GB HBM3");
  Connect("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_resources()->set_accelerator("A100");
  const ExperimentId elsewhere = Submit(spec);
  EXPECT_EQ(StateOfTrial({elsewhere, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({elsewhere, 1}).find("no connected worker has accelerator a100"),
            std::string::npos)
      << Explain({elsewhere, 1});
  spec.mutable_base()->mutable_resources()->set_accelerator("h100");
  const ExperimentId here = Submit(spec);
  ExpectOrders("a", {here, 1}, 0);
}

TEST_F(ScheduleTest, WaitingTrialsNeedABoundedNumberOfKindsOfWorkers) {
  for (size_t i = 0; i < limits::kConstraints; ++i) {
    ASSERT_TRUE(TrySubmit(OfWorkers(absl::StrCat("zone", i), OneTrial())).ok()) << i;
  }
  const auto one_more = TrySubmit(OfWorkers("another", OneTrial()));
  EXPECT_EQ(one_more.status().code(), absl::StatusCode::kResourceExhausted) << one_more.status();
}

TEST_F(ScheduleTest, AGangThatWantsOneHostWaitsForOne) {
  AddWorker("a/0", {.host = "a"});
  AddWorker("b/0", {.host = "b"});
  v1::ExperimentSpec spec = OnSlots(2);
  spec.mutable_base()->mutable_resources()->set_single_node(true);
  const ExperimentId id = Submit(spec);
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({id, 1}).find("needs 2 cpu slots on one host"), std::string::npos)
      << Explain({id, 1});
  AddWorker("b/1", {.host = "b"});
  ExpectOrders("b/0", {id, 1}, 0);
  ExpectOrders("b/1", {id, 1}, 1);
}

// Returns an experiment on 4 slots whose ranks share layers in pairs.
v1::ExperimentSpec InPairs() {
  v1::ExperimentSpec spec = OnSlots(4);
  spec.mutable_base()->mutable_parallel()->set_tensor(2);
  return spec;
}

TEST_F(ScheduleTest, RanksThatShareLayersAreOnOneHost) {
  for (const char* name : {"a/0", "a/1", "a/2"}) AddWorker(name, {.host = "a"});
  for (const char* name : {"b/0", "b/1", "b/2"}) AddWorker(name, {.host = "b"});
  const ExperimentId id = Submit(InPairs());
  ExpectOrders("a/0", {id, 1}, 0);
  ExpectOrders("a/1", {id, 1}, 1);
  ExpectOrders("b/0", {id, 1}, 2);
  ExpectOrders("b/1", {id, 1}, 3);
}

TEST_F(ScheduleTest, ATrialWhoseRanksCannotShareLayersOnOneHostStartsAndReportsIt) {
  for (const char* name : {"a/0", "a/1", "a/2"}) AddWorker(name, {.host = "a"});
  AddWorker("b/0", {.host = "b"});
  const ExperimentId id = Submit(InPairs());
  ExpectOrders("b/0", {id, 1}, 3);
  EXPECT_EQ(TrialOf({id, 1}).attempts[0].reason,
            "4 cpu slots on 2 hosts; 1 of 2 groups of ranks that share layers (parallel.tensor 2) "
            "is on several hosts, for want of multiples of 2 on each");
  EXPECT_NE(Explain({id, 1}).find("1 of 2 groups of ranks that share layers (parallel.tensor 2) is "
                                  "on several hosts"),
            std::string::npos)
      << Explain({id, 1});
}

TEST_F(ScheduleTest, EachTrialIsPlacedByItsOwnNumberOfRanksThatShareLayers) {
  for (const char* name : {"a/0", "a/1", "a/2"}) AddWorker(name, {.host = "a"});
  for (const char* name : {"b/0", "b/1", "b/2"}) AddWorker(name, {.host = "b"});
  const ExperimentId id =
      Submit(AtMost(1, Sweep(OnSlots(4), "parallel.tensor", {IntegerValue(1), IntegerValue(2)})));
  ExpectOrders("a/2", {id, 1}, 2);
  const std::vector<std::string> gang = {"a/0", "a/1", "a/2", "b/0"};
  Train(gang);
  Finish(gang);
  ExpectOrders("a/1", {id, 2}, 1);
  ExpectOrders("b/1", {id, 2}, 2);  // b/0 has not been left when four are free
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
#ifdef DTRAIN_SANITIZE
  constexpr int kWorkers = 100;  // with sanitizers a thousand take minutes
#else
  constexpr int kWorkers = 1000;
#endif
  constexpr int kTrials = 10 * kWorkers;
  for (int i = 0; i < kWorkers; ++i) {
    TestWorker& worker = workers_[absl::StrCat("w", i)];
    worker.hello.set_worker(absl::StrCat("w", i));
    worker.hello.set_instance(static_cast<uint64_t>(i) + 1);
    worker.hello.set_device("cpu");
    worker.hello.set_level(kWorkerLevel);
    worker.hello.set_session(1);
    v1::WorkerReport report;
    *report.mutable_hello() = worker.hello;
    ReportReceived received{
        .stream = static_cast<StreamId>(i + 1), .peer = {}, .report = report, .row_totals = {}};
    Step(state_, {.what = received}, now_);
  }
  v1::SubmitRequest request;
  *request.mutable_spec() = Trials(kTrials);
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
  EXPECT_EQ(finished, size_t{kTrials});
  EXPECT_EQ(GetExperiment(state_.durable, 1).finished, uint64_t{kTrials});
}

}  // namespace
}  // namespace dt
