// attempt_test.cc: attempts of real dttrain processes: results that do not depend on how the work
// is cut, exact resumes, and every way to end.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// ---- Equal results ----

TEST_F(AttemptTest, TwoRanksGiveTheLossesOfOneAtTheSameGlobalBatch) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "50";
  spec["train"]["batch_size"] = 8;
  const Told one = TrainerGang(1).Run(Start(spec));
  spec["train"]["batch_size"] = 4;
  const Told two = TrainerGang(2).Run(Start(spec));
  ASSERT_EQ(one.Cause(), "finished");
  ASSERT_EQ(two.Cause(0), "finished");
  EXPECT_EQ(two.Cause(1), "finished");
  ASSERT_EQ(one.rows.size(), 50u);
  EXPECT_LE(LargestDifference(one.Losses(), two.Losses()), 1e-5);
  EXPECT_LE(LargestDifference(one.Column("grad_norm"), two.Column("grad_norm")), 1e-4);
  EXPECT_LT(one.Losses().back(), one.Losses().front() - 0.1) << "it learns";
  EXPECT_EQ(two.prepared.size(), 2u);
  EXPECT_EQ(two.prepared[0].data_fingerprint, two.prepared[1].data_fingerprint);
}

TEST_F(AttemptTest, GlooGivesTheLossesOfSharedMemory) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "20";
  const Told shared = TrainerGang(2).Run(Start(spec));
  const Told gloo = TrainerGang(2, {"--threads", "1", "--all-reduce", "gloo"}).Run(Start(spec));
  ASSERT_EQ(shared.rows.size(), 20u);
  // The halves of two numbers add up to half of their sum, to the bit.
  EXPECT_EQ(gloo.Losses(), shared.Losses());
  EXPECT_EQ(gloo.Column("grad_norm"), shared.Column("grad_norm"));
  EXPECT_EQ(gloo.Column("allreduce_bytes"), shared.Column("allreduce_bytes"));
  EXPECT_EQ(gloo.Column("allreduce_count"), shared.Column("allreduce_count"));
}

TEST_F(AttemptTest, AccumulationGivesTheLossesOfOneLargeBatch) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "20";
  spec["train"]["global_batch_size"] = "16";
  spec["train"]["batch_size"] = 16;
  const Told large = TrainerGang(1).Run(Start(spec));
  spec["train"]["batch_size"] = 4;
  const Told cut = TrainerGang(1).Run(Start(spec));
  const Told cut_and_dealt = TrainerGang(2).Run(Start(spec));
  ASSERT_EQ(large.rows.size(), 20u);
  EXPECT_LE(LargestDifference(large.Losses(), cut.Losses()), 1e-5);
  EXPECT_LE(LargestDifference(large.Losses(), cut_and_dealt.Losses()), 1e-5);
  ASSERT_EQ(cut.evals.size(), 1u);
  ASSERT_EQ(cut_and_dealt.evals.size(), 1u);
  EXPECT_NEAR(cut.evals[0].loss, cut_and_dealt.evals[0].loss, 1e-5);
  EXPECT_GT(cut.evals[0].perplexity_mean, std::exp(cut.evals[0].loss)) << "as Jensen has it";
  EXPECT_NEAR(cut.evals[0].perplexity_mean, cut_and_dealt.evals[0].perplexity_mean, 1e-2);
  EXPECT_EQ(cut_and_dealt.evals[0].tokens, 4 * 4 * 32);
  // Two micro-steps, one communication: each bucket is reduced once.
  EXPECT_EQ(cut_and_dealt.Column("allreduce_bytes").back(),
            4.0 * static_cast<double>(cut_and_dealt.prepared[0].model_parameters));
}

class ResumeTest : public AttemptTest, public ::testing::WithParamInterface<int> {};

TEST_P(ResumeTest, EqualsTheUninterruptedRunBitForBit) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["model"]["dropout"] = 0.1;
  spec["checkpoint"]["every"]["steps"] = "1";
  spec["checkpoint"]["keep_latest"] = 100;
  frames::Start start = StoredStart(spec);
  TrainerGang gang(GetParam());
  const Told whole = gang.Run(start);
  ASSERT_EQ(whole.Cause(), "finished");
  ASSERT_EQ(whole.checkpoints.size(), 12u);
  // The bucket layout changes after the first step; by the seventh it has long settled.
  for (const size_t step : {1, 7}) {
    start.attempt = 1 + static_cast<uint32_t>(step);
    start.resume = ResumeOf(whole.checkpoints.at(step - 1));
    const Told rest = gang.Run(start);
    ASSERT_EQ(rest.Cause(), "finished") << rest.Message();
    EXPECT_EQ(rest.resumed_step, step);
    ASSERT_EQ(rest.rows.size(), 12 - step);
    for (size_t i = 0; i < rest.rows.size(); ++i) {
      EXPECT_EQ(rest.rows[i]["step"], whole.rows[i + step]["step"]);
      EXPECT_EQ(rest.rows[i]["loss"], whole.rows[i + step]["loss"]) << "step " << step + i + 1;
      EXPECT_EQ(rest.rows[i]["grad_norm"], whole.rows[i + step]["grad_norm"]);
    }
    EXPECT_EQ(rest.evals.back().loss, whole.evals.back().loss);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ResumeTest, ::testing::Values(1, 2, 3));

TEST_F(AttemptTest, AnotherNumberOfRanksResumesWithTheSameDataAndNearlyTheSameLosses) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["train"]["global_batch_size"] = "8";
  spec["checkpoint"]["every"]["steps"] = "6";
  spec["checkpoint"]["keep_latest"] = 100;
  frames::Start start = StoredStart(spec);
  const Told whole = TrainerGang(1).Run(start);
  start.attempt = 2;
  start.resume = ResumeOf(whole.checkpoints.at(0));
  const Told rest = TrainerGang(2).Run(start);
  ASSERT_EQ(rest.rows.size(), 6u);
  const std::vector<double> losses = whole.Losses();
  EXPECT_LE(LargestDifference({losses.begin() + 6, losses.end()}, rest.Losses()), 1e-5);
}

TEST_F(AttemptTest, ACheckpointIsStillValidIfTheBatchIsGivenInTokensToo) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["global_batch_size"] = "8";
  spec["checkpoint"]["every"]["steps"] = "4";
  spec["checkpoint"]["keep_latest"] = 100;
  const frames::Start start = StoredStart(spec);
  const Told whole = TrainerGang(1).Run(start);
  spec["train"]["global_batch_tokens"] = "256";  // × 32
  frames::Start again = start;
  again.spec = spec;
  again.attempt = 2;
  again.resume = ResumeOf(whole.checkpoints.at(0));
  EXPECT_EQ(TrainerGang(1).Run(again).resumed_step, 4u);
}

// ---- Measurements ----

TEST_F(AttemptTest, EveryStepReportsItsPhasesAndReducedBytes) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["global_batch_size"] = "16";
  const Told told = TrainerGang(2).Run(Start(spec));
  ASSERT_EQ(told.rows.size(), 8u);
  for (const nlohmann::json& row : told.rows) {
    const auto value = [&](const char* field) { return row.at(field).get<double>(); };
    EXPECT_GT(value("forward_seconds"), 0);
    EXPECT_GT(value("backward_seconds"), 0);
    EXPECT_GT(value("optimizer_seconds"), 0);
    EXPECT_GE(value("comm_exposed_seconds"), 0);
    EXPECT_GT(value("allreduce_seconds"), 0);
    EXPECT_GE(value("allreduce_count"), 2) << "bucket_mb asks for several buckets";
    EXPECT_EQ(value("allreduce_bytes"),
              4.0 * static_cast<double>(told.prepared[0].model_parameters));
    EXPECT_EQ(value("tokens"), 16 * 32);
    EXPECT_EQ(value("steps"), 1);
    EXPECT_GT(value("memory_peak_bytes"), 1 << 20);
  }
  for (const nlohmann::json& row : TrainerGang(1).Run(Start(spec)).rows) {
    double phases = 0;
    for (const char* phase :
         {"data", "forward", "backward", "comm_exposed", "optimizer", "other"}) {
      phases += row.at(phase + std::string("_seconds")).get<double>();
    }
    EXPECT_NEAR(phases, row.at("seconds").get<double>(), 1e-6) << "of one rank they are the step";
  }
}

TEST_F(AttemptTest, ANoiseScaleExistsIfALargerBatchCanBeComparedWithASmallerOne) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "60";
  const auto newest = [](const Told& told) {
    EXPECT_EQ(told.Cause(), "finished") << told.Message();
    return told.rows.back().value("noise_scale_tokens", 0.0);
  };
  EXPECT_EQ(newest(TrainerGang(1).Run(Start(spec))), 0) << "one rank, one micro-step";
  spec["train"]["global_batch_size"] = "16";
  const double ranks = newest(TrainerGang(2).Run(Start(spec)));
  const double micro_steps = newest(TrainerGang(1).Run(Start(spec)));
  // The same gradients, measured as halves and as a quarter: two noisy estimates of one quantity.
  EXPECT_GT(ranks, 0);
  EXPECT_GT(micro_steps, ranks / 4);
  EXPECT_LT(micro_steps, ranks * 4);
}

TEST_F(AttemptTest, AResumeDoesNotChangeTheNoiseScale) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "40";
  spec["train"]["global_batch_size"] = "16";
  spec["checkpoint"] = {{"every", {{"steps", 24}}}, {"keep_latest", 10}};
  frames::Start start = StoredStart(spec);
  TrainerGang gang(2);
  const Told whole = gang.Run(start);
  ASSERT_EQ(whole.Cause(), "finished") << whole.Message();
  start.attempt = 2;
  start.resume = ResumeOf(whole.checkpoints.at(0));
  const Told rest = gang.Run(start);
  ASSERT_EQ(rest.rows.size(), 16u);
  ASSERT_TRUE(rest.rows[0].contains("noise_scale_tokens"));
  for (size_t i = 0; i < rest.rows.size(); ++i) {
    EXPECT_EQ(rest.rows[i].value("noise_scale_tokens", 0.0),
              whole.rows[24 + i].value("noise_scale_tokens", 0.0))
        << whole.rows[24 + i].at("step");
  }
}

TEST_F(AttemptTest, FlopsFollowFromTheTokensAndACpuHasNoPeak) {
  const Told told = TrainerGang(1).Run(Start(SmallSpec()));
  EXPECT_EQ(told.rows.size(), 8u);
  // 6 × (2 × (4 × 32² + 2 × 32 × 64) + 64 × 32) of matrix products, 7 × 32 × 32 × 2 of attention
  for (const nlohmann::json& row : told.rows) {
    EXPECT_EQ(row.at("flops").get<double>(), row.at("tokens").get<double>() * (110592 + 14336));
    EXPECT_FALSE(row.contains("peak_flops"));
  }
}

TEST_F(AttemptTest, RowsCoverTheStepsBetweenThem) {
  nlohmann::json spec = SmallSpec();
  spec["logging"] = {{"every", "3"}};
  const Told told = TrainerGang(1).Run(Start(spec));
  EXPECT_EQ(told.Column("step"), (std::vector<double>{3, 6, 8})) << "the last is always there";
  EXPECT_EQ(told.Column("steps"), (std::vector<double>{3, 3, 2}));
  EXPECT_EQ(told.Column("tokens"), (std::vector<double>{3 * 128, 3 * 128, 2 * 128}));
}

// ---- Checkpoints ----

TEST_F(AttemptTest, ADamagedCheckpointIsSkippedForTheOneBeforeAndThenForTheStart) {
  nlohmann::json spec = SmallSpec();
  spec["checkpoint"] = {{"every", {{"steps", 2}}}, {"keep_latest", 2}, {"keep_best", 0}};
  frames::Start start = StoredStart(spec);
  TrainerGang gang(2);
  const Told told = gang.Run(start);
  ASSERT_GE(told.checkpoints.size(), 2u);
  const auto& last = told.checkpoints.back();
  const auto& before = told.checkpoints[told.checkpoints.size() - 2];
  start.resume = ResumeOf(last);
  start.attempt = 2;
  const std::string file = start.storage + "/" + last.path + "/model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 4);
  const Told rest = gang.Run(start);
  EXPECT_EQ(rest.Cause(0), "finished");
  EXPECT_EQ(rest.Cause(1), "finished");
  EXPECT_EQ(rest.resumed_step, before.step);
  ASSERT_FALSE(rest.rows.empty());
  EXPECT_EQ(rest.Losses().back(), told.Losses().back());

  std::filesystem::remove_all(start.storage + "/7");
  start.attempt = 3;
  const Told anew = gang.Run(start);
  EXPECT_EQ(anew.Cause(0), "finished");
  EXPECT_EQ(anew.resumed_step, 0u);
  EXPECT_EQ(anew.Losses(), told.Losses());
}

// ---- Ends ----

TEST_F(AttemptTest, RunsOutOfMemoryAsAnOutcomeAndTrainsTheNextTrialInTheSameProcess) {
  TrainerGang gang(1, {"--threads", "1", "--memory-limit", "1G"});
  nlohmann::json large = SmallSpec();
  large["train"]["batch_size"] = 500;
  large["model"]["n_ff"] = 50304;  // 3.2 GB of activations for each layer
  const Told first = gang.Run(Start(large));
  EXPECT_EQ(first.Cause(), "oom");
  const std::string told = first.Message();
  EXPECT_NE(told.find("3.00 GiB more do not fit into the 1.00 GiB that --memory-limit allows on "
                      "rank 0 of 1, where `dtctl plan` estimates "),
            std::string::npos)
      << told;
  const Told second = gang.Run(Start(SmallSpec()));
  EXPECT_EQ(second.Cause(), "finished");
  EXPECT_EQ(gang.Run(Start(large)).Cause(), "oom");
  EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
}

TEST_F(AttemptTest, OutOfMemoryNamesTheStageAndThePartThatRanOut) {
  nlohmann::json large = SmallSpec();
  large["train"]["batch_size"] = 500;
  large["model"]["n_ff"] = 50304;  // 1.6 GB of activations for each of two parts
  large["parallel"]["pipeline"] = 2;
  large["parallel"]["tensor"] = 2;
  const Told told = TrainerGang(4, {"--threads", "1", "--memory-limit", "1G"}).Run(Start(large));
  int ran_out = 0;
  for (size_t rank = 0; rank < 4; ++rank) {
    if (told.Cause(rank) != "oom") continue;
    ++ran_out;
    const std::string whose =
        " on rank " + std::to_string(rank) + " of 4 (stage " + std::to_string(rank / 2) +
        " of 2, with 1 micro-batch under way; part " + std::to_string(rank % 2) +
        " of 2 of each layer), where `dtctl plan` estimates ";
    EXPECT_NE(told.Message(rank).find(whose), std::string::npos) << told.Message(rank);
  }
  EXPECT_GE(ran_out, 1) << told.Message(0);
}

TEST_F(AttemptTest, TokensThatOutgrowTheLimitAreOutOfMemoryToo) {
  TrainerGang gang(1, {"--threads", "1", "--memory-limit", "600M"});
  nlohmann::json spec = SmallSpec();
  spec["train"]["batch_size"] = 1 << 20;  // 1 GB of ids, read ahead by a separate thread
  spec["train"]["seq_len"] = 64;
  spec["model"]["n_positions"] = 64;
  const Told told = gang.Run(Start(spec));
  EXPECT_EQ(told.Cause(), "oom");
  EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
}

TEST_F(AttemptTest, ARankOutOfMemoryEndsItsPeersAtOnce) {
  nlohmann::json spec = SmallSpec();
  spec["model"]["n_embd"] = 2048;  // 500 MB of parameters and moments
  spec["model"]["n_ff"] = 4096;
  // Both are short of memory; the first that notices ends the other too.
  TrainerGang gang(2, {"--threads", "1", "--memory-limit", "700M"});
  const Told told = gang.Run(Start(spec));
  EXPECT_TRUE(told.Cause(0) == "oom" || told.Cause(1) == "oom");
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(told.Cause(rank) == "oom" || told.Cause(rank) == "collective");
  }
  gang.AwaitReady();  // a process whose heap stays mapped leaves
  EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
}

TEST_F(AttemptTest, TheCauseIsReportedBeforeAnyPeersSymptom) {
  nlohmann::json spec = SmallSpec();
  spec["model"]["n_embd"] = 2048;  // 500 MB of parameters and moments
  spec["model"]["n_ff"] = 4096;
  TrainerProcess short_of_memory({"--threads", "1", "--memory-limit", "700M"});
  TrainerProcess peer;
  frames::Start start = Start(spec);
  start.world_size = 2;
  start.data_address = "127.0.0.1";
  short_of_memory.Send(start);
  start.rank = 1;
  peer.Send(start);
  const auto end_in = [](const std::vector<frames::FromTrainer>& said) {
    std::optional<frames::End> end;
    for (const frames::FromTrainer& frame : said) {
      if (const auto* found = std::get_if<frames::End>(&frame)) end = *found;
    }
    return end;
  };
  std::optional<frames::End> cause, symptom;
  const auto until = std::chrono::steady_clock::now() + kTrainingPatience;
  while (!symptom && std::chrono::steady_clock::now() < until) {
    pollfd waiting[] = {{peer.fd(), POLLIN, 0}, {cause ? -1 : short_of_memory.fd(), POLLIN, 0}};
    poll(waiting, 2, 100);
    // Read the peer first: the other must have sent its own frames before those.
    symptom = end_in(peer.Receive());
    const std::vector<frames::FromTrainer> said = short_of_memory.Receive();
    if (!cause) cause = end_in(said);
    for (const frames::FromTrainer& frame : said) {
      const auto* store = std::get_if<frames::StoreUp>(&frame);
      if (store != nullptr) peer.Send(frames::Connect{start.token, store->address});
    }
  }
  ASSERT_TRUE(symptom);
  EXPECT_EQ(symptom->cause, "collective");
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->cause, "oom");
}

TEST_F(AttemptTest, ANonFiniteGradientEndsEveryRankBeforeTheParametersSeeIt) {
  nlohmann::json spec = SmallSpec();
  // Tokens that the first batch lacks get 0/0 as their update; a later batch has them.
  spec["optimizer"]["eps"] = kNothing;
  spec["model"]["tie_head"] = false;
  spec["train"]["max_steps"] = "50";
  const Told told = TrainerGang(2).Run(Start(spec));
  EXPECT_EQ(told.Cause(0), "nonfinite");
  EXPECT_EQ(told.Cause(1), "nonfinite");
  EXPECT_EQ(told.EndStep(), told.EndStep(1));
  EXPECT_EQ(told.rows.size(), told.EndStep()) << "the step that failed has no row";
  for (const double norm : told.Column("grad_norm")) EXPECT_TRUE(std::isfinite(norm));
}

TEST_F(AttemptTest, ANonFiniteValidationLossEndsEveryRankAndIsNeverABestCheckpoint) {
  std::vector<uint16_t> seen(4000), unseen(4000, 40);
  for (size_t i = 0; i < seen.size(); ++i) seen[i] = static_cast<uint16_t>(i % 8);
  WriteTokens(folder_, "data/train.bin", seen);
  WriteTokens(folder_, "data/val.bin", unseen);
  nlohmann::json spec = SmallSpec();
  // The embeddings of tokens that no batch has get 0/0 as their update; only validation has these
  // tokens.
  spec["optimizer"]["eps"] = kNothing;
  spec["model"]["tie_head"] = false;
  spec["model"]["bias"] = false;  // a bias of keys has no gradient either
  spec["eval"]["every"] = "3";
  const Told told = TrainerGang(2).Run(StoredStart(spec));
  EXPECT_EQ(told.Cause(0), "nonfinite");
  EXPECT_EQ(told.Cause(1), "nonfinite");
  EXPECT_EQ(told.EndStep(), 3u);
  EXPECT_EQ(told.rows.size(), 3u) << "training itself was finite";
  EXPECT_NE(told.Message().find("validation loss"), std::string::npos);
  EXPECT_TRUE(told.evals.empty());
  EXPECT_TRUE(told.checkpoints.empty());
}

TEST_F(AttemptTest, UnusableDataAndSpecificationsAreDistinguished) {
  TrainerGang gang(1);
  nlohmann::json spec = SmallSpec();
  spec["data"]["train"] = "absent_*.bin";
  EXPECT_EQ(gang.Run(Start(spec)).Cause(), "data");
  spec = SmallSpec();
  spec["model"]["vocab_size"] = 8;  // ids go up to 63
  EXPECT_EQ(gang.Run(Start(spec)).Cause(), "data");
  spec = SmallSpec();
  spec["train"]["global_batch_size"] = "5";
  EXPECT_EQ(gang.Run(Start(spec)).Cause(), "config");
  EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
}

TEST_F(AttemptTest, AStopEndsEveryRankEvenInsideACollective) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1000000";
  TrainerGang gang(2);
  bool stopped = false;
  // Only rank 0 leaves; rank 1 is then inside an all-reduce that nobody joins.
  const Told told = gang.Run(Start(spec), [&](TrainerGang& g, const frames::FromTrainer& frame) {
    if (stopped || !std::holds_alternative<frames::StepDone>(frame)) return;
    stopped = true;
    g.Stop(0, /*checkpoint=*/false);
  });
  EXPECT_EQ(told.Cause(0), "cancelled");
  EXPECT_EQ(told.Cause(1), "collective");
  EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
}

TEST_F(AttemptTest, AStoppedRankLeavesACollectiveThatAHungPeerNeverJoins) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1000000";
  TrainerGang gang(2);
  int steps = 0;
  const Told told = gang.Run(Start(spec), [&](TrainerGang& g, const frames::FromTrainer& frame) {
    if (!std::holds_alternative<frames::StepDone>(frame) || ++steps != 3) return;
    kill(g.rank(1).pid(), SIGSTOP);
    g.Stop(0, /*checkpoint=*/false);
    // The hung rank may notice something only now; rank 0 must have left by itself.
    const auto until = std::chrono::steady_clock::now() + kTrainingPatience;
    bool out = false;
    while (!out && std::chrono::steady_clock::now() < until) {
      pollfd waiting{g.rank(0).fd(), POLLIN, 0};
      poll(&waiting, 1, 100);
      char peeked[65536];
      const ssize_t got = recv(g.rank(0).fd(), peeked, sizeof(peeked), MSG_PEEK | MSG_DONTWAIT);
      out = got > 0 && std::string_view(peeked, got).find("\"end\"") != std::string_view::npos;
    }
    EXPECT_TRUE(out);
    kill(g.rank(1).pid(), SIGCONT);
  });
  EXPECT_EQ(told.Cause(0), "cancelled");
}

TEST_F(AttemptTest, AStopWithCheckpointSavesTheNewestStepFirst) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1000000";
  frames::Start start = StoredStart(spec);
  TrainerGang gang(2);
  int steps = 0;
  const Told told = gang.Run(start, [&](TrainerGang& g, const frames::FromTrainer& frame) {
    if (!std::holds_alternative<frames::StepDone>(frame) || ++steps != 5) return;
    g.Stop(1, /*checkpoint=*/true);
    g.Stop(0, /*checkpoint=*/true);
  });
  EXPECT_EQ(told.Cause(0), "cancelled");
  EXPECT_EQ(told.Cause(1), "cancelled");
  ASSERT_EQ(told.checkpoints.size(), 1u);
  EXPECT_EQ(told.checkpoints[0].step, told.EndStep());
  EXPECT_EQ(told.checkpoints[0].step, told.rows.back()["step"].get<uint64_t>());

  start.spec["train"]["max_steps"] = "1000000";
  start.attempt = 2;
  start.resume = ResumeOf(told.checkpoints[0]);
  bool stopped = false;
  const Told rest = gang.Run(start, [&](TrainerGang& g, const frames::FromTrainer& frame) {
    if (stopped || !std::holds_alternative<frames::StepDone>(frame)) return;
    stopped = true;
    g.Stop(0, false);
    g.Stop(1, false);
  });
  EXPECT_EQ(rest.resumed_step, told.checkpoints[0].step);
}

TEST_F(AttemptTest, TheSurvivorOfAKilledPeerTrainsTheNextTrial) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1000000";
  // Gloo sometimes leaves a rank waiting when its peer dies while it sends; then the agent kills
  // it. Three times in a row would be our own fault.
  for (int attempt = 1; attempt <= 3; ++attempt) {
    TrainerGang gang(2);
    bool killed = false;
    const Told told = gang.Run(Start(spec), [&](TrainerGang& g, const frames::FromTrainer& frame) {
      if (killed || !std::holds_alternative<frames::StepDone>(frame)) return;
      killed = true;
      kill(g.rank(1).pid(), SIGKILL);
    });
    EXPECT_EQ(told.Cause(1), "gone");
    if (told.Cause(0) == "gone") continue;
    EXPECT_EQ(told.Cause(0), "collective") << told.Message();
    gang.DropRank(1);
    EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
    return;
  }
  ADD_FAILURE() << "no survivor left by itself";
}

}  // namespace
}  // namespace dt::testing
