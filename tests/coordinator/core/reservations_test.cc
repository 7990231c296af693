// reservations_test.cc: which trials collect slots, and the use of these slots meanwhile.
#include "coordinator/core/place/reservations.h"

#include <gtest/gtest.h>

#include "coordinator/core/keep/pools.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class HoldingTest : public CoreTest {
 protected:
  // Returns whether the newest attempt is lent, as `dtctl describe` shows it.
  bool Lent(TrialId id) {
    v1::ExplainTrialRequest request;
    request.set_experiment(id.experiment);
    request.set_trial(id.trial);
    const auto found = Call<v1::ExplainTrialResponse>(request);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() && found->attempts(found->attempts_size() - 1).lent();
  }
};

TEST_F(HoldingTest, AFreedSlotJoinsTheReservationOfTheFirstInLine) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  const ExperimentId running = Submit(Trials(3));
  for (const char* name : {"a", "b", "c"}) TrainToTheLastStep({name});
  const ExperimentId gang = Submit(OnSlots(3));
  const ExperimentId small = Submit(Trials(2));
  Finish({"a"});
  ASSERT_EQ(state_.live.reservations.size(), 1u);
  EXPECT_EQ(state_.live.reservations[0].slots.free(), 1u);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({gang, 1}).find("needs 3 cpu slots; has reserved 1; it is next"),
            std::string::npos)
      << Explain({gang, 1});
  for (const char* name : {"b", "c"}) Finish({name});
  EXPECT_EQ(GetExperiment(state_.durable, running).finished, 3u);
  ExpectOrders("a", {gang, 1}, 0);
  EXPECT_TRUE(state_.live.reservations.empty());
}

TEST_F(HoldingTest, OthersGoOnWithSlotsThatAreNotReserved) {
  for (const char* name : {"a/0", "a/1"}) AddWorker(name, {.host = "a"});
  for (const char* name : {"b/0", "b/1"}) AddWorker(name, {.host = "b"});
  Submit(Trials(4));
  for (const char* name : {"a/0", "a/1", "b/0", "b/1"}) TrainToTheLastStep({name});
  v1::ExperimentSpec spec = OnSlots(2);
  spec.mutable_base()->mutable_resources()->set_single_node(true);
  const ExperimentId gang = Submit(spec);
  const ExperimentId small = Submit(Trials(2));
  ASSERT_EQ(state_.live.reservations.size(), 1u);
  EXPECT_EQ(state_.live.reservations[0].host, "a");
  Finish({"b/0"});
  ExpectOrders("b/0", {small, 1}, 0);
  Finish({"a/0"});
  EXPECT_EQ(StateOfTrial({small, 2}), v1::TRIAL_PENDING) << "that one is kept";
  Finish({"a/1"});
  ExpectOrders("a/0", {gang, 1}, 0);
}

TEST_F(HoldingTest, ACancelledHolderLeavesItsSlotsToAll) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  Submit(OneTrial());
  TrainToTheLastStep({"a"});
  const ExperimentId gang = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING);
  Cancel(gang);
  ExpectOrders("b", {small, 1}, 0);
}

TEST_F(HoldingTest, ReservedSlotsAreLentIfTheRestIsFarOffAndComeBackInTime) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  const ExperimentId slow = Submit(OneTrial());
  Train({"a"});
  TellPace("a", 1, 60);  // 99 minutes are left
  const ExperimentId gang = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  ExpectOrders("b", {small, 1}, 0);
  EXPECT_TRUE(Lent({small, 1}));
  EXPECT_NE(Explain({gang, 1}).find("has reserved 1, 1 of them lent"), std::string::npos)
      << Explain({gang, 1});
  EXPECT_NE(Explain({small, 1}).find("on slots lent by trial"), std::string::npos)
      << Explain({small, 1});
  Train({"b"});
  SendItems("b", {Checkpoint("b", 5)});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({slow, 1}), v1::TRIAL_FINISHED);
  ASSERT_NE(AssignedTo("b"), nullptr);
  EXPECT_TRUE(AssignedTo("b")->checkpoint_stop());
  EXPECT_EQ(TrialOf({small, 1}).attempts[0].stop_why, v1::StopRequested::RETURNED);
  SendItems("b", {Ended("b", v1::CAUSE_PREEMPTED, 5)});
  Leave("b");
  EXPECT_EQ(StateOfTrial({gang, 1}), v1::TRIAL_STARTING);
  EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING);
  EXPECT_TRUE(TrialOf({small, 1}).attempts[0].uncharged);
}

TEST_F(HoldingTest, SlotsAreLentAndComeBackIfTheRestsTimeIsUnknown) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  Submit(OneTrial());
  const ExperimentId gang = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  ExpectOrders("b", {small, 1}, 0);
  EXPECT_TRUE(Lent({small, 1}));
  Train({"a"});
  Train({"b"});
  Finish({"a"});
  EXPECT_EQ(TrialOf({small, 1}).attempts[0].stop_why, v1::StopRequested::RETURNED);
  SendItems("b", {Ended("b", v1::CAUSE_PREEMPTED)});
  Leave("b");
  ExpectOrders("a", {gang, 1}, 0);
}

// Two slots become free together, and one would have been enough.
TEST_F(HoldingTest, ABorrowerThatLeavesEnoughForTheGangNeedNotReturn) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  const ExperimentId pair = Submit(OnSlots(2));
  Train({"a", "b"});
  TellPace("a", 1, 2);  // little more than three minutes are left: too few for an ordinary loan
  const ExperimentId gang = Submit(OnSlots(2));
  const ExperimentId small = Submit(OneTrial());
  ExpectOrders("c", {small, 1}, 0);
  EXPECT_TRUE(Lent({small, 1}));
  Train({"c"});
  Finish({"a", "b"});
  EXPECT_EQ(StateOfTrial({pair, 1}), v1::TRIAL_FINISHED);
  ExpectOrders("a", {gang, 1}, 0);
  ExpectOrders("b", {gang, 1}, 1);
  EXPECT_FALSE(TrialOf({small, 1}).attempts[0].AskedToStop()) << "the gang has two others";
  EXPECT_FALSE(Lent({small, 1})) << "nothing is reserved any more";
}

TEST_F(HoldingTest, ATrialThatGaveBackThreeTimesBorrowsNoMore) {
  for (const char* name : {"a", "b"}) AddWorker(name);
  ExperimentId slow = Submit(OneTrial());
  ExperimentId gang = Submit(OnSlots(2));
  const ExperimentId small = Submit(Prior(-1, OneTrial()));
  for (int returns = 0; returns <= limits::kLentReturns; ++returns) {
    SCOPED_TRACE(returns);
    ExpectOrders("a", {slow, 1}, 0);
    Train({"a"});
    TellPace("a", 1, 60);
    if (returns == limits::kLentReturns) {
      Advance(absl::Seconds(15));
      EXPECT_EQ(StateOfTrial({small, 1}), v1::TRIAL_PENDING);
      return;
    }
    ExpectOrders("b", {small, 1}, 0);
    Train({"b"});
    slow = Submit(OneTrial());
    const ExperimentId next = Submit(OnSlots(2));
    Finish({"a"});
    SendItems("b", {Ended("b", v1::CAUSE_PREEMPTED, 0)});
    Leave("b");
    ExpectOrders("a", {gang, 1}, 0);
    Train({"a", "b"});
    Cancel(gang);
    Leave("a");
    Leave("b");
    gang = next;
  }
}

TEST(PoolsTest, AmongManyConstraintsThePoolOfAReservationStays) {
  LiveState live;
  const auto labelled = [](int number) {
    Constraint constraint = AnyOf(DeviceKind::kCpu);
    constraint.labels.emplace_back("number", absl::StrCat(number));
    return constraint;
  };
  EnsurePool(live, labelled(0));
  Reservation held;
  held.shape.constraint = labelled(0);
  held.held_until = absl::Seconds(1000);
  live.reservations.push_back(std::move(held));
  for (int number = 1; number <= 2 * static_cast<int>(limits::kConstraints); ++number) {
    EnsurePool(live, labelled(number));
  }
  EXPECT_NE(FindPool(live, labelled(0)), nullptr);
  EXPECT_LE(live.pools.size(), limits::kConstraints);
}

}  // namespace
}  // namespace dt
