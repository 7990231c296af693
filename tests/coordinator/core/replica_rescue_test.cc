// replica_rescue_test.cc: ranks that hold a replica together save it before their attempt ends.
#include "tests/coordinator/core/rescue_fixture.h"

namespace dt {
namespace {

// Ranks 0 and 1 (workers a, b) hold one replica of the state, and ranks 2 and 3 (c, d) another.
class ReplicaRescueTest : public RescueTest {
 protected:
  TrialId TrainFour(uint64_t step) {
    v1::ExperimentSpec spec = OnSlots(4);
    spec.mutable_base()->mutable_parallel()->set_strategy("hsdp");
    spec.mutable_base()->mutable_parallel()->set_shard(2);
    return TrainOn({"a", "b", "c", "d"}, step, std::move(spec));
  }
};

TEST_F(ReplicaRescueTest, TheRanksOfAReplicaSaveItTogether) {
  const TrialId id = TrainFour(8);
  Die("b");
  ASSERT_TRUE(IsOpen(id));
  Hold("c", 8, 0, "10.0.0.3:1");
  EXPECT_FALSE(IsToSave("c")) << "rank 3 may hold another step";
  Hold("d", 8);
  for (const char* name : {"c", "d"}) {
    ASSERT_TRUE(IsToSave(name)) << name;
    EXPECT_EQ(AssignedTo(name)->meet_at(), "10.0.0.3:1");
  }
  EXPECT_FALSE(IsToSave("a")) << "a part of its replica is lost";
  SendItems("d", {Ended("d", v1::CAUSE_COLLECTIVE)});
  EXPECT_TRUE(IsOpen(id)) << "it gave its part, and the first rank still writes";
  SendItems("c", {Rescued(Checkpoint("c", 8))});
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
}

TEST_F(ReplicaRescueTest, NobodyWaitsIfEachReplicaHasLostARank) {
  const TrialId id = TrainFour(8);
  Die("b");
  EXPECT_TRUE(IsOpen(id));
  Die("d");
  EXPECT_FALSE(IsOpen(id));
}

TEST_F(ReplicaRescueTest, PartsOfTwoStepsAreNoState) {
  const TrialId id = TrainFour(8);
  Die("a");
  Hold("c", 8, 0, "10.0.0.3:1");
  Hold("d", 9);
  EXPECT_FALSE(IsOpen(id));
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
}

TEST_F(ReplicaRescueTest, TheMostAdvancedCompleteReplicaIsSaved) {
  const TrialId id = TrainFour(8);
  Hold("a", 8, 0, "10.0.0.1:1");
  Hold("b", 8);
  Hold("c", 9, 0, "10.0.0.3:1");
  Hold("d", 9);
  EXPECT_TRUE(IsOpen(id));
  EXPECT_FALSE(IsToSave("a"));
  EXPECT_TRUE(IsToSave("c"));
  EXPECT_TRUE(IsToSave("d"));
}

TEST_F(ReplicaRescueTest, TheOtherReplicaSavesIfTheFirstOneLosesARank) {
  const TrialId id = TrainFour(8);
  Hold("a", 8, 0, "10.0.0.1:1");
  Hold("b", 8);
  Hold("c", 8, 0, "10.0.0.3:1");
  Hold("d", 8);
  ASSERT_TRUE(IsToSave("a"));
  Die("b");
  EXPECT_TRUE(IsToSave("a")) << "its part may be there already";
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  ASSERT_TRUE(IsToSave("c"));
  EXPECT_TRUE(IsToSave("d"));
  SendItems("c", {Rescued(Checkpoint("c", 8))});
  EXPECT_FALSE(IsOpen(id));
}

TEST_F(ReplicaRescueTest, ACoordinatorThatWasKilledLearnsThatAReplicaIsBeingSaved) {
  const TrialId id = TrainFour(8);
  Die("b");
  Hold("a", 8, 0, "10.0.0.1:1");
  Hold("c", 8, 0, "10.0.0.3:1");
  Hold("d", 8);
  ASSERT_TRUE(IsToSave("c"));
  RestartCoordinator();
  for (const char* name : {"c", "d"}) {
    for (auto& [token, status] : workers_.at(name).holding) status.set_saves(true);
  }
  Connect("c");
  ComeBackWithout("d");  // its part is with rank 2
  ComeBackWithout("b");
  Connect("a");
  EXPECT_TRUE(IsToSave("c"));
  SendItems("c", {Rescued(Checkpoint("c", 8))});
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
}

TEST_F(ReplicaRescueTest, UnequalPartsOfTheSamePlaceAreNotSaved) {
  const TrialId id = TrainFour(8);
  Hold("a", 8, 1, "10.0.0.1:1");
  Hold("b", 8, 2);
  Hold("c", 8, 1, "10.0.0.3:1");
  Hold("d", 8, 3);
  EXPECT_FALSE(IsOpen(id));
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
}

}  // namespace
}  // namespace dt
