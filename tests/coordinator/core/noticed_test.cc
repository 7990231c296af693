// noticed_test.cc: the times that dtctl explain and plan give for noticing a fault.
#include "coordinator/core/answer/noticed.h"

#include <gtest/gtest.h>

#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

class NoticedTest : public AttemptTest {
 protected:
  void Measure(absl::Duration round_trip) {
    for (Worker& worker : state_.live.workers) worker.round_trip = round_trip;
  }
  std::string TextOf(TrialId id) {
    return NoticedText(state_.live, *state_.live.attempts.at(TrialOf(id).attempts.back().token));
  }
};

TEST_F(NoticedTest, TheLongestTimeOfAllMembersCountsAndTheWorkOfTheGang) {
  const TrialId id = TrainPair();
  EXPECT_EQ(TextOf(id),
            "; would be noticed within: a worker that ends 1s, a silent host 10s, a standstill "
            "before its first steps 10m");
  Measure(absl::Milliseconds(1));
  EXPECT_EQ(TextOf(id),
            "; would be noticed within: a worker that ends 1s, a silent host 3s, a standstill "
            "before its first steps 10m");
  state_.live.workers[state_.live.worker_names.at("b")].round_trip = absl::Milliseconds(200);
  EXPECT_NE(TextOf(id).find("a worker that ends 4s, a silent host 4s"), std::string::npos)
      << TextOf(id);
  EXPECT_NE(Explain(id).find(TextOf(id)), std::string::npos) << Explain(id);
}

TEST_F(NoticedTest, AHostIsWaitedForLongerIfNoOtherOneIsHeard) {
  AddWorker("a", {.host = "host-a"});
  AddWorker("b", {.host = "host-a"});
  const TrialId id{Submit(OnSlots(2)), 1};
  Train({"a", "b"});
  Measure(absl::Milliseconds(1));
  EXPECT_NE(TextOf(id).find("a silent host 10s"), std::string::npos) << TextOf(id);
}

TEST_F(NoticedTest, OneNoteOfAPlanHasTheTimesOfTrialsThatHaveShownNothing) {
  v1::Spec spec;
  EXPECT_EQ(NoticedNote(spec),
            "would be noticed within: a worker that ends 1s, a silent host 3s (10s if no other "
            "is heard), a standstill 10s or 20 of its longest steps (10m before its first "
            "ones)");
  spec.add_command("./train");
  EXPECT_NE(NoticedNote(spec).find("timeout.report"), std::string::npos) << NoticedNote(spec);
}

}  // namespace
}  // namespace dt
