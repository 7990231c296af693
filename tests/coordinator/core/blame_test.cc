// blame_test.cc: evidence that a worker is at fault, and evidence that refutes it.
#include "coordinator/core/facts/blame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

class BlameTest : public testing::Test {
 protected:
  BlameTest() { state_.experiments[7].id = 7; }

  struct Where {
    std::string worker;
    std::string host;
  };
  // Adds an attempt of the trial that crashed on these workers; the first one was decisive.
  AttemptId Crash(uint32_t trial, const std::vector<Where>& gang, const std::string& message) {
    Attempt& attempt = Add(trial, gang);
    attempt.cause = v1::CAUSE_TRAINER_CRASH;
    attempt.message = message;
    const AttemptId id{{7, trial}, static_cast<uint32_t>(TrialAt(trial).attempts.size())};
    state_.streaks[gang.front().worker].ends.push_back({id, experiment().attempts});
    return id;
  }
  // Adds an attempt that a worker ended by a fault that it reports itself.
  AttemptId Fault(uint32_t trial, const Where& where, const std::string& message) {
    const AttemptId id = Crash(trial, {where}, message);
    TrialAt(trial).attempts.back().cause = v1::CAUSE_WORKER_FAULT;
    return id;
  }
  void GoesOn(uint32_t trial, const std::vector<Where>& gang) {
    Attempt& attempt = Add(trial, gang);
    attempt.progressed = true;
    experiment().newest_progress = attempt.ordinal;
    for (const Where& member : gang) state_.streaks.erase(member.worker);
  }
  std::vector<AttemptId> ProvedAt(const std::string& worker) {
    return Proved(state_, worker, state_.streaks[worker].ends);
  }
  Experiment& experiment() { return state_.experiments.at(7); }

  DurableState state_;

 private:
  Trial& TrialAt(uint32_t trial) {
    if (experiment().trials.size() < trial) experiment().trials.resize(trial);
    return experiment().trials[trial - 1];
  }
  Attempt& Add(uint32_t trial, const std::vector<Where>& gang) {
    Attempt& attempt = TrialAt(trial).attempts.emplace_back();
    attempt.state = AttemptState::kEnded;
    attempt.cause = v1::CAUSE_FINISHED;
    attempt.deciding_rank = 0;
    attempt.ordinal = ++experiment().attempts;
    for (const Where& member : gang) {
      attempt.members.push_back({.worker = member.worker, .host = member.host});
    }
    return attempt;
  }
};

TEST_F(BlameTest, ACrashAloneProvesNothing) {
  GoesOn(9, {{"b", "host-b"}});
  Crash(1, {{"a", "host-a"}}, "x");
  EXPECT_TRUE(ProvedAt("a").empty()) << "the trial that progressed began before";
}

TEST_F(BlameTest, ALaterAttemptOfTheExperimentThatGetsOnElsewhereProvesIt) {
  const AttemptId crash = Crash(1, {{"a", "host-a"}}, "x");
  GoesOn(2, {{"b", "host-b"}});
  EXPECT_EQ(ProvedAt("a"), std::vector<AttemptId>{crash});
}

TEST_F(BlameTest, ACrashOfTheSameTrialElsewhereRefutesIt) {
  const AttemptId crash = Crash(1, {{"a", "host-a"}}, "x");
  GoesOn(2, {{"b", "host-b"}});
  Crash(1, {{"b", "host-b"}}, "something else");
  EXPECT_TRUE(ProvedAt("a").empty());
  EXPECT_TRUE(NotRefuted(state_, "a", {crash}).empty());
}

TEST_F(BlameTest, ACrashOnTheSameHostRefutesNothingIfOtherHostsAreKnown) {
  const AttemptId crash = Crash(1, {{"a", "host-a"}}, "x");
  Crash(1, {{"a2", "host-a"}}, "x");
  EXPECT_TRUE(NotRefuted(state_, "a", {crash}).empty()) << "one host alone is known";
  GoesOn(2, {{"b", "host-b"}});
  EXPECT_EQ(ProvedAt("a"), std::vector<AttemptId>{crash}) << "the host may be broken";
}

TEST_F(BlameTest, TheSameErrorOnAWorkerThatGotOnSinceRefutesIt) {
  Crash(1, {{"a", "host-a"}}, "the program exited with status 1; its last line: bad lr 0.1");
  Crash(2, {{"b", "host-b"}}, "the program exited with status 1; its last line: bad lr 0.7");
  GoesOn(3, {{"c", "host-c"}});
  EXPECT_EQ(ProvedAt("a").size(), 1u) << "b may be broken in the same way";
  GoesOn(4, {{"b", "host-b"}});
  EXPECT_TRUE(ProvedAt("a").empty());
}

TEST_F(BlameTest, ForAGangOnlyTheSameTrialElsewhereIsProof) {
  const AttemptId crash = Crash(1, {{"a", "host-a"}, {"b", "host-b"}}, "x");
  GoesOn(2, {{"c", "host-c"}, {"d", "host-d"}});
  EXPECT_TRUE(ProvedAt("a").empty());
  GoesOn(1, {{"b", "host-b"}, {"c", "host-c"}});
  EXPECT_EQ(ProvedAt("a"), std::vector<AttemptId>{crash});
}

TEST_F(BlameTest, AFaultThatTheWorkerReportsNeedsNoProof) {
  const AttemptId fault = Fault(1, {"a", "host-a"}, "its run folder is full");
  EXPECT_EQ(ProvedAt("a"), std::vector<AttemptId>{fault});
}

TEST_F(BlameTest, TheSameFaultOnAnotherHostRefutesIt) {
  const AttemptId fault = Fault(1, {"a", "host-a"}, "the index failed after 3 tries in 11.4s");
  Fault(2, {"b", "host-b"}, "its run folder is full");
  EXPECT_EQ(ProvedAt("a"), std::vector<AttemptId>{fault}) << "another fault";
  Fault(3, {"a2", "host-a"}, "the index failed after 3 tries in 9.0s");
  EXPECT_EQ(ProvedAt("a"), std::vector<AttemptId>{fault}) << "the host may have no network";
  Fault(4, {"b", "host-b"}, "the index failed after 3 tries in 7.3s");
  EXPECT_TRUE(ProvedAt("a").empty());
  EXPECT_TRUE(NotRefuted(state_, "a", {fault}).empty());
}

TEST_F(BlameTest, TheSameFaultOnAnotherSlotRefutesItWhileOneHostIsKnown) {
  const AttemptId fault = Fault(1, {"a", "host-a"}, "the index failed");
  Fault(2, {"a2", "host-a"}, "the index failed");
  EXPECT_TRUE(ProvedAt("a").empty());
  GoesOn(3, {{"b", "host-b"}});
  EXPECT_EQ(ProvedAt("a"), std::vector<AttemptId>{fault});
}

TEST_F(BlameTest, AFirstQuarantineNeedsSeveralEndsOfSeveralTrials) {
  const std::vector<AttemptId> one_trial = {{{7, 1}, 1}, {{7, 1}, 2}, {{7, 1}, 3}};
  const std::vector<AttemptId> two_trials = {{{7, 1}, 1}, {{7, 1}, 2}, {{7, 2}, 1}};
  EXPECT_FALSE(Suffice(one_trial, PriorQuarantine::kNever));
  EXPECT_TRUE(Suffice(two_trials, PriorQuarantine::kNever));
  EXPECT_TRUE(Suffice({two_trials.front()}, PriorQuarantine::kQuarantined));
  EXPECT_FALSE(Suffice({}, PriorQuarantine::kQuarantined));
}

}  // namespace
}  // namespace dt
