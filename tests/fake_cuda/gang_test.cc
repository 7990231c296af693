// gang_test.cc: several ranks over NCCL, each a dttrain process on a fake GPU.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

const std::vector<std::string> kOnGpu = {"--device", "cuda:0", "--threads", "1"};

// Processes are warm, and later tests use them again.
class FakeGangTest : public AttemptTest {
 protected:
  FakeGangTest() {
    setenv("DTRAIN_FAKE_CUDA_CALLS", (Calls() / "calls").c_str(), 1);
    setenv("DTRAIN_FAKE_CUDA_GIB", "8", 1);
    Forget();
  }
  ~FakeGangTest() override { unsetenv("DTRAIN_FAKE_CUDA_CALLS"); }

  // Ignores all calls so far. The processes are idle, since a gang waits for that.
  void Forget() {
    for (const auto& entry : std::filesystem::directory_iterator(Calls().path())) {
      forgotten_[entry.path()] = entry.file_size();
    }
  }
  // Returns the lines that begin with `kind`, without the stream's number, for each process that
  // has called anything since Forget.
  std::vector<std::vector<std::string>> Noted(const std::string& kind) const {
    std::vector<std::vector<std::string>> of_process;
    for (const auto& entry : std::filesystem::directory_iterator(Calls().path())) {
      const auto found = forgotten_.find(entry.path());
      const uintmax_t from = found == forgotten_.end() ? 0 : found->second;
      if (entry.file_size() == from) continue;
      auto& lines = of_process.emplace_back();
      std::ifstream in(entry.path());
      in.seekg(static_cast<std::streamoff>(from));
      for (std::string line; std::getline(in, line);) {
        if (line.rfind(kind + " ", 0) == 0) lines.push_back(WithoutStream(line));
      }
    }
    return of_process;
  }
  // Expects that `ranks` ranks called NCCL in one order, and did nothing that CUDA or NCCL would
  // refuse. Returns the calls of one rank.
  std::vector<std::string> ExpectOneOrder(int ranks) const {
    const auto collectives = Noted("collective");
    EXPECT_EQ(collectives.size(), static_cast<size_t>(ranks));
    EXPECT_EQ(std::set(collectives.begin(), collectives.end()).size(), 1u);
    for (const auto& faults : Noted("fault")) EXPECT_TRUE(faults.empty()) << faults[0];
    return collectives.empty() ? std::vector<std::string>() : collectives[0];
  }
  // Counts the ranks that have begun to join NCCL's communicator.
  size_t Joining() const {
    size_t ranks = 0;
    for (const auto& lines : Noted("collective")) {
      ranks += !lines.empty() && lines[0].find("join, which blocks") != std::string::npos ? 1 : 0;
    }
    return ranks;
  }
  // Runs a gang that would train for ever; calls `interfere` after its first step, and `at_end`
  // when rank 0 has left.
  Told RunUntilStep(
      TrainerGang& gang, const std::function<void()>& interfere,
      const std::function<void()>& at_end = [] {}) {
    nlohmann::json spec = SmallSpec();
    spec["train"]["max_steps"] = "1000000";
    bool interfered = false;
    return gang.Run(Start(spec), [&](TrainerGang&, const frames::FromTrainer& frame) {
      if (std::holds_alternative<frames::StepDone>(frame) && !std::exchange(interfered, true)) {
        interfere();
      }
      if (std::holds_alternative<frames::End>(frame)) at_end();
    });
  }

 private:
  // KIND BYTES STREAM WHAT…; stream numbers depend on what a process did before.
  static std::string WithoutStream(const std::string& line) {
    const size_t stream = line.find(' ', line.find(' ') + 1);
    return line.substr(0, stream) + line.substr(line.find(' ', stream + 1));
  }
  static const TempFolder& Calls() {
    static const TempFolder folder;
    return folder;
  }
  std::map<std::filesystem::path, uintmax_t> forgotten_;
};

TEST_F(FakeGangTest, RanksOverNcclGiveTheLossesOfOneAndCallItInOneOrder) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["train"]["batch_size"] = 8;
  spec["train"]["global_batch_size"] = "8";
  const Told one = TrainerGang(1, kOnGpu).Run(Start(spec));
  ASSERT_EQ(one.Cause(), "finished") << one.Message();
  EXPECT_EQ(Noted("collective"), std::vector<std::vector<std::string>>(1)) << "alone there is none";
  for (const int ranks : {2, 4}) {
    Forget();
    spec["train"]["batch_size"] = 8 / ranks;
    const Told told = TrainerGang(ranks, kOnGpu).Run(Start(spec));
    ASSERT_EQ(told.Cause(), "finished") << told.Message();
    EXPECT_LE(LargestDifference(one.Losses(), told.Losses()), 1e-5);
    EXPECT_EQ(told.Column("allreduce_bytes").back(),
              4.0 * static_cast<double>(told.prepared[0].model_parameters));
    EXPECT_GT(ExpectOneOrder(ranks).size(), 24u) << "several buckets in each step";
  }
}

TEST_F(FakeGangTest, RanksThatShareTheStateGiveTheLossesOfOneAndCallNcclInOneOrder) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["train"]["batch_size"] = 4;
  spec["train"]["global_batch_size"] = "16";
  const Told one = TrainerGang(1, kOnGpu).Run(Start(spec));
  ASSERT_EQ(one.Cause(), "finished") << one.Message();
  for (const char* strategy : {"zero1", "zero2", "zero3", "hsdp"}) {
    Forget();
    spec["parallel"]["strategy"] = strategy;
    const int ranks = strategy == std::string("hsdp") ? 4 : 2;
    if (ranks == 4) spec["parallel"]["shard"] = 2;
    const Told told = TrainerGang(ranks, kOnGpu).Run(StoredStart(spec));
    ASSERT_EQ(told.Cause(), "finished") << strategy << ": " << told.Message();
    EXPECT_LE(LargestDifference(one.Losses(), told.Losses()), 1e-5) << strategy;
    EXPECT_EQ(told.checkpoints.size(), 1u) << strategy;
    SCOPED_TRACE(strategy);
    ExpectOneOrder(ranks);
  }
}

TEST_F(FakeGangTest, RanksThatGossipSwapOverNcclInOneFixedOrder) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["train"]["batch_size"] = 4;
  spec["train"]["global_batch_size"] = "16";
  spec["optimizer"]["lr"] = 6e-3;
  spec["checkpoint"]["every"]["steps"] = "4";
  spec["checkpoint"]["keep_latest"] = 100;
  for (const int ranks : {2, 4}) {
    spec["parallel"]["strategy"] = "ddp";
    const Told ddp = TrainerGang(ranks, kOnGpu).Run(Start(spec));
    ASSERT_EQ(ddp.Cause(), "finished") << ddp.Message();
    spec["parallel"]["strategy"] = "gossip";
    spec["parallel"]["sync_every"] = "4";
    std::vector<double> losses;
    for (int round = 0; round < 2; ++round) {
      Forget();
      frames::Start start = StoredStart(spec);
      start.trial = static_cast<uint32_t>(10 * ranks + round);
      const Told told = TrainerGang(ranks, kOnGpu).Run(start);
      ASSERT_EQ(told.Cause(), "finished") << told.Message();
      EXPECT_LE(LargestDifference(ddp.Losses(), told.Losses()), 0.3);
      EXPECT_LT(told.Losses().back(), told.Losses().front() - 0.2);
      ASSERT_EQ(told.checkpoints.size(), 3u);
      const std::vector<std::string> calls = ExpectOneOrder(ranks);
      const auto swaps = std::count_if(calls.begin(), calls.end(), [](const std::string& line) {
        return line.find("send and receive") != line.npos;
      });
      EXPECT_EQ(swaps, 9) << "after each step but those of a sync";
      if (round == 1) {
        EXPECT_EQ(told.Losses(), losses) << "nothing depends on time here";
        start.attempt = 2;
        start.resume = ResumeOf(told.checkpoints[0]);
        const Told rest = TrainerGang(ranks, kOnGpu).Run(start);
        ASSERT_EQ(rest.Losses().size(), 8u) << rest.Message();
        for (size_t i = 0; i < 8; ++i) EXPECT_EQ(rest.Losses()[i], losses[i + 4]) << i;
      }
      losses = told.Losses();
    }
  }
}

// Their losses differ from those of sums of all gradients.
TEST_F(FakeGangTest, RanksThatRarelySyncOrSendLessLearnAndCallNcclInOneFixedOrder) {
  nlohmann::json plain = SmallSpec();
  plain["train"]["max_steps"] = "12";
  plain["train"]["batch_size"] = 4;
  plain["train"]["global_batch_size"] = "8";
  plain["optimizer"]["lr"] = 6e-3;
  const Told ddp = TrainerGang(2, kOnGpu).Run(Start(plain));
  ASSERT_EQ(ddp.Cause(), "finished") << ddp.Message();
  for (const auto& [name, parallel] :
       {std::pair<const char*, nlohmann::json>("local_sgd",
                                               {{"strategy", "local_sgd"}, {"sync_every", "4"}}),
        std::pair<const char*, nlohmann::json>("powersgd",
                                               {{"compression", "powersgd"}, {"rank", 2}}),
        std::pair<const char*, nlohmann::json>("topk",
                                               {{"compression", "topk"}, {"share", 0.05}})}) {
    nlohmann::json spec = plain;
    spec["parallel"].update(parallel);
    std::vector<double> losses;
    for (int round = 0; round < 2; ++round) {
      Forget();
      const Told told = TrainerGang(2, kOnGpu).Run(Start(spec));
      ASSERT_EQ(told.Cause(), "finished") << name << ": " << told.Message();
      EXPECT_LE(LargestDifference(ddp.Losses(), told.Losses()), 0.3) << name;
      EXPECT_LT(told.Losses().back(), told.Losses().front() - 0.1) << name;
      SCOPED_TRACE(name);
      ExpectOneOrder(2);
      if (round == 1) {
        EXPECT_EQ(told.Losses(), losses) << name;
      }
      losses = told.Losses();
    }
  }
}

TEST_F(FakeGangTest, RanksThatComputeLayersTogetherGiveTheLossesOfOneAndCallNcclInOneOrder) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["train"]["batch_size"] = 4;
  spec["train"]["global_batch_size"] = "8";
  const Told one = TrainerGang(1, kOnGpu).Run(Start(spec));
  ASSERT_EQ(one.Cause(), "finished") << one.Message();
  spec["parallel"]["tensor"] = 2;
  for (const auto& [strategy, ranks, sequence] :
       {std::tuple("ddp", 2, true), std::tuple("ddp", 4, false), std::tuple("zero3", 4, true)}) {
    Forget();
    spec["parallel"]["strategy"] = strategy;
    spec["parallel"]["sequence"] = sequence;
    const Told told = TrainerGang(ranks, kOnGpu).Run(Start(spec));
    ASSERT_EQ(told.Cause(), "finished") << strategy << ": " << told.Message();
    EXPECT_LE(LargestDifference(one.Losses(), told.Losses()), 1e-4) << strategy;
    const auto collectives = Noted("collective");
    ASSERT_EQ(collectives.size(), static_cast<size_t>(ranks));
    // A share may have more of the undivided pieces on a layer's ranks than another, and then sends
    // more.
    const size_t shares = strategy == std::string("zero3") ? 2 : 1;
    EXPECT_LE(std::set(collectives.begin(), collectives.end()).size(), shares) << strategy;
    for (const auto& faults : Noted("fault")) EXPECT_TRUE(faults.empty()) << faults[0];
    // For the checkpoint, only the ranks of the first layers pass their pieces on.
    const Told saved = TrainerGang(ranks, kOnGpu).Run(StoredStart(spec));
    EXPECT_EQ(saved.Losses(), told.Losses()) << strategy;
    EXPECT_EQ(saved.checkpoints.size(), 1u) << strategy;
  }
}

// Stages differ in their calls; the ranks of one stage do not.
TEST_F(FakeGangTest, StagesOfAPipelineGiveTheLossesOfOneAndCallNcclInOneOrder) {
  nlohmann::json spec = SmallSpec();
  spec["model"]["n_layer"] = 4;
  spec["train"]["max_steps"] = "12";
  spec["train"]["batch_size"] = 2;
  spec["train"]["global_batch_size"] = "16";
  const Told one = TrainerGang(1, kOnGpu).Run(Start(spec));
  ASSERT_EQ(one.Cause(), "finished") << one.Message();
  for (const auto& [strategy, schedule, stages, ranks] :
       {std::tuple("ddp", "1f1b", 2, 2), std::tuple("ddp", "gpipe", 4, 4),
        std::tuple("ddp", "interleaved", 2, 4), std::tuple("zero1", "1f1b", 2, 4),
        std::tuple("zero3", "interleaved", 2, 4)}) {
    Forget();
    spec["parallel"]["strategy"] = strategy;
    spec["parallel"]["schedule"] = schedule;
    spec["parallel"]["pipeline"] = stages;
    const Told told = TrainerGang(ranks, kOnGpu).Run(Start(spec));
    ASSERT_EQ(told.Cause(), "finished") << strategy << " " << schedule << ": " << told.Message();
    EXPECT_LE(LargestDifference(one.Losses(), told.Losses()), 1e-5) << strategy << " " << schedule;
    for (const auto& faults : Noted("fault")) EXPECT_TRUE(faults.empty()) << faults[0];
    const auto collectives = Noted("collective");
    ASSERT_EQ(collectives.size(), static_cast<size_t>(ranks));
    // The first, the last, and those between.
    EXPECT_EQ(std::set(collectives.begin(), collectives.end()).size(),
              static_cast<size_t>(std::min(stages, 3)))
        << strategy << " " << schedule;
    // For the checkpoint, only the first ranks of stages pass their pieces on.
    const Told saved = TrainerGang(ranks, kOnGpu).Run(StoredStart(spec));
    EXPECT_EQ(saved.Losses(), told.Losses()) << strategy << " " << schedule;
    EXPECT_EQ(saved.checkpoints.size(), 1u) << strategy << " " << schedule;
  }
}

TEST_F(FakeGangTest, GradientsThatTravelIn16BitsGiveNearlyTheLossesOfFp32) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["train"]["batch_size"] = 2;
  spec["train"]["global_batch_size"] = "16";
  for (const char* strategy : {"ddp", "zero1", "zero3", "hsdp"}) {
    const int ranks = strategy == std::string("hsdp") ? 4 : 2;
    spec["parallel"]["strategy"] = strategy;
    spec["parallel"]["shard"] = ranks == 4 ? 2 : 0;
    spec["precision"]["reduce"] = "fp32";
    const Told whole = TrainerGang(ranks, kOnGpu).Run(Start(spec));
    ASSERT_EQ(whole.Cause(), "finished") << strategy << ": " << whole.Message();
    for (const char* wire : {"bf16", "fp16"}) {
      Forget();
      spec["precision"]["reduce"] = wire;
      const Told narrow = TrainerGang(ranks, kOnGpu).Run(Start(spec));
      ASSERT_EQ(narrow.Cause(), "finished") << strategy << ": " << narrow.Message();
      const double apart = LargestDifference(whole.Losses(), narrow.Losses());
      EXPECT_LE(apart, 1e-3) << strategy << " in " << wire;
      EXPECT_GT(apart, 0) << strategy << " in " << wire << ": the mode makes a difference";
      SCOPED_TRACE(strategy);
      ExpectOneOrder(ranks);
    }
  }
}

TEST_F(FakeGangTest, APeerThatDiesInNcclLetsTheOthersLeave) {
  for (const auto& [ranks, victim] : {std::pair(2, 1), std::pair(4, 0)}) {
    const int dead = victim;  // a lambda of C++20 captures no part of a pair in clang 14
    TrainerGang gang(ranks, kOnGpu);
    const Told told = RunUntilStep(gang, [&] { kill(gang.rank(dead).pid(), SIGKILL); });
    for (int r = 0; r < ranks; ++r) {
      if (r == dead) continue;
      const auto rank = static_cast<size_t>(r);
      EXPECT_EQ(told.Cause(rank), "collective") << told.Message(rank);
      EXPECT_NE(told.Message(rank).find("NCCL"), std::string::npos) << told.Message(rank);
    }
    // The processes of the other ranks are warm and can be used for a new attempt.
    gang.DropRank(dead);
    EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
  }
}

TEST_F(FakeGangTest, APeerThatHangsInNcclDelaysNoStop) {
  TrainerGang gang(2, kOnGpu);
  const auto interfere = [&] {
    kill(gang.rank(1).pid(), SIGSTOP);
    gang.Stop(0, /*checkpoint=*/false);
  };
  const Told told = RunUntilStep(gang, interfere, [&] {
    kill(gang.rank(1).pid(), SIGCONT);
    gang.Stop(1, /*checkpoint=*/false);
  });
  EXPECT_EQ(told.Cause(0), "cancelled") << told.Message(0);
  EXPECT_EQ(told.Cause(1), "cancelled") << told.Message(1);
  EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
}

// G11: a rank that does not leave by itself is killed, and its warm process is lost.
TEST_F(FakeGangTest, AStopWithinTheJoinOfNcclIsObeyedAndTheProcessesStayWarm) {
  BeginProcesses();  // new processes: the variable tells them which rank hangs
  setenv("DTRAIN_FAKE_NCCL_HANGS", "2", 1);
  for (const bool dies : {false, true}) {
    Forget();
    TrainerGang gang(3, kOnGpu);
    bool stopped = false;
    const Told told = gang.Run(Start(SmallSpec()), {}, [&](const Told& so_far) {
      if (!stopped && Joining() == 2) {
        stopped = true;
        if (dies) kill(gang.rank(2).pid(), SIGKILL);
        gang.Stop(0, /*checkpoint=*/false);
        gang.Stop(1, /*checkpoint=*/false);
      }
      // These two leave by themselves, and the agent must kill the third.
      if (so_far.ends[0] && so_far.ends[1]) kill(gang.rank(2).pid(), SIGKILL);
    });
    EXPECT_TRUE(stopped);
    EXPECT_EQ(told.Cause(0), "cancelled") << told.Message(0);
    EXPECT_EQ(told.Cause(1), "cancelled") << told.Message(1);
    gang.DropRank(2);
    EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
  }
  unsetenv("DTRAIN_FAKE_NCCL_HANGS");
}

TEST_F(FakeGangTest, AStopIsHeardBeforeNcclWhileAPeerDoesNotCome) {
  TrainerGang gang(3, kOnGpu);
  kill(gang.rank(2).pid(), SIGSTOP);
  bool met = false;
  const Told told = gang.Run(
      Start(SmallSpec()),
      [&](TrainerGang&, const frames::FromTrainer& frame) {
        if (!std::holds_alternative<frames::StoreUp>(frame) || std::exchange(met, true)) return;
        gang.Stop(0, /*checkpoint=*/false);
        gang.Stop(1, /*checkpoint=*/false);
      },
      [&](const Told& so_far) {
        if (so_far.ends[0] && so_far.ends[1]) kill(gang.rank(2).pid(), SIGKILL);
      });
  EXPECT_EQ(told.Cause(0), "cancelled") << told.Message(0);
  EXPECT_EQ(told.Cause(1), "cancelled") << told.Message(1);
  EXPECT_EQ(Joining(), 0u) << "NCCL is not called before all are there";
  gang.DropRank(2);
  EXPECT_EQ(gang.Run(Start(SmallSpec())).Cause(), "finished");
}

}  // namespace
}  // namespace dt::testing
