// apart_test.cc: hosts that could not reach each other are not used together while others are free.
#include "coordinator/core/place/apart.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

class ApartTest : public AttemptTest {
 protected:
  // Makes the gang stand still although all its workers report.
  void Hang(TrialId id) {
    Advance(limits::kHangFloor + absl::Milliseconds(100));  // less than the backoff of a retry
    EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
  }
  void LeaveAll() {
    for (auto& [name, worker] : workers_) {
      if (!worker.holding.empty()) Leave(name);
    }
    Advance(absl::Seconds(2));
  }
  std::set<std::string> GangOf(TrialId id) {
    std::set<std::string> names;
    for (const GangMember& member : TrialOf(id).attempts.back().members)
      names.insert(member.worker);
    return names;
  }
  std::string ReasonOf(TrialId id) { return TrialOf(id).attempts.back().reason; }
};

using Names = std::set<std::string>;

TEST_F(ApartTest, TheNextAttemptAvoidsThePairIfAnotherHostIsFreeAndReportsIt) {
  const TrialId id = TrainPair();
  Hang(id);
  AddWorker("c", {.host = "host-c"});
  LeaveAll();
  ASSERT_EQ(AttemptsOf(id), 2u);
  EXPECT_NE(GangOf(id), (Names{"a", "b"}));
  EXPECT_NE(ReasonOf(id).find("to keep apart host-a and host-b, which did not reach each other"),
            std::string::npos)
      << ReasonOf(id);
}

TEST_F(ApartTest, WithoutAnotherHostThePairIsTriedAgainWithAReason) {
  const TrialId id = TrainPair();
  Hang(id);
  LeaveAll();
  ASSERT_EQ(AttemptsOf(id), 2u);
  EXPECT_EQ(GangOf(id), (Names{"a", "b"}));
  EXPECT_NE(ReasonOf(id).find("for want of others"), std::string::npos) << ReasonOf(id);
}

TEST_F(ApartTest, BrokenCollectivesWithoutACauseCountAndACrashDoesNot) {
  const TrialId id = TrainPair();
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  SendItems("b", {Ended("b", v1::CAUSE_TRAINER_CRASH)});
  EXPECT_TRUE(state_.live.apart.empty()) << "the crash says why";
  LeaveAll();
  Train({"a", "b"});
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  SendItems("b", {Ended("b", v1::CAUSE_COLLECTIVE)});
  EXPECT_EQ(state_.live.apart.size(), 1u);
  EXPECT_TRUE(state_.live.apart.contains({"host-a", "host-b"}));
  EXPECT_EQ(AttemptsOf(id), 2u);
}

TEST_F(ApartTest, AStepTogetherAndTimeForgetIt) {
  const TrialId id = TrainPair();
  Hang(id);
  LeaveAll();
  Train({"a", "b"});
  EXPECT_EQ(state_.live.apart.size(), 1u);
  workers_.at("a").holding.begin()->second.set_step(1);
  Heartbeat("a");
  EXPECT_TRUE(state_.live.apart.empty()) << "they reach each other";
  Hang(id);
  AddWorker("c", {.host = "host-c"});
  Pass(limits::kApart + absl::Seconds(1));
  for (const char* name : {"a", "b", "c"}) Heartbeat(name);
  LeaveAll();
  Advance(absl::Seconds(10));
  ASSERT_EQ(AttemptsOf(id), 3u);
  EXPECT_EQ(ReasonOf(id).find("reach"), std::string::npos) << ReasonOf(id);
}

// ---- PlaceApart by itself ----

class PlaceApartTest : public ::testing::Test {
 protected:
  void AddHosts(std::initializer_list<std::pair<const char*, int>> hosts) {
    for (const auto& [host, slots] : hosts) {
      for (int i = 0; i < slots; ++i) {
        const WorkerIndex index = next_++;
        pool_.Add({index, absl::StrCat(host, i), host, "storage"}, SlotUse::kFree);
      }
    }
  }
  Decision Choose(int slots) {
    Demand demand;
    demand.shape.slots = slots;
    return PlaceApart(live_, pool_, demand, now_);
  }
  Names HostsOf(const Decision& decision) {
    Names hosts;
    for (const WorkerIndex worker : decision.gang) hosts.insert(pool_.GetSlot(worker).host);
    return hosts;
  }

  LiveState live_;
  SlotPool pool_;
  WorkerIndex next_ = 0;
  absl::Duration now_ = absl::Seconds(1000);
};

TEST_F(PlaceApartTest, NothingRememberedChangesNothing) {
  AddHosts({{"a", 2}, {"b", 1}, {"c", 1}});
  const Decision apart = Choose(3);
  Demand demand;
  demand.shape.slots = 3;
  const Decision plain = Place(pool_, demand);
  EXPECT_EQ(apart.gang, plain.gang);
  EXPECT_EQ(apart.reason, plain.reason);
}

TEST_F(PlaceApartTest, SeveralPairsAreAvoidedAtOnceAndAGangIsNeverSmaller) {
  AddHosts({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}});
  live_.apart[{"a", "b"}] = live_.apart[{"a", "c"}] = live_.apart[{"b", "c"}] = now_;
  const Decision two = Choose(2);
  ASSERT_EQ(two.gang.size(), 2u);
  EXPECT_TRUE(HostsOf(two).contains("d")) << "with whom all were well";
  const Decision four = Choose(4);
  EXPECT_EQ(four.gang.size(), 4u) << "rather together than not at all";
  EXPECT_NE(four.reason.find("for want of others"), std::string::npos);
}

TEST_F(PlaceApartTest, ASingleHostIsNoPairAndAnOldFailureIsForgotten) {
  AddHosts({{"a", 2}, {"b", 2}});
  live_.apart[{"a", "b"}] = now_;
  EXPECT_EQ(Choose(2).reason.find("reach"), std::string::npos);
  live_.apart[{"a", "b"}] = now_ - limits::kApart;
  EXPECT_EQ(Choose(4).reason.find("reach"), std::string::npos);
}

}  // namespace
}  // namespace dt
