// elastic_test.cc: gangs that start smaller, shrink, and grow.
#include "coordinator/core/place/elastic.h"

#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

// Returns an experiment of 100 steps of 8 sequences: one at a time on 1, 2, 4 or 8 slots.
v1::ExperimentSpec Elastic(int least, int gpus, int most, v1::ExperimentSpec spec = OneTrial()) {
  v1::Resources& resources = *spec.mutable_base()->mutable_resources();
  resources.set_gpus(gpus);
  resources.set_min_gpus(least);
  resources.set_max_gpus(most);
  spec.mutable_base()->mutable_train()->set_batch_size(1);
  spec.mutable_base()->mutable_train()->set_global_batch_size(8);
  for (const char* path : {"resources.min_gpus", "resources.max_gpus", "train.batch_size",
                           "train.global_batch_size"}) {
    spec.add_explicit_paths(path);
  }
  return spec;
}

class ElasticTest : public CoreTest {
 protected:
  void AddWorkers(const std::vector<std::string>& names) {
    for (const std::string& name : names) AddWorker(name);
  }
  const Attempt& NewestOf(TrialId id) { return TrialOf(id).attempts.back(); }
  size_t SizeOf(TrialId id) { return NewestOf(id).members.size(); }
  void SaveAndLeave(const std::vector<std::string>& gang, uint64_t step) {
    SendItems(gang[0], {Checkpoint(gang[0], step), Ended(gang[0], v1::CAUSE_PREEMPTED, step)});
    for (const std::string& name : gang) Leave(name);
  }
  // Starts a trial on a and b that has been asked to save, so that it can have c and d as well.
  ExperimentId OneThatGrowsFromTwoToFour() {
    AddWorkers({"a", "b"});
    const ExperimentId id = Submit(Elastic(1, 2, 8));
    Train({"a", "b"});
    AddWorkers({"c", "d"});
    Advance(limits::kProtectFirst + absl::Seconds(1));
    EXPECT_EQ(NewestOf({id, 1}).stop_slots, 4u);
    return id;
  }
};

TEST_F(ElasticTest, ATrialStartsOnTheLargestSizeThatFitsAndTrainsTheSameGlobalBatch) {
  AddWorkers({"a", "b", "c"});
  const ExperimentId id = Submit(Elastic(1, 4, 8));
  ASSERT_EQ(SizeOf({id, 1}), 2u) << "three do not divide the batch";
  const v1::Assigned& assigned = *AssignedTo("a");
  EXPECT_EQ(assigned.world_size(), 2);
  EXPECT_EQ(assigned.spec().resources().gpus(), 2);
  EXPECT_EQ(assigned.spec().train().global_batch_size(), 8);
  EXPECT_EQ(NewestOf({id, 1}).reason, "2 cpu slots on 1 host for want of 4");
  EXPECT_NE(Explain({id, 1}).find("has 2 slots, and may have 1, 2, 4 or 8"), std::string::npos)
      << Explain({id, 1});
}

TEST_F(ElasticTest, ASizeOfOneSlotIsReportedAsOne) {
  AddWorkers({"a"});
  const ExperimentId id = Submit(Elastic(1, 4, 8));
  EXPECT_NE(Explain({id, 1}).find("has 1 slot, and may have 1, 2, 4 or 8"), std::string::npos)
      << Explain({id, 1});
}

TEST_F(ElasticTest, ATrialWaitsForItsLeastSize) {
  AddWorkers({"a", "b", "c"});
  Submit(Trials(2));
  const ExperimentId id = Submit(Elastic(2, 4, 8));
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({id, 1}).find("needs 2 cpu slots; has reserved 1; it is next"),
            std::string::npos)
      << Explain({id, 1});
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(SizeOf({id, 1}), 2u);
}

TEST_F(ElasticTest, AfterALossAGangGoesOnAtOnceWithTheRest) {
  AddWorkers({"a", "b", "c", "d"});
  const ExperimentId id = Submit(Elastic(2, 4, 4));
  Train({"a", "b", "c", "d"});
  SendItems("a", {Checkpoint("a", 20)});
  Disconnect("d");
  Advance(limits::kLease + absl::Seconds(5));
  for (const char* name : {"a", "b", "c"}) Leave(name);
  Advance(absl::Seconds(2));
  EXPECT_EQ(TrialOf({id, 1}).attempts.size(), 2u);
  EXPECT_EQ(SizeOf({id, 1}), 2u);
  EXPECT_EQ(AssignedTo("a")->resume().step(), 20u);
}

TEST_F(ElasticTest, TheGateJudgesTheSizeThatWouldStart) {
  AddWorkers({"a", "b", "c", "d", "e", "f", "g", "h"});
  v1::ExperimentSpec spec = Elastic(2, 4, 4, Trials(3));
  spec.mutable_base()->mutable_resources()->set_max_gpus_total(7);
  const ExperimentId id = Submit(spec);
  EXPECT_EQ(SizeOf({id, 1}), 4u);
  EXPECT_EQ(SizeOf({id, 2}), 2u);
  EXPECT_EQ(StateOfTrial({id, 3}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({id, 3}).find("experiment holds 6 of at most 7 slots"), std::string::npos)
      << Explain({id, 3});
}

TEST_F(ElasticTest, RanksThatShareLayersAreOnOneHostAfterItHasGrown) {
  for (const char* name : {"a/0", "a/1"}) AddWorker(name, {.host = "a"});
  v1::ExperimentSpec spec = Elastic(2, 2, 4);
  spec.mutable_base()->mutable_parallel()->set_tensor(2);
  spec.mutable_base()->mutable_train()->set_global_batch_size(2);
  const ExperimentId id = Submit(spec);
  Train({"a/0", "a/1"});
  AddWorker("b/0", {.host = "b"});
  for (const char* name : {"c/0", "c/1"}) AddWorker(name, {.host = "c"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  ASSERT_EQ(NewestOf({id, 1}).stop_slots, 4u);
  SaveAndLeave({"a/0", "a/1"}, 20);
  ASSERT_EQ(SizeOf({id, 1}), 4u);
  EXPECT_EQ(AssignedTo("c/0")->rank() / 2, AssignedTo("c/1")->rank() / 2);
  // Slots that were held for it and are not needed are free for others.
  ExpectOrders("b/0", {Submit(OneTrial()), 1}, 0);
}

TEST_F(ElasticTest, AGangShrinksSoThatALargerPriorityNeedNotWait) {
  AddWorkers({"a", "b", "c", "d", "e"});
  const ExperimentId id = Submit(Elastic(1, 4, 4));
  const ExperimentId other = Submit(OneTrial());
  Train({"a", "b", "c", "d"});
  Train({"e"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  const ExperimentId urgent = Submit(Prior(10, OnSlots(2)));
  EXPECT_EQ(NewestOf({id, 1}).stop_why, v1::StopRequested::RESIZED);
  EXPECT_EQ(NewestOf({id, 1}).stop_slots, 2u);
  EXPECT_EQ(NewestOf({id, 1}).stop_for, (TrialId{urgent, 1}));
  EXPECT_EQ(NewestOf({id, 1}).stop_reason,
            absl::StrCat("makes room for trial ", urgent,
                         "/1 (priority 10 over 0); goes on with 2 of its 4 slots"));
  EXPECT_FALSE(NewestOf({other, 1}).AskedToStop());
  SaveAndLeave({"a", "b", "c", "d"}, 30);
  EXPECT_EQ(StateOfTrial({urgent, 1}), v1::TRIAL_STARTING);
  EXPECT_EQ(SizeOf({id, 1}), 2u);
  EXPECT_EQ(NewestOf({id, 1}).resume->step(), 30u);
  EXPECT_TRUE(TrialOf({id, 1}).attempts[0].uncharged);
}

TEST_F(ElasticTest, AGangMakesRoomCompletelyIfShrinkingIsNotEnough) {
  AddWorkers({"a", "b", "c", "d"});
  const ExperimentId id = Submit(Elastic(2, 4, 4));
  Train({"a", "b", "c", "d"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  Submit(Prior(10, OnSlots(3)));
  EXPECT_EQ(NewestOf({id, 1}).stop_why, v1::StopRequested::PREEMPTED);
}

TEST_F(ElasticTest, SlotsThatAShrinkingGangKeepsStayReservedAlsoAfterARestart) {
  AddWorkers({"a", "b", "c", "d"});
  const ExperimentId id = Submit(Elastic(1, 4, 4));
  Train({"a", "b", "c", "d"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  const ExperimentId urgent = Submit(Prior(10, OnSlots(2)));
  const ExperimentId rival = Submit(OneTrial());
  ASSERT_EQ(NewestOf({id, 1}).stop_slots, 2u);
  RestartCoordinator();
  for (const char* name : {"a", "b", "c", "d"}) Connect(name);
  SaveAndLeave({"a", "b", "c", "d"}, 30);
  EXPECT_EQ(StateOfTrial({urgent, 1}), v1::TRIAL_STARTING);
  EXPECT_EQ(SizeOf({id, 1}), 2u);
  EXPECT_EQ(StateOfTrial({rival, 1}), v1::TRIAL_PENDING);
}

TEST_F(ElasticTest, ADrainedWorkerLeavesAGangThatGoesOnWithTheRest) {
  AddWorkers({"a", "b", "c", "d"});
  const ExperimentId id = Submit(Elastic(1, 4, 4));
  Train({"a", "b", "c", "d"});
  v1::MarkWorkerRequest request;
  request.set_worker("b");
  request.set_drain(true);
  request.set_who("ann");
  const auto response = Call<v1::MarkWorkerResponse>(request);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->stopping(), 1u);
  EXPECT_EQ(NewestOf({id, 1}).stop_why, v1::StopRequested::RESIZED);
  SaveAndLeave({"a", "b", "c", "d"}, 10);
  EXPECT_EQ(SizeOf({id, 1}), 2u);
  ExpectIdle("b");
  EXPECT_TRUE(TrialOf({id, 1}).attempts[0].uncharged);
}

TEST_F(ElasticTest, AGangGrowsOverIdleSlotsAndTrainsOnWithAllOfThem) {
  AddWorkers({"a", "b"});
  const ExperimentId id = Submit(Elastic(1, 2, 8));
  Train({"a", "b"});
  AddWorkers({"c", "d", "e"});
  Advance(limits::kProtectFirst - absl::Seconds(5));
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop()) << "it is left in peace at first";
  Advance(absl::Seconds(10));
  ASSERT_TRUE(NewestOf({id, 1}).AskedToStop());
  EXPECT_EQ(NewestOf({id, 1}).stop_why, v1::StopRequested::RESIZED);
  EXPECT_EQ(NewestOf({id, 1}).stop_slots, 4u);
  EXPECT_NE(Explain({id, 1}).find("saving: grows from 2 to 4 slots, which nobody wants"),
            std::string::npos)
      << Explain({id, 1});
  SendItems("a", {Checkpoint("a", 30), Ended("a", v1::CAUSE_PREEMPTED, 30)});
  Leave("a");
  EXPECT_EQ(SizeOf({id, 1}), 4u) << "three were idle, and the fourth is there";
  EXPECT_EQ(NewestOf({id, 1}).resume->step(), 30u);
}

TEST_F(ElasticTest, ResizesAreRareAndNeedEnoughTrainingLeft) {
  const ExperimentId id = OneThatGrowsFromTwoToFour();
  SaveAndLeave({"a", "b"}, 30);
  ASSERT_EQ(SizeOf({id, 1}), 4u);
  std::vector<std::string> gang;
  for (const GangMember& member : NewestOf({id, 1}).members) gang.push_back(member.worker);
  Train(gang, 30);
  AddWorkers({"e", "f", "g", "h"});
  Advance(limits::kResizeEvery - absl::Seconds(5));
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop());
  TellPace(gang[0], 40, 9.9);
  Advance(absl::Seconds(30));
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop()) << "under ten minutes are left";
  for (uint64_t step = 41; step < 50; ++step) TellPace(gang[0], step, 30);
  AddWorker("i");  // an event that frees slots
  Advance(absl::Seconds(35));
  EXPECT_EQ(NewestOf({id, 1}).stop_slots, 8u);
}

TEST_F(ElasticTest, TheOperatorSetsTheIdleTimeAndTheTimeBetweenResizes) {
  GangProtection& protection = state_.live.protection;
  protection.protect = absl::Seconds(1);
  protection.grow_after = absl::Seconds(100);
  protection.resize_every = absl::Seconds(200);
  AddWorkers({"a", "b"});
  const ExperimentId id = Submit(Elastic(1, 2, 8));
  Train({"a", "b"});
  AddWorkers({"c", "d"});
  Advance(protection.grow_after - absl::Seconds(2));
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop()) << "slots are not idle for long enough";
  Advance(absl::Seconds(4));
  ASSERT_EQ(NewestOf({id, 1}).stop_slots, 4u);
  SaveAndLeave({"a", "b"}, 30);
  ASSERT_EQ(SizeOf({id, 1}), 4u);
  Train({"a", "b", "c", "d"}, 30);
  AddWorkers({"e", "f", "g", "h"});
  TellPace("a", 40, 3);  // of 100 steps: 180 s are left
  Advance(protection.resize_every + absl::Seconds(10));
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop()) << "too little is left to train";
  for (uint64_t step = 41; step < 50; ++step) TellPace("a", step, 30);
  AddWorker("i");  // an event that frees slots
  Advance(absl::Seconds(5));
  EXPECT_EQ(NewestOf({id, 1}).stop_slots, 8u) << "the others have been idle for long enough";
}

TEST_F(ElasticTest, AGangResizesOnceInTheTimeThatTheOperatorSets) {
  GangProtection& protection = state_.live.protection;
  protection = {absl::Seconds(1), absl::Seconds(1), absl::Seconds(100)};
  AddWorkers({"a", "b"});
  const ExperimentId id = Submit(Elastic(1, 2, 8));
  Train({"a", "b"});
  AddWorkers({"c", "d"});
  Advance(absl::Seconds(3));
  ASSERT_EQ(NewestOf({id, 1}).stop_slots, 4u);
  SaveAndLeave({"a", "b"}, 30);
  Train({"a", "b", "c", "d"}, 30);
  AddWorkers({"e", "f", "g", "h"});
  Advance(protection.resize_every - absl::Seconds(5));
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop());
  Advance(absl::Seconds(8));
  EXPECT_EQ(NewestOf({id, 1}).stop_slots, 8u);
}

TEST_F(ElasticTest, AGangDoesNotGrowOverSlotsThatATrialWaitsFor) {
  AddWorkers({"a", "b"});
  const ExperimentId id = Submit(Elastic(1, 2, 8));
  const ExperimentId gang = Submit(OnSlots(4));
  Train({"a", "b"});
  AddWorkers({"c", "d", "e"});
  ASSERT_EQ(StateOfTrial({gang, 1}), v1::TRIAL_PENDING);
  Advance(limits::kProtectFirst + 2 * limits::kGrowAfter);
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop());
  Cancel(gang);
  Advance(limits::kGrowAfter + absl::Seconds(5));
  EXPECT_TRUE(NewestOf({id, 1}).AskedToStop());
}

TEST_F(ElasticTest, AnotherTrialsNeedComesFirstUntilTheGangHasStarted) {
  const ExperimentId id = OneThatGrowsFromTwoToFour();
  const ExperimentId other = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({other, 1}), v1::TRIAL_STARTING);
  SaveAndLeave({"a", "b"}, 30);
  EXPECT_EQ(SizeOf({id, 1}), 2u);
}

TEST_F(ElasticTest, SlotsAreHeldForALimitedTime) {
  const ExperimentId id = OneThatGrowsFromTwoToFour();
  ASSERT_EQ(state_.live.reservations.size(), 1u);
  EXPECT_TRUE(state_.live.reservations[0].grows);
  Advance(limits::kHoldForResize + absl::Seconds(1));
  EXPECT_TRUE(state_.live.reservations.empty()) << "it is still saving";
  SaveAndLeave({"a", "b"}, 30);
  EXPECT_EQ(SizeOf({id, 1}), 4u) << "they are free all the same";
}

TEST_F(ElasticTest, AGangThatWantsOneHostGrowsOnItsOwn) {
  for (const char* name : {"a/0", "a/1", "a/2", "a/3"}) AddWorker(name, {.host = "a"});
  const ExperimentId first = Submit(OnSlots(2));
  v1::ExperimentSpec spec = Elastic(1, 2, 4);
  spec.mutable_base()->mutable_resources()->set_single_node(true);
  const ExperimentId id = Submit(spec);
  Train({"a/0", "a/1"});
  Train({"a/2", "a/3"});
  for (const char* name : {"b/0", "b/1"}) AddWorker(name, {.host = "b"});
  Advance(limits::kProtectFirst + limits::kGrowAfter + absl::Seconds(5));
  EXPECT_FALSE(NewestOf({id, 1}).AskedToStop()) << "those of another host will not do";
  Finish({"a/0", "a/1"});
  EXPECT_EQ(StateOfTrial({first, 1}), v1::TRIAL_FINISHED);
  Advance(limits::kGrowAfter + absl::Seconds(5));
  EXPECT_EQ(NewestOf({id, 1}).stop_slots, 4u);
}

TEST_F(ElasticTest, AProgramMayHaveAnySizeWithinItsBounds) {
  v1::ExperimentSpec spec = OneTrial();
  spec.clear_explicit_paths();
  for (const char* path :
       {"command", "resources.gpus", "resources.min_gpus", "resources.device", "seed"}) {
    spec.add_explicit_paths(path);
  }
  spec.mutable_base()->add_command("./go");
  spec.mutable_base()->mutable_resources()->set_gpus(4);
  spec.mutable_base()->mutable_resources()->set_min_gpus(2);
  spec.mutable_search()->set_metric("accuracy");
  AddWorkers({"a", "b", "c"});
  const ExperimentId id = Submit(spec);
  EXPECT_EQ(SizeOf({id, 1}), 3u);
}

}  // namespace
}  // namespace dt
