// silence_test.cc: how long a gang may be silent, by its earlier steps, and the evidence that a
// worker is gone, or is not.
#include "coordinator/core/model/silence.h"

#include <gtest/gtest.h>

#include "coordinator/core/keep/timers.h"
#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(5);

class SilenceTest : public AttemptTest {
 protected:
  v1::AttemptStatus& StatusOf(const std::string& name) {
    return workers_.at(name).holding.begin()->second;
  }
  // Lets the ranks step for so long, by their heartbeats, one second after the other.
  void StepFor(absl::Duration time, absl::Duration step, const std::vector<std::string>& names) {
    const auto each = static_cast<uint64_t>(absl::Seconds(1) / step);
    for (absl::Duration done; done < time; done += absl::Seconds(1)) {
      Pass(absl::Seconds(1));
      step_ += each;
      for (const std::string& name : names) {
        StatusOf(name).set_step(step_);
        Heartbeat(name);
      }
      Tick();
    }
  }
  // Returns an experiment of more steps than any test can report.
  static v1::ExperimentSpec Long() {
    v1::ExperimentSpec spec = OnSlots(2);
    spec.mutable_base()->mutable_train()->set_max_steps(1000000);
    return spec;
  }
  LiveAttempt& Live(TrialId id) {
    return *state_.live.attempts.at(TrialOf(id).attempts.back().token);
  }

  uint64_t step_ = 0;
};

TEST_F(SilenceTest, AGangOfShortStepsThatStandsStillIsHungAfterSeconds) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(5), kStep, {"a", "b"});
  Advance(limits::kHangLeast - absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(absl::Seconds(2));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
}

TEST_F(SilenceTest, TheLongestWorkThatARankAnnouncesIsTheGangs) {
  LiveAttempt& attempt = Live(TrainPair(Long()));
  for (RankState& rank : attempt.ranks) rank.tells_pauses = true;
  EXPECT_EQ(SignsOf(attempt).work, Work::kFirstStep);
  StepFor(absl::Seconds(1), kStep, {"a", "b"});
  EXPECT_EQ(SignsOf(attempt).work, Work::kFirstStep) << "the first step says nothing of the others";
  StepFor(absl::Seconds(1), kStep, {"a", "b"});
  EXPECT_EQ(SignsOf(attempt).work, Work::kSteps) << "it may break as soon as that";
  EXPECT_EQ(SignsOf(attempt).longest_step, kStep);
  StepFor(absl::Seconds(2), kStep, {"a", "b"});
  attempt.ranks[1].evaluation_parts = 3;
  EXPECT_EQ(SignsOf(attempt).work, Work::kEvaluates);
  attempt.ranks[0].pauses = true;
  EXPECT_EQ(SignsOf(attempt).work, Work::kPauses);
  attempt.ranks[0].tells_pauses = false;
  EXPECT_EQ(SignsOf(attempt).work, Work::kUnannounced);
}

TEST_F(SilenceTest, TheLastStepsBeforeAStandstillAreAsShortAsTheOthers) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(5), kStep, {"a", "b"});
  for (const char* name : {"a", "b"}) {  // a made one step since its last heartbeat, b made two
    Pass(absl::Milliseconds(900));
    StatusOf(name).set_step(++step_);
    Heartbeat(name);
  }
  EXPECT_EQ(SignsOf(Live(id)).longest_step, kStep);
  StepFor(absl::Seconds(2), absl::Milliseconds(500), {"a", "b"});
  EXPECT_EQ(SignsOf(Live(id)).longest_step, absl::Milliseconds(900)) << "it went on";
}

TEST_F(SilenceTest, StepsAreAsLongAsTheTrainerMeasuredThem) {
  const TrialId id = TrainPair(Long());
  const auto report = [this](absl::Duration step) {
    Pass(absl::Seconds(1));
    StatusOf("a").set_step(++step_);
    v1::StepRow& row = *StatusOf("a").mutable_latest();
    row.set_step(step_);
    row.set_steps(1);
    row.set_seconds(absl::ToDoubleSeconds(step));
    Heartbeat("a");
  };
  const Worker& peer = *FindWorker(state_.live, "b");
  report(absl::Minutes(1));
  EXPECT_EQ(SignsOf(peer).longest_step, absl::ZeroDuration()) << "the first one is no measure";
  for (int i = 0; i < 5; ++i) report(kStep);
  EXPECT_EQ(SignsOf(peer).longest_step, kStep) << "though a step was reported each second";
  EXPECT_EQ(AliveByItsGang(peer), now_.steady + limits::kSilenceLeast);
  EXPECT_EQ(SignsOf(Live(id)).longest_step, kStep);
  EXPECT_EQ(PatienceOf(SignsOf(Live(id))).progress, limits::kHangLeast);
}

TEST_F(SilenceTest, TheStepAfterASaveIsNotAsLongAsTheSave) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(5), kStep, {"a", "b"});
  StatusOf("a").set_pauses(true);
  Heartbeat("a");
  Advance(absl::Minutes(3));
  StatusOf("a").set_pauses(false);
  StatusOf("a").set_step(++step_);
  Heartbeat("a");
  EXPECT_EQ(SignsOf(Live(id)).longest_step, kStep);
  EXPECT_LE(SignsOf(Live(id)).longest_gap, absl::Seconds(1));
}

TEST_F(SilenceTest, HowLongASaveTakesIsKnownFromTheCheckpoint) {
  const TrialId id = TrainPair(Long());
  v1::Item saved = Checkpoint("a", 5);
  saved.mutable_checkpoint()->set_seconds(7);
  SendItems("a", {saved});
  saved = Checkpoint("a", 6);
  saved.mutable_checkpoint()->set_seconds(3);
  SendItems("a", {saved});
  EXPECT_EQ(SignsOf(Live(id)).longest_save, absl::Seconds(7));
}

TEST_F(SilenceTest, ARankThatSaysThatItSavesIsWaitedForAndStepsAgainAfterwards) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(5), kStep, {"a", "b"});
  StatusOf("a").set_pauses(true);
  Heartbeat("a");
  Advance(limits::kHangFloor / 2);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  StatusOf("a").set_pauses(false);
  Heartbeat("a");
  Advance(limits::kHangLeast - absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING) << "that it ended was a sign";
  Advance(absl::Seconds(3));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
}

TEST_F(SilenceTest, AClosedStreamAndABrokenCollectiveAreALostWorkerAtOnceInEitherOrder) {
  for (const bool stream_first : {true, false}) {
    BeginAnew();
    const TrialId id = TrainPair();
    if (stream_first) Disconnect("b");
    SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
    if (!stream_first) Disconnect("b");
    Advance(limits::kAbandonGrace + absl::Milliseconds(100));
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING) << stream_first;
    EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
    EXPECT_EQ(TrialOf(id).attempts.back().deciding_rank, 1);
    EXPECT_EQ(TrialOf(id).tries.crashes, 0u) << "no fault of the trainer's";
    EXPECT_NE(TrialOf(id).attempts.back().message.find("worker b"), std::string::npos);
  }
}

TEST_F(SilenceTest, TheEvidenceTakesHalfASecondAndAStreamThatIsBackIsNone) {
  const TrialId id = TrainPair();
  Disconnect("b");
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Connect("b");
  Advance(limits::kEvidenceGrace / 2);
  SendItems("b", {Ended("b", v1::CAUSE_OOM)});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_OOM) << "the connection broke for a moment";
}

TEST_F(SilenceTest, AStreamThatClosesAndIsNotBackIsALossAfterASecond) {
  for (const bool comes_back : {false, true}) {
    BeginAnew();
    Advance(limits::kStartupGrace);
    AddWorker("a");
    const TrialId id{Submit(OneTrial()), 1};
    Train({"a"});
    Disconnect("a");
    Advance(limits::kClosedPatience - absl::Milliseconds(10));
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
    if (comes_back) Connect("a");
    Advance(absl::Milliseconds(20));
    EXPECT_EQ(StateOfTrial(id), comes_back ? v1::TRIAL_RUNNING : v1::TRIAL_PENDING);
    if (comes_back) continue;
    EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
    EXPECT_NE(TrialOf(id).attempts.back().message.find("the stream of worker a closed"),
              std::string::npos);
  }
}

TEST_F(SilenceTest, AStreamThatKeepaliveClosedAfterASilenceProvesNoMoreThanTheSilence) {
  Advance(limits::kStartupGrace);
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Pass(absl::Seconds(8));
  Disconnect("a");
  Advance(absl::Milliseconds(1900));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(absl::Milliseconds(200));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
}

// The worker answers the coordinator's pings after `round_trip`.
TEST_F(SilenceTest, AHostThatIsSilentWhileOthersAreHeardIsLostByItsRoundTrip) {
  struct Row {
    std::optional<absl::Duration> round_trip;
    bool others;
    absl::Duration lost;
  };
  const Row rows[] = {
      {absl::Milliseconds(1), true, limits::kSilenceLeast},
      {absl::Milliseconds(250), true, absl::Seconds(5)},
      {absl::Seconds(2), true, limits::kLease},
      {std::nullopt, true, limits::kLease},
      {absl::Milliseconds(1), false, limits::kLease},
  };
  for (const Row& row : rows) {
    BeginAnew();
    Advance(limits::kStartupGrace);
    AddWorker("a", {.host = "host-a"});
    const TrialId id{Submit(OneTrial()), 1};
    Train({"a"});
    if (row.others) AddWorker("b", {.host = "host-b"});
    Worker& silent = state_.live.workers[state_.live.worker_names.at("a")];
    silent.round_trip = row.round_trip;
    ArmLease(state_.live, silent);
    by_stream_.erase(std::exchange(workers_.at("a").stream, 0));  // nothing more arrives
    const absl::Duration last = silent.last_heard;
    while (StateOfTrial(id) == v1::TRIAL_RUNNING) Advance(absl::Milliseconds(100));
    EXPECT_GE(now_.steady - last, row.lost);
    EXPECT_LE(now_.steady - last, row.lost + limits::kHeartbeat);
    EXPECT_EQ(TrialOf(id).attempts[0].cause, v1::CAUSE_WORKER_LOST);
  }
}

// The network of the coordinator fails just after one host is heard for a last time, a heartbeat
// after the other.
TEST_F(SilenceTest, HostsThatFallSilentTogetherWithinAHeartbeatHaveTheirLease) {
  Advance(limits::kStartupGrace);
  AddWorker("a", {.host = "host-a"});
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  AddWorker("b", {.host = "host-b"});
  for (Worker& worker : state_.live.workers) worker.round_trip = absl::Milliseconds(1);
  ArmLease(state_.live, state_.live.workers[state_.live.worker_names.at("a")]);
  const absl::Duration last = now_.steady;
  Pass(limits::kHeartbeat + absl::Milliseconds(300));
  Heartbeat("b");
  for (const char* name : {"a", "b"}) workers_.at(name).stream = 0;  // nothing more arrives
  while (StateOfTrial(id) == v1::TRIAL_RUNNING) Advance(absl::Milliseconds(100));
  EXPECT_GE(now_.steady - last, limits::kLease);
}

TEST_F(SilenceTest, TheRoundTripIsMeasuredByOrdersAndTheReportsThatFollow) {
  AddWorker("a");
  const uint64_t ping = workers_.at("a").orders->ping();
  ASSERT_NE(ping, 0u);
  Pass(absl::Milliseconds(700));
  v1::WorkerReport report;
  report.set_pong(ping);
  report.set_pong_held_us(640'000);
  Send("a", report);
  EXPECT_EQ(FindWorker(state_.live, "a")->round_trip, absl::Milliseconds(60));
  Pass(absl::Seconds(30));
  Send("a", report);
  EXPECT_EQ(FindWorker(state_.live, "a")->round_trip, absl::Milliseconds(60)) << "sent twice";
}

TEST_F(SilenceTest, AWorkerThatIsNotBackYetAfterARestartOfTheCoordinatorIsNotGone) {
  const TrialId id = TrainPair();
  RestartCoordinator();
  Connect("a");
  Follow("a");
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  Advance(absl::Seconds(5));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(SilenceTest, AWorkerThatIsCutOffWhileItsGangStepsIsAliveUpToABound) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(2), kStep, {"a", "b"});
  Disconnect("b");
  StepFor(absl::Seconds(30), kStep, {"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  EXPECT_EQ(AttemptsOf(id), 1u);
  Connect("b");
  StepFor(absl::Seconds(20), kStep, {"a", "b"});
  EXPECT_EQ(AttemptsOf(id), 1u);
  Disconnect("b");
  StepFor(limits::kGangLease + absl::Seconds(2), kStep, {"a"});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST) << "it could not be stopped";
}

TEST_F(SilenceTest, TheLeaseOfACutOffWorkerCountsOnceItsGangStopsStepping) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(2), absl::Milliseconds(900), {"a", "b"});
  Disconnect("b");
  StepFor(absl::Seconds(15), absl::Milliseconds(900), {"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(limits::kLease + absl::Seconds(1));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
}

TEST_F(SilenceTest, RanksThatStepAloneShowNothingOfTheOthers) {
  v1::ExperimentSpec spec = Long();
  spec.mutable_base()->mutable_parallel()->set_strategy("local_sgd");
  const TrialId id = TrainPair(std::move(spec));
  StepFor(absl::Seconds(2), kStep, {"a", "b"});
  Disconnect("b");
  StepFor(limits::kStartupGrace + absl::Seconds(2), kStep, {"a"});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
}

TEST_F(SilenceTest, ACancelledGangIsNotWaitedForByItsSteps) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(2), kStep, {"a", "b"});
  Disconnect("b");
  StepFor(limits::kStartupGrace + absl::Seconds(2), kStep, {"a"});
  Cancel(id.experiment);
  Leave("a");
  Advance(absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
}

}  // namespace
}  // namespace dt
