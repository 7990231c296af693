// storage_test.cc: a trial continues on a worker that sees its newest checkpoint, and waits for
// one, for a limited time.
#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

// Tests with a trial that saved step 10 on `storage-a` and then lost its worker.
class StorageTest : public CoreTest {
 protected:
  StorageTest() {
    AddWorker("a", {.storage = "storage-a"});
    id_ = {Submit(OneTrial()), 1};
    Train({"a"});
    SendItems("a", {Checkpoint("a", 10)});
  }
  // Crashes the trial's trainer, and lets a pair of another experiment take both workers before the
  // backoff is over.
  void CrashAndTakeBothWorkers() {
    AddWorker("b", {.storage = "storage-b"});
    SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
    const ExperimentId other = Submit(OnSlots(2));
    Leave("a");
    ExpectOrders("a", {other, 1}, 0);
    Train({"a", "b"});
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

TEST_F(StorageTest, TheStorageOfAWorkerThatCameBackBusyIsNotAbsent) {
  CrashAndTakeBothWorkers();
  RestartCoordinator();
  Connect("b");
  Advance(absl::Seconds(8));
  ASSERT_NE(Explain(id_).find("which no connected worker sees"), std::string::npos) << Explain(id_);
  Connect("a");
  EXPECT_NE(Explain(id_).find("and the workers that see it are busy"), std::string::npos)
      << Explain(id_);
}

TEST_F(StorageTest, WaitsForABusyWorkerThatSeesItAndLetsOthersPass) {
  CrashAndTakeBothWorkers();
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

TEST_F(StorageTest, GoesOnElsewhereFromTheStartIfNoWorkerSeesItForLong) {
  AddWorker("b", {.storage = "storage-b"});
  Disconnect("a");
  Advance(limits::kClosedPatience + absl::Seconds(1));
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
  Advance(limits::kClosedPatience + limits::kStorageWait + absl::Seconds(1));
  Train({"b"});
  SendItems("b", {Checkpoint("b", 5), Ended("b", v1::CAUSE_TRAINER_CRASH)});
  Leave("b");
  Advance(absl::Seconds(3));
  // Attempt 2 started over: the checkpoint of attempt 1 does not belong to this history.
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

}  // namespace
}  // namespace dt
