// preemption_test.cc: which trials are asked to make room, and the consequences.
#include "coordinator/core/place/preemption.h"

#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class YieldingTest : public CoreTest {
 protected:
  bool Asked(TrialId id) { return TrialOf(id).attempts.back().AskedToStop(); }
  void SaveAndLeave(const std::vector<std::string>& gang, uint64_t step) {
    SendItems(gang[0], {Checkpoint(gang[0], step), Ended(gang[0], v1::CAUSE_PREEMPTED, step)});
    for (const std::string& name : gang) Leave(name);
  }
};

TEST_F(YieldingTest, ALargerPriorityMakesAnotherTrialSaveAndResumeAfterwards) {
  AddWorker("a");
  const ExperimentId usual = Submit(OneTrial());
  Train({"a"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  const ExperimentId urgent = Submit(Prior(10, OneTrial()));
  ASSERT_TRUE(Asked({usual, 1}));
  const Attempt& stopped = TrialOf({usual, 1}).attempts[0];
  EXPECT_EQ(stopped.stop_why, v1::StopRequested::PREEMPTED);
  EXPECT_EQ(stopped.stop_for, (TrialId{urgent, 1}));
  EXPECT_EQ(stopped.stop_reason,
            absl::StrCat("makes room for trial ", urgent, "/1 (priority 10 over 0)"));
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
  SaveAndLeave({"a"}, 20);
  ExpectOrders("a", {urgent, 1}, 0);
  EXPECT_TRUE(TrialOf({usual, 1}).attempts[0].uncharged);
  Train({"a"});
  Finish({"a"});
  ExpectOrders("a", {usual, 1}, 0);
  EXPECT_EQ(AssignedTo("a")->resume().step(), 20u);
  EXPECT_EQ(TrialOf({usual, 1}).tries.losses, 0u);
}

TEST_F(YieldingTest, AnEqualPriorityStopsNobody) {
  AddWorker("a");
  const ExperimentId usual = Submit(OneTrial());
  Train({"a"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  Submit(OneTrial());
  EXPECT_FALSE(Asked({usual, 1}));
}

TEST_F(YieldingTest, ATrialThatHasJustBegunIsProtectedForATime) {
  AddWorker("a");
  const ExperimentId usual = Submit(OneTrial());
  Train({"a"});
  Submit(Prior(10, OneTrial()));
  EXPECT_FALSE(Asked({usual, 1}));
  Advance(limits::kProtectFirst - absl::Seconds(2));
  EXPECT_FALSE(Asked({usual, 1}));
  Advance(absl::Seconds(4));
  EXPECT_TRUE(Asked({usual, 1}));
}

TEST_F(YieldingTest, TheOperatorSetsTheProtectionWhichDoublesWithEachStop) {
  constexpr absl::Duration kProtect = absl::Seconds(10);
  state_.live.protection.protect = kProtect;
  AddWorker("a");
  const ExperimentId usual = Submit(OneTrial());
  for (const int times : {1, 2, 4}) {
    Train({"a"});
    const ExperimentId urgent = Submit(Prior(10, OneTrial()));
    Advance(times * kProtect - absl::Seconds(2));
    EXPECT_FALSE(Asked({usual, 1})) << times;
    Advance(absl::Seconds(4));
    ASSERT_TRUE(Asked({usual, 1})) << times;
    SaveAndLeave({"a"}, 20);
    ExpectOrders("a", {urgent, 1}, 0);
    Train({"a"});
    Finish({"a"});
    ExpectOrders("a", {usual, 1}, 0);
  }
}

TEST_F(YieldingTest, TheNewestOfTheLowestPriorityGoFirstAndNoMoreThanAreNeeded) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  const ExperimentId low = Submit(Prior(-5, OneTrial()));
  const ExperimentId older = Submit(OneTrial());
  const ExperimentId newer = Submit(OneTrial());
  for (const char* name : {"a", "b", "c"}) Train({name});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  Submit(Prior(10, OnSlots(2)));
  EXPECT_TRUE(Asked({low, 1}));
  EXPECT_TRUE(Asked({newer, 1}));
  EXPECT_FALSE(Asked({older, 1}));
}

TEST_F(YieldingTest, AFormerBorrowerIsLikeOthersOnceNothingIsReserved) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  Submit(OneTrial());
  const ExperimentId gang = Submit(OnSlots(2));
  const ExperimentId borrower = Submit(OneTrial());
  ExpectOrders("b", {borrower, 1}, 0);
  Cancel(gang);
  AddWorker("c");
  const ExperimentId newest = Submit(OneTrial());
  for (const char* name : {"a", "b", "c"}) Train({name});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  Submit(Prior(10, OneTrial()));
  EXPECT_TRUE(Asked({newest, 1}));
  EXPECT_FALSE(Asked({borrower, 1}));
}

TEST_F(YieldingTest, NoTrialIsStoppedIfThatWouldNotBeEnough) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  const ExperimentId low = Submit(OneTrial());
  const ExperimentId high = Submit(Prior(20, OneTrial()));
  Train({"a"});
  Train({"b"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  Submit(Prior(10, OnSlots(2)));
  EXPECT_FALSE(Asked({low, 1}));
  EXPECT_FALSE(Asked({high, 1}));
}

TEST_F(YieldingTest, FreedSlotsGoToThePreemptorAndNotToItsVictimEvenAfterARestart) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  const ExperimentId low = Submit(Trials(2));
  Train({"a"});
  Train({"b"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  const ExperimentId urgent = Submit(Prior(10, OnSlots(2)));
  ASSERT_TRUE(Asked({low, 1}));
  ASSERT_TRUE(Asked({low, 2}));
  RestartCoordinator();
  Connect("a");
  Connect("b");
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop()) << "the orders are sent again";
  SaveAndLeave({"a"}, 20);
  EXPECT_EQ(StateOfTrial({low, 1}), v1::TRIAL_PENDING) << "its slot is kept for the gang";
  SaveAndLeave({"b"}, 20);
  ExpectOrders("a", {urgent, 1}, 0);
  ExpectOrders("b", {urgent, 1}, 1);
}

TEST_F(YieldingTest, AHostIsClearedForAGangThatWantsOne) {
  for (const char* name : {"a/0", "a/1"}) AddWorker(name, {.host = "a"});
  for (const char* name : {"b/0", "b/1"}) AddWorker(name, {.host = "b"});
  const ExperimentId singles = Submit(Trials(2));
  const ExperimentId pair = Submit(OnSlots(2));
  Train({"a/0"});
  Train({"a/1"});
  Train({"b/0", "b/1"});
  Advance(limits::kProtectFirst + absl::Seconds(1));
  v1::ExperimentSpec spec = Prior(1, OnSlots(2));
  spec.mutable_base()->mutable_resources()->set_single_node(true);
  const ExperimentId urgent = Submit(spec);
  EXPECT_TRUE(Asked({pair, 1})) << "one stop does";
  EXPECT_FALSE(Asked({singles, 1}));
  SaveAndLeave({"b/0", "b/1"}, 10);
  ExpectOrders("b/0", {urgent, 1}, 0);
}

}  // namespace
}  // namespace dt
