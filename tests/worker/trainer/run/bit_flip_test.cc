// bit_flip_test.cc: a bit of a parameter flips in the memory of one real dttrain process, and
// train.hash_every finds it.
#include <gtest/gtest.h>
#include <sys/uio.h>

#include <cinttypes>
#include <cstring>
#include <fstream>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// Returns a few values of the named tensor of a safetensors file.
std::string BytesOf(const std::string& file, const std::string& tensor) {
  const std::string bytes = Slurp(file);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const nlohmann::json entries = nlohmann::json::parse(bytes.substr(8, header));
  const auto begin = entries.at(tensor).at("data_offsets").at(0).get<size_t>();
  return bytes.substr(8 + header + begin, 64);
}

// Keeps a child stopped while this lives, so that its memory does not change between a search and a
// write.
class Stopped {
 public:
  explicit Stopped(pid_t child) : child_(child) {
    EXPECT_TRUE(PauseChild(child_)) << "the process ended";
  }
  ~Stopped() { kill(child_, SIGCONT); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  const pid_t child_;
};

// Flips the lowest bit wherever `pattern` lies in the memory of child `pid`. Returns the number of
// places, or nothing if the system does not let a process look into its child.
std::optional<int> FlipBits(pid_t pid, const std::string& pattern) {
  const Stopped stopped(pid);
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  int flipped = 0;
  for (std::string line; std::getline(maps, line);) {
    uint64_t from = 0, to = 0;
    char access[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, access) != 3) continue;
    // Memory that ranks of a host share counts too: a rank's shards may lie there.
    if (std::strncmp(access, "rw-", 3) != 0 || line.find(".so") != std::string::npos) continue;
    std::string memory(to - from, '\0');
    const iovec here{memory.data(), memory.size()};
    const iovec there{reinterpret_cast<void*>(from), memory.size()};
    const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (got < 0 && errno == EPERM) return std::nullopt;
    if (got <= 0) continue;
    memory.resize(static_cast<size_t>(got));
    for (size_t at = memory.find(pattern); at != std::string::npos;
         at = memory.find(pattern, at + 1)) {
      char changed = static_cast<char>(pattern[0] ^ 1);
      const iovec one{&changed, 1};
      const iovec place{reinterpret_cast<void*>(from + at), 1};
      if (process_vm_writev(pid, &one, 1, &place, 1, 0) == 1) ++flipped;
    }
  }
  return flipped;
}

class BitFlipTest : public AttemptTest {
 protected:
  // New processes, or the flip could hit what an earlier training left in memory.
  BitFlipTest() { BeginProcesses(); }
  // Trains, flips the bit in `rank`, and trains on until the flip is found.
  Told TrainAndFlip(int ranks, int rank = 1, const std::string& tensor = "wte.weight",
                    const nlohmann::json& parallel = {{"strategy", "ddp"}}) {
    nlohmann::json spec = SmallSpec();
    spec["parallel"].update(parallel);
    spec["train"]["max_steps"] = "1000000";
    spec["train"]["hash_every"] = "4";
    spec["optimizer"]["lr"] =
        kNothing;  // the parameters do not change, so that they can be found by their values
    spec["checkpoint"] = {{"every", {{"steps", 3}}}, {"keep_latest", 1000}};
    const frames::Start start = StoredStart(spec);
    return TrainerGang(ranks).Run(start, [&](TrainerGang& g, const frames::FromTrainer& frame) {
      const auto* saved = std::get_if<frames::CheckpointDone>(&frame);
      if (saved == nullptr || denied_) return;
      const std::string file = start.storage + "/" + saved->path + "/model.safetensors";
      // Repeat until it succeeds: an update at this moment writes the values that it had read
      // before.
      const std::optional<int> flipped = FlipBits(g.rank(rank).pid(), BytesOf(file, tensor));
      flipped_ += flipped.value_or(0);
      denied_ = !flipped;
      if (flipped_ > 0) return;
      for (int r = 0; r < ranks; ++r) g.Stop(r, false);
    });
  }

  int flipped_ = 0;
  bool denied_ = false;
};

TEST_F(BitFlipTest, TheRankThatDiffersFromTheMajorityIsNamed) {
  const Told told = TrainAndFlip(3);
  if (denied_) GTEST_SKIP() << "this system lets no process look into its child's memory";
  ASSERT_GT(flipped_, 0);
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(told.Cause(rank), "trainer_crash") << "which is retried from a checkpoint";
    EXPECT_NE(told.Message(rank).find("the parameters of rank 1 differ from those of the other "
                                      "2 ranks"),
              std::string::npos)
        << told.Message(rank);
  }
  const uint64_t step = told.EndStep();
  EXPECT_TRUE(step % 4 == 0 || step % 3 == 0) << "found where it was looked for: step " << step;
  EXPECT_NE(told.Message().find("after step " + std::to_string(step) + " "), std::string::npos);
  EXPECT_LT(told.checkpoints.back().step, step) << "saved parameters have been compared";
}

TEST_F(BitFlipTest, UncutParametersAndEachPartOfSharedLayersAreCompared) {
  const auto differ = [&](int ranks, int rank, const char* tensor, const char* said) {
    flipped_ = 0;
    const Told told = TrainAndFlip(ranks, rank, tensor, {{"strategy", "ddp"}, {"tensor", 2}});
    if (denied_) return;
    EXPECT_GT(flipped_, 0);
    EXPECT_EQ(told.Cause(), "trainer_crash") << tensor;
    EXPECT_NE(told.Message().find(said), std::string::npos) << told.Message();
  };
  differ(2, 1, "wpe.weight", "the parameters of rank 0 and rank 1 differ");
  // The first rows of this tensor are in the first part, which ranks 0 and 2 have.
  differ(4, 2, "h.0.mlp.c_fc.weight", "the parameters of rank 0 and rank 2 differ");
  if (denied_) GTEST_SKIP() << "this system lets no process look into its child's memory";
}

TEST_F(BitFlipTest, CopiesOfAStageAndSharedParametersOfAPipelinesEndsAreCompared) {
  const auto differ = [&](int ranks, int rank, const char* tensor, const char* said) {
    flipped_ = 0;
    const Told told = TrainAndFlip(ranks, rank, tensor, {{"strategy", "ddp"}, {"pipeline", 2}});
    if (denied_) return;
    EXPECT_GT(flipped_, 0);
    EXPECT_EQ(told.Cause(), "trainer_crash") << tensor;
    EXPECT_NE(told.Message().find(said), std::string::npos) << told.Message();
  };
  differ(2, 1, "wte.weight", "the parameters of rank 0 and rank 1 differ");
  differ(4, 2, "h.1.mlp.c_fc.weight", "the parameters of rank 2 and rank 3 differ");
  if (denied_) GTEST_SKIP() << "this system lets no process look into its child's memory";
}

TEST_F(BitFlipTest, IfTwoRanksDifferBothAreNamed) {
  const Told told = TrainAndFlip(2);
  if (denied_) GTEST_SKIP() << "this system lets no process look into its child's memory";
  ASSERT_GT(flipped_, 0);
  EXPECT_NE(told.Message().find("rank 0 and rank 1 differ"), std::string::npos) << told.Message();
  EXPECT_EQ(told.Message(), told.Message(1));
}

TEST_F(BitFlipTest, DifferingRanksOfTwoCopiesOfASharedStateAreNamed) {
  // This tensor lies in the first half of a block's row, which ranks 0 and 2 have.
  const Told told =
      TrainAndFlip(4, 2, "h.0.attn.c_attn.weight", {{"strategy", "hsdp"}, {"shard", 2}});
  if (denied_) GTEST_SKIP() << "this system lets no process look into its child's memory";
  ASSERT_GT(flipped_, 0);
  for (const int rank : {0, 1, 2, 3}) {
    EXPECT_NE(told.Message(rank).find("rank 0 and rank 2 differ"), std::string::npos)
        << told.Message(rank);
  }
}

TEST_F(BitFlipTest, TheComparisonDoesNotChangeTraining) {
  nlohmann::json spec = SmallSpec();
  const Told plain = TrainerGang(2).Run(Start(spec));
  spec["train"]["hash_every"] = "1";
  const Told compared = TrainerGang(2).Run(Start(spec));
  EXPECT_EQ(compared.Cause(), "finished") << compared.Message();
  EXPECT_EQ(compared.Losses(), plain.Losses());
  EXPECT_EQ(TrainerGang(1).Run(Start(spec)).Cause(), "finished")
      << "with no other rank to compare with";
}

}  // namespace
}  // namespace dt::testing
