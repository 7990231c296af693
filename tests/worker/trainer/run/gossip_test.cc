// gossip_test.cc: ranks that step alone, and average with one peer after each step and with all
// ranks every few steps: their losses and traffic, when they wait, and every way to end. With real
// processes.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "plan/strategies.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class GossipTest : public AttemptTest {
 protected:
  // New processes: some are held up, and their CPU time is read.
  GossipTest() { BeginProcesses(); }
  static nlohmann::json Gossip(int sync_every, nlohmann::json spec) {
    spec["parallel"]["strategy"] = "gossip";
    spec["parallel"]["sync_every"] = std::to_string(sync_every);
    return spec;
  }
  static nlohmann::json Spec(int steps) {
    nlohmann::json spec = StepsOfSequences(steps, 16, 4);
    spec["checkpoint"]["keep_latest"] = 100;
    return spec;
  }
};

// Returns the clock ticks for which a process has computed.
int64_t TicksOf(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  int64_t user = 0, system = 0;
  fields >> user >> system;
  return user + system;
}

TEST_F(GossipTest, LossesFallAndStayNearThoseOfDataParallelRanks) {
  nlohmann::json spec = Spec(40);
  spec["optimizer"]["lr"] = 6e-3;
  for (const int ranks : {2, 4}) {
    const Told ddp = TrainerGang(ranks).Run(Start(spec));
    ExpectFinished(ddp);
    const double fall = ddp.Losses().front() - ddp.Losses().back();
    ASSERT_GT(fall, 1);
    const Told told = TrainerGang(ranks).Run(Start(Gossip(8, spec)));
    ExpectFinished(told);
    EXPECT_NEAR(told.Losses().front(), ddp.Losses().front(), 1e-5) << "no step has been taken";
    EXPECT_NE(told.Losses().back(), ddp.Losses().back());
    const double apart = LargestDifference(ddp.Losses(), told.Losses());
    std::printf("%d ranks: losses fell by %.3f, at most %.3f apart; in the end %.4f and %.4f\n",
                ranks, fall, apart, ddp.evals.back().loss, told.evals.back().loss);
    // Each rank steps with a half or a quarter of the batch. Differences of 0.12 and 0.26 were
    // measured, also at the end, as with local_sgd.
    const double allowed = (ranks == 2 ? 0.25 : 0.4) * fall;
    EXPECT_LE(apart, allowed) << ranks;
    EXPECT_NEAR(told.evals.back().loss, ddp.evals.back().loss, allowed) << ranks;
  }
}

TEST_F(GossipTest, SendsTheBytesThatTheFormulaSaysAndRanksAreEqualAfterASync) {
  constexpr int kEvery = 4, kPeriods = 3;
  for (const int ranks : {2, 4}) {
    nlohmann::json spec = Gossip(kEvery, Spec(kEvery * kPeriods));
    // Parameters are compared after each sync: ranks that differ would end the attempt.
    spec["train"]["hash_every"] = 1;
    for (const int logged_every : {1, kEvery}) {
      spec["logging"] = {{"every", std::to_string(logged_every)}};
      const Told told = TrainerGang(ranks).Run(Start(spec));
      ExpectFinished(told);
      std::map<std::string, double> sent;  // by all steps
      for (const nlohmann::json& row : told.rows) {
        for (const auto& [way, bytes] : BytesOf(row)) {
          sent[way] += bytes * row.at("steps").get<double>();
        }
      }
      const double all = 4.0 * static_cast<double>(told.prepared[0].model_parameters);
      EXPECT_EQ(sent.size(), 2u);
      EXPECT_NEAR(sent["send data"], kPeriods * (kEvery - 1) * all, 1) << logged_every;
      EXPECT_NEAR(sent["all_reduce data"], kPeriods * 3 * all, 1) << logged_every;
      plan::ModelSize model;
      model.rows = static_cast<int64_t>(told.prepared[0].model_parameters);
      model.width = 1;
      model.tied_head = true;
      plan::StepSize step;
      step.ranks = ranks;
      step.sync_every = kEvery;
      step.sharing = plan::Sharing::kGossip;
      const double ring = 2.0 * (ranks - 1) / ranks;
      EXPECT_NEAR(plan::WireBytes(model, step) * kEvery * kPeriods,
                  sent["send data"] + ring * sent["all_reduce data"], 1);
    }
  }
}

TEST_F(GossipTest, EventsDueBetweenTwoSyncsWaitForTheNext) {
  nlohmann::json spec = Gossip(4, Spec(10));
  spec["checkpoint"]["every"]["steps"] = "3";
  spec["eval"]["every"] = "6";
  frames::Start start = StoredStart(spec);
  start.validate_at = {5};  // step 2, at which a search compares trials
  const Told told = TrainerGang(2).Run(start);
  ExpectFinished(told);
  EXPECT_EQ(StepsOf(told.checkpoints), (std::vector<uint64_t>{2, 4, 8, 10}))
      << "the first evaluation is the best so far";
  EXPECT_EQ(StepsOf(told.evals), (std::vector<uint64_t>{2, 8, 10}));
}

TEST_F(GossipTest, RanksThatAreNoPowerOfTwoAreRefused) {
  nlohmann::json spec = Gossip(4, Spec(10));
  spec["train"]["global_batch_size"] = "12";
  const Told told = TrainerGang(3).Run(Start(spec));
  for (const size_t rank : {0, 1, 2}) {
    EXPECT_EQ(told.Cause(rank), "config");
    EXPECT_EQ(told.Message(rank),
              "parallel.strategy gossip pairs ranks: the 3 of this attempt are not a power of two");
  }
}

TEST_F(GossipTest, ARankAloneTrainsAsUnderAnyOtherStrategy) {
  const Told one = TrainerGang(1).Run(Start(Spec(6)));
  const Told told = TrainerGang(1).Run(Start(Gossip(4, Spec(6))));
  ExpectFinished(told);
  EXPECT_EQ(told.Losses(), one.Losses());
}

TEST_F(GossipTest, ProcessesStayWarmAndGoOnWithAnyOtherStrategy) {
  TrainerGang gang(2);
  const Told ddp = gang.Run(Start(Spec(6)));
  for (int round = 0; round < 2; ++round) {
    ExpectFinished(gang.Run(Start(Gossip(4, Spec(10)))));
    const Told again = gang.Run(Start(Spec(6)));
    ExpectFinished(again);
    EXPECT_EQ(again.Losses(), ddp.Losses());
  }
}

TEST_F(GossipTest, AStopWithACheckpointSavesAtTheNextSync) {
  for (const bool checkpoint : {true, false}) {
    TrainerGang gang(2);
    const Told told = gang.Run(StoredStart(Gossip(16, Spec(20000))),
                               AfterStep(3, [&](TrainerGang& of) { of.StopAll(checkpoint); }));
    ASSERT_EQ(told.checkpoints.size(), checkpoint ? 1u : 0u);
    if (!checkpoint) {
      ExpectAllStopped(told);
    } else {
      for (const size_t rank : {0, 1}) {
        EXPECT_EQ(told.Cause(rank), "cancelled") << told.Message(rank);
      }
      EXPECT_EQ(told.checkpoints[0].step % 16, 0u);
      EXPECT_EQ(told.EndStep(0), told.checkpoints[0].step);
      EXPECT_EQ(told.EndStep(1), told.checkpoints[0].step);
    }
    ExpectFinished(gang.Run(Start(Gossip(4, Spec(6)))));
  }
}

TEST_F(GossipTest, AKilledRankEndsTheOthersAndTheNextAttemptGoesOnFromASync) {
  for (const int ranks : {2, 4}) {
    ExpectToGoOnAfterADeath(Gossip(5, Spec(30)), ranks, ranks - 1,
                            10 + static_cast<uint32_t>(ranks));
  }
}

TEST_F(GossipTest, AnyStrategyContinuesFromItsCheckpointsAndViceVersa) {
  nlohmann::json plain = Spec(12);
  plain["checkpoint"]["every"]["steps"] = "1";
  frames::Start start = StoredStart(plain);
  const Told ddp = TrainerGang(2).Run(start);
  ExpectFinished(ddp);
  start.attempt = 2;
  start.resume = ResumeOf(ddp.checkpoints[5]);
  start.spec = Resolved(Gossip(4, plain));
  const Told its = TrainerGang(2).Run(start);
  ExpectFinished(its);
  EXPECT_EQ(its.resumed_step, 6u);
  EXPECT_EQ(its.Losses().front(), ddp.Losses()[6]) << "the same parameters";
  ASSERT_EQ(StepsOf(its.checkpoints), (std::vector<uint64_t>{8, 12}));
  for (const char* strategy : {"gossip", "ddp", "zero3", "local_sgd"}) {
    nlohmann::json other = plain;
    other["parallel"]["strategy"] = strategy;
    other["parallel"]["sync_every"] = "4";
    ++start.attempt;
    start.resume = ResumeOf(its.checkpoints[0]);
    start.spec = Resolved(other);
    const Told rest = TrainerGang(2).Run(start);
    ExpectFinished(rest);
    EXPECT_EQ(rest.resumed_step, 8u);
    EXPECT_NEAR(rest.Losses().front(), its.Losses()[2], 1e-5) << "the same parameters";
  }
  // On any number of ranks.
  start.spec = Resolved(Gossip(4, plain));
  for (const int ranks : {1, 4}) {
    ++start.attempt;
    const Told rest = TrainerGang(ranks).Run(start);
    ExpectFinished(rest);
    EXPECT_NEAR(rest.Losses().front(), its.Losses()[2], 1e-5) << ranks;
  }
}

// At a step after which ranks gather their measurements all would wait; there is no such step here.
TEST_F(GossipTest, APeerThatStandsStillHoldsTheOthersUpOnlyWhileItDoes) {
  nlohmann::json spec = Gossip(1 << 28, Spec(1 << 28));
  spec["logging"] = {{"every", std::to_string(1 << 28)}};
  TrainerGang gang(2);
  bool running = false;
  enum class Phase { kTrains, kStill, kTrainsAgain, kOver } phase = Phase::kTrains;
  std::optional<int64_t> begun;
  int64_t before = -1;
  int quiet = 0;
  const auto watch = [&](TrainerGang&, const frames::FromTrainer& frame) {
    running = running || std::holds_alternative<frames::Running>(frame);
  };
  const Told told = gang.Run(Start(spec), watch, [&](const Told&) {
    if (!running) return;
    const int64_t now = TicksOf(gang.rank(0).pid());
    if (!begun) begun = now;
    switch (phase) {
      case Phase::kTrains:
        if (now < *begun + 50) break;
        kill(gang.rank(1).pid(), SIGSTOP);
        phase = Phase::kStill;
        break;
      case Phase::kStill:
        quiet = now == before ? quiet + 1 : 0;
        if (quiet < 5) break;  // a look is a tenth of a second after the last one
        kill(gang.rank(1).pid(), SIGCONT);
        begun = now;
        phase = Phase::kTrainsAgain;
        break;
      case Phase::kTrainsAgain:
        if (now < *begun + 50) break;
        gang.StopAll(/*checkpoint=*/false);
        phase = Phase::kOver;
        break;
      case Phase::kOver:
        break;
    }
    before = now;
  });
  EXPECT_EQ(phase, Phase::kOver) << "it waits, and goes on";
  ExpectAllStopped(told);
  EXPECT_GT(told.EndStep(0), 10u);
  const auto apart = static_cast<int64_t>(told.EndStep(0)) - static_cast<int64_t>(told.EndStep(1));
  EXPECT_LE(std::abs(apart), 5);
  ExpectFinished(gang.Run(Start(Spec(4))));
}

TEST_F(GossipTest, ARankThatWaitsForAPeerThatStandsStillHearsAStop) {
  nlohmann::json spec = Gossip(1 << 28, Spec(1 << 28));
  spec["logging"] = {{"every", std::to_string(1 << 28)}};
  TrainerGang gang(2);
  bool running = false, stopped = false;
  const auto watch = [&](TrainerGang& of, const frames::FromTrainer& frame) {
    if (std::holds_alternative<frames::Running>(frame)) running = true;
    if (!std::holds_alternative<frames::End>(frame)) return;
    of.Stop(1, /*checkpoint=*/false);
    kill(of.rank(1).pid(), SIGCONT);
  };
  const Told told = gang.Run(Start(spec), watch, [&](const Told&) {
    if (!running || std::exchange(stopped, true)) return;
    kill(gang.rank(1).pid(), SIGSTOP);
    gang.Stop(0, /*checkpoint=*/false);
  });
  for (const size_t rank : {0, 1}) EXPECT_EQ(told.Cause(rank), "cancelled") << told.Message(rank);
  ExpectFinished(gang.Run(Start(Gossip(4, Spec(6)))));
}

TEST_F(GossipTest, EvaluationsScoreTasksAndWriteSamples) {
  WriteEndings("hellaswag.jsonl", 20);
  nlohmann::json spec = Spec(8);
  spec["model"]["vocab_size"] = 257;
  spec["model"]["vocab_pad"] = 320;
  spec["data"]["tokenizer"] = "byte";
  spec["eval"]["hellaswag"] = "hellaswag.jsonl";
  spec["eval"]["samples"] = 2;
  spec["eval"]["sample_prompt"] = "To be";
  spec["eval"]["sample_tokens"] = 10;
  spec["optimizer"]["lr"] = kNothing;  // so that ranks have the same weights to the last bit
  const Told one = TrainerGang(1).Run(Start(spec));
  const Told told = TrainerGang(4).Run(Start(Gossip(4, spec)));
  ExpectFinished(one);
  ExpectFinished(told);
  ASSERT_EQ(told.evals.size(), 1u);
  ASSERT_TRUE(one.evals.at(0).hellaswag_acc.has_value());
  EXPECT_EQ(told.evals[0].hellaswag_acc, one.evals[0].hellaswag_acc);
  EXPECT_EQ(told.evals[0].samples, one.evals[0].samples);
  EXPECT_EQ(told.evals[0].samples.size(), 2u);
}

TEST_F(GossipTest, OutOfMemoryIsAnOutcomeOfAllRanks) {
  nlohmann::json spec = Spec(4);
  spec["model"]["n_embd"] = 1536;  // 600 MB of state, and twice 150 MB for a swap
  spec["model"]["n_ff"] = 3072;
  spec["train"]["global_batch_size"] = "8";
  TrainerGang gang(2, {"--threads", "1", "--memory-limit", "960M"});
  const Told told = gang.Run(Start(Gossip(100, spec)));
  EXPECT_TRUE(told.Cause(0) == "oom" || told.Cause(1) == "oom") << told.Message(0);
  for (const size_t rank : {0, 1}) {
    EXPECT_TRUE(told.Cause(rank) == "oom" || told.Cause(rank) == "collective");
  }
}

}  // namespace
}  // namespace dt::testing
