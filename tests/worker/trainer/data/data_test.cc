#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "corpus/npy.h"
#include "tests/testing/temp_folder.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/data/loader.h"
#include "worker/trainer/data/sampler.h"

namespace dt::trainer {
namespace {

using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;

std::vector<uint64_t> Windows(const Sampler& sampler, uint64_t first, uint64_t count) {
  std::vector<uint64_t> windows;
  for (uint64_t i = first; i < first + count; ++i) windows.push_back(sampler.Window(i));
  return windows;
}

TEST(SamplerTest, SequentialGoesThroughTheDataAgainAndAgain) {
  const Sampler sampler(SampleOrder::kSequential, 1, 3);
  EXPECT_EQ(Windows(sampler, 0, 7), (std::vector<uint64_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(SamplerTest, ShuffledSeesEachWindowOnceAnEpochForEverySize) {
  for (uint64_t windows = 1; windows <= 300; ++windows) {
    const Sampler sampler(SampleOrder::kShuffled, 7, windows);
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<uint64_t> seen = Windows(sampler, epoch * windows, windows);
      std::sort(seen.begin(), seen.end());
      std::vector<uint64_t> all(windows);
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(seen, all) << windows << " windows, epoch " << epoch;
    }
  }
}

TEST(SamplerTest, ShufflesDifferentlyByEpochAndSeed) {
  const Sampler sampler(SampleOrder::kShuffled, 7, 1000);
  EXPECT_EQ(Windows(sampler, 0, 1000), Windows(Sampler(SampleOrder::kShuffled, 7, 1000), 0, 1000));
  EXPECT_NE(Windows(sampler, 0, 1000), Windows(sampler, 1000, 1000));
  EXPECT_NE(Windows(sampler, 0, 1000), Windows(Sampler(SampleOrder::kShuffled, 8, 1000), 0, 1000));
}

TEST(SamplerTest, AShuffleIsWellMixed) {
  // About one of 10,000 positions stays; neighbours end up a third of the range apart on average.
  constexpr uint64_t kWindows = 10000;
  const std::vector<uint64_t> windows =
      Windows(Sampler(SampleOrder::kShuffled, 1337, kWindows), 0, kWindows);
  int fixed = 0;
  double distance = 0;
  for (uint64_t i = 0; i < kWindows; ++i) {
    fixed += windows[i] == i;
    if (i > 0)
      distance += std::abs(static_cast<double>(windows[i]) - static_cast<double>(windows[i - 1]));
  }
  EXPECT_LE(fixed, 10);
  EXPECT_NEAR(distance / kWindows, kWindows / 3.0, kWindows / 30.0);
}

TEST(SamplerTest, HandlesMoreWindowsThan32Bits) {
  constexpr uint64_t kWindows = (uint64_t{1} << 33) + 5;
  const Sampler sampler(SampleOrder::kShuffled, 3, kWindows);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) seen.insert(sampler.Window(kWindows - 500 + i));
  EXPECT_LT(*seen.rbegin(), kWindows);
  EXPECT_GT(seen.size(), 990u);
}

TEST(SamplerTest, StepsOfEpochsAreIntegersAndAtLeastOne) {
  EXPECT_EQ(StepsOfEpochs(1, 100, 8), 12u);
  EXPECT_EQ(StepsOfEpochs(2.5, 100, 8), 31u);
  EXPECT_EQ(StepsOfEpochs(0.01, 100, 8), 1u);
  EXPECT_EQ(StepsOfEpochs(1.15, 100, 1), 115u) << "a little less in binary";
  // A number of windows times a decimal number of epochs is an integer whenever arithmetic says so.
  for (uint64_t hundredths = 1; hundredths <= 1000; ++hundredths) {
    EXPECT_EQ(StepsOfEpochs(static_cast<double>(hundredths) / 100, 4200, 7), hundredths * 6);
    EXPECT_EQ(StepsOfEpochs(static_cast<double>(hundredths) / 100, 4201, 4),
              std::max<uint64_t>(1, hundredths * 4201 / 400));
  }
  EXPECT_EQ(StepsOfEpochs(1e9, uint64_t{1} << 40, 1), (uint64_t{1} << 53) - 1);
}

// Returns every sample of a step, however it is dealt to ranks and micro-steps.
std::vector<uint64_t> SamplesOfStep(uint64_t step, int64_t global_batch, int64_t micro_batch,
                                    int32_t world_size) {
  std::vector<uint64_t> samples;
  for (int32_t rank = 0; rank < world_size; ++rank) {
    const BatchPlan plan{micro_batch, global_batch, world_size, rank};
    EXPECT_TRUE(plan.Check().ok());
    for (int64_t micro = 0; micro < plan.micro_steps(); ++micro) {
      for (int64_t b = 0; b < micro_batch; ++b) {
        samples.push_back(plan.FirstSample(step, micro) + static_cast<uint64_t>(b));
      }
    }
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

TEST(BatchPlanTest, AStepHasTheSameSamplesAtEveryWorldSize) {
  std::vector<uint64_t> expected(24);
  std::iota(expected.begin(), expected.end(), 5 * 24);
  for (const auto& [micro_batch, world_size] : std::vector<std::pair<int64_t, int32_t>>{
           {24, 1}, {1, 1}, {12, 2}, {2, 4}, {1, 24}, {4, 3}}) {
    EXPECT_EQ(SamplesOfStep(5, 24, micro_batch, world_size), expected)
        << micro_batch << " × " << world_size;
  }
}

TEST(BatchPlanTest, DealsLikeLlmC) {
  // llm.c: rank r reads micro-batch (micro_step × ranks + r).
  const BatchPlan plan{4, 24, 3, 2};
  EXPECT_EQ(plan.micro_steps(), 2);
  EXPECT_EQ(plan.FirstSample(0, 0), 8u);
  EXPECT_EQ(plan.FirstSample(0, 1), 20u);
  EXPECT_EQ(plan.FirstSample(1, 0), 32u);
}

TEST(BatchPlanTest, AStepHasTheSameSamplesForAnySharesOfRanks) {
  const BatchPlan equal{2, 24, 3, 1};
  BatchPlan said = equal;
  said.shares = {4, 4, 4};
  for (int64_t micro = 0; micro < 4; ++micro) {
    EXPECT_EQ(said.FirstSample(7, micro), equal.FirstSample(7, micro)) << "the same as the default";
  }
  for (const std::vector<int64_t>& shares :
       std::vector<std::vector<int64_t>>{{4, 4, 4}, {1, 5, 6}, {10, 1, 1}, {3, 7, 2}}) {
    std::vector<uint64_t> first;
    for (int32_t rank = 0; rank < 3; ++rank) {
      BatchPlan plan{2, 24, 3, rank};
      plan.shares = shares;
      EXPECT_EQ(plan.own_micro_steps(), shares[static_cast<size_t>(rank)]);
      for (int64_t micro = 0; micro < plan.own_micro_steps(); ++micro) {
        first.push_back(plan.FirstSample(5, micro));
      }
    }
    std::sort(first.begin(), first.end());
    std::vector<uint64_t> expected;
    for (uint64_t micro = 0; micro < 12; ++micro) expected.push_back(5 * 24 + 2 * micro);
    EXPECT_EQ(first, expected) << shares[0] << ", " << shares[1] << ", " << shares[2];
  }
}

TEST(BatchPlanTest, AGlobalBatchThatDoesNotDivideIsAConfigError) {
  const absl::Status checked = BatchPlan{8, 20, 2, 0}.Check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.code(), kConfigError);
}

class DataTest : public ::testing::Test {
 protected:
  // Writes a shard with ids first, first + 1, ….
  void Shard(const std::string& name, uint16_t first, size_t count) {
    std::vector<uint16_t> ids(count);
    std::iota(ids.begin(), ids.end(), first);
    auto writer = corpus::ShardWriter::Create(folder_ / name);
    ASSERT_TRUE(writer.ok() && writer->Append(ids).ok() && writer->Finish().ok());
  }
  DatasetOptions Options(int64_t seq_len = 4) const {
    return {.data_root = folder_.path(),
            .field = "data.train",
            .pattern = "train_*.bin",
            .vocab_size = 1000,
            .seq_len = seq_len};
  }
  Dataset Open(int64_t seq_len = 4) {
    absl::StatusOr<Dataset> dataset = Dataset::Open(Options(seq_len));
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  }
  // Returns the first input token of every sequence of the steps, rank after rank.
  static std::vector<int64_t> Starts(const Dataset& dataset, const Sampler& sampler,
                                     const BatchPlan& plan, uint64_t first_step,
                                     uint64_t end_step) {
    LoaderOptions options;
    options.first_step = first_step;
    options.end_step = end_step;
    Loader loader(dataset, sampler, plan, options);
    std::vector<int64_t> starts;
    for (uint64_t step = first_step; step < end_step; ++step) {
      for (int64_t micro = 0; micro < plan.micro_steps(); ++micro) {
        const absl::StatusOr<HostBatch> batch = loader.Next();
        EXPECT_TRUE(batch.ok());
        EXPECT_EQ(batch->step, step);
        EXPECT_EQ(batch->micro_step, micro);
        for (size_t i = 0; i < batch->inputs.size(); i += static_cast<size_t>(dataset.seq_len())) {
          starts.push_back(batch->inputs[i]);
        }
      }
    }
    return starts;
  }

  TempFolder folder_;
};

TEST_F(DataTest, WindowsLieOneSeqLenApartAndStayWithinTheirShard) {
  Shard("train_0.bin", 0, 11);   // windows 0..4, 4..8; tokens 9 and 10 unused
  Shard("train_1.bin", 100, 9);  // windows 100..104, 104..108
  Shard("train_2.bin", 200, 4);  // too short for a window
  const Dataset dataset = Open();
  EXPECT_EQ(dataset.files(), 3u);
  EXPECT_EQ(dataset.tokens(), 24u);
  ASSERT_EQ(dataset.windows(), 4u);
  std::vector<uint16_t> ids(5);
  const uint16_t firsts[] = {0, 4, 100, 104};
  for (uint64_t window = 0; window < 4; ++window) {
    ASSERT_TRUE(dataset.ReadWindow(window, ids).ok());
    EXPECT_EQ(ids.front(), firsts[window]);
    EXPECT_EQ(ids.back(), firsts[window] + 4);
  }
}

TEST_F(DataTest, MoreThanAThousandShardsAreOpenAtOnceDespiteTheUsualLimit) {
  for (int i = 0; i < 1030; ++i) {
    Shard("train_" + std::to_string(10000 + i) + ".bin", static_cast<uint16_t>(i % 50), 9);
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit usual = before;
  usual.rlim_cur = std::min<rlim_t>(1024, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  if (before.rlim_max >= 4096) {
    EXPECT_EQ(Open().files(), 1030u);
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(DataTest, TargetsAreTheNextTokens) {
  Shard("train_0.bin", 0, 9);
  const Dataset dataset = Open();
  const Sampler sampler(SampleOrder::kSequential, 1, dataset.windows());
  Loader loader(dataset, sampler, BatchPlan{2, 2, 1, 0}, {.first_step = 0, .end_step = 1});
  const absl::StatusOr<HostBatch> batch = loader.Next();
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->inputs, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(batch->targets, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(DataTest, StartingAtAnyStepGivesTheSamplesOfTheCompleteRun) {
  Shard("train_0.bin", 0, 200);
  const Dataset dataset = Open();
  const Sampler sampler(SampleOrder::kShuffled, 1337, dataset.windows());
  const BatchPlan plan{2, 8, 2, 1};
  const std::vector<int64_t> whole = Starts(dataset, sampler, plan, 0, 20);
  for (uint64_t step = 0; step <= 20; ++step) {
    const std::vector<int64_t> resumed = Starts(dataset, sampler, plan, step, 20);
    ASSERT_EQ(resumed,
              std::vector<int64_t>(whole.begin() + static_cast<int64_t>(step) * 4, whole.end()));
  }
}

TEST_F(DataTest, ALoaderGoesOnWithAnotherShareWithoutLosingASample) {
  Shard("train_0.bin", 0, 500);
  const Dataset dataset = Open();
  const Sampler sampler(SampleOrder::kShuffled, 5, dataset.windows());
  const auto take = [](Loader& loader, int64_t micro_steps, std::vector<int64_t>& out) {
    for (int64_t micro = 0; micro < micro_steps; ++micro) {
      const absl::StatusOr<HostBatch> batch = loader.Next();
      ASSERT_TRUE(batch.ok());
      EXPECT_EQ(batch->micro_step, micro);
      out.push_back(batch->inputs[0]);
    }
  };
  BatchPlan plans[] = {{1, 8, 2, 0}, {1, 8, 2, 1}};
  Loader loaders[] = {{dataset, sampler, plans[0], {.first_step = 0, .end_step = 6}},
                      {dataset, sampler, plans[1], {.first_step = 0, .end_step = 6}}};
  const std::vector<std::vector<int64_t>> shares = {{4, 4}, {4, 4}, {6, 2}, {1, 7}, {1, 7}, {5, 3}};
  for (uint64_t step = 0; step < 6; ++step) {
    std::vector<int64_t> together;
    for (size_t rank = 0; rank < 2; ++rank) {
      if (step > 0 && shares[step] != shares[step - 1]) {
        plans[rank].shares = shares[step];
        loaders[rank].GoOnWith(plans[rank], step);
      }
      take(loaders[rank], shares[step][rank], together);
    }
    std::vector<int64_t> alone = Starts(dataset, sampler, BatchPlan{8, 8, 1, 0}, step, step + 1);
    std::sort(together.begin(), together.end());
    std::sort(alone.begin(), alone.end());
    EXPECT_EQ(together, alone) << step;
  }
}

TEST_F(DataTest, AllRanksTogetherSeeWhatOneRankSees) {
  Shard("train_0.bin", 0, 500);
  const Dataset dataset = Open();
  const Sampler sampler(SampleOrder::kShuffled, 5, dataset.windows());
  for (uint64_t step = 0; step < 10; ++step) {
    std::vector<int64_t> alone = Starts(dataset, sampler, BatchPlan{8, 8, 1, 0}, step, step + 1);
    std::vector<int64_t> together;
    for (int32_t rank = 0; rank < 4; ++rank) {
      const std::vector<int64_t> mine =
          Starts(dataset, sampler, BatchPlan{1, 8, 4, rank}, step, step + 1);
      together.insert(together.end(), mine.begin(), mine.end());
    }
    std::sort(alone.begin(), alone.end());
    std::sort(together.begin(), together.end());
    ASSERT_EQ(together, alone);
  }
}

TEST_F(DataTest, AnIdOutsideTheVocabularyNamesFileAndPlace) {
  Shard("train_0.bin", 0, 50);
  Shard("train_1.bin", 980, 41);
  const Dataset dataset = Open();
  const Sampler sampler(SampleOrder::kSequential, 1, dataset.windows());
  Loader loader(dataset, sampler, BatchPlan{1, 1, 1, 0}, {.first_step = 0, .end_step = 100});
  absl::StatusOr<HostBatch> batch = loader.Next();
  int good = 0;
  for (; batch.ok(); batch = loader.Next()) ++good;
  EXPECT_EQ(good, 12 + 4);
  EXPECT_EQ(batch.status().code(), kDataError);
  EXPECT_NE(batch.status().message().find("train_1.bin"), std::string::npos);
  EXPECT_NE(batch.status().message().find("1000 at token 20"), std::string::npos) << batch.status();
  EXPECT_FALSE(loader.Next().ok());
}

TEST_F(DataTest, AFileThatShrinksWhileTrainingIsADataError) {
  Shard("train_0.bin", 0, 900);
  const Dataset dataset = Open();
  folder_.Write("train_0.bin", Slurp(folder_ / "train_0.bin").substr(0, 1100));
  const Sampler sampler(SampleOrder::kSequential, 1, dataset.windows());
  Loader loader(dataset, sampler, BatchPlan{1, 1, 1, 0}, {.first_step = 100, .end_step = 101});
  const absl::StatusOr<HostBatch> batch = loader.Next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.status().code(), kDataError);
}

TEST_F(DataTest, ABatchThatDoesNotFitInMemoryIsAnOutcomeNotACrash) {
#ifdef DTRAIN_SANITIZE
  GTEST_SKIP() << "a sanitizer ends the process when an allocation fails";
#endif
  Shard("train_0.bin", 0, 9);
  const Dataset dataset = Open();
  const Sampler sampler(SampleOrder::kSequential, 1, dataset.windows());
  constexpr int64_t kSequences = int64_t{1} << 45;  // more than a process can address
  Loader loader(dataset, sampler, BatchPlan{kSequences, kSequences, 1, 0},
                {.first_step = 0, .end_step = 1000});
  const absl::StatusOr<HostBatch> batch = loader.Next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.status().code(), kOutOfMemoryError);
  EXPECT_NE(batch.status().message().find("35184372088832 × 4 tokens"), std::string::npos)
      << batch.status();
  EXPECT_FALSE(loader.Next().ok());
}

TEST_F(DataTest, ALoaderThatIsNotEmptiedStopsAtOnce) {
  Shard("train_0.bin", 0, 900);
  const Dataset dataset = Open();
  const Sampler sampler(SampleOrder::kSequential, 1, dataset.windows());
  for (int i = 0; i < 50; ++i) {
    Loader loader(dataset, sampler, BatchPlan{1, 1, 1, 0}, {.first_step = 0, .end_step = 1000000});
    if (i % 2 == 0) {
      ASSERT_TRUE(loader.Next().ok());
    }
  }
}

TEST_F(DataTest, UnusableDataIsRefusedWhenItIsOpened) {
  EXPECT_EQ(Dataset::Open(Options()).status().code(), kDataError);  // the file is missing
  Shard("train_0.bin", 0, 4);
  const absl::StatusOr<Dataset> small = Dataset::Open(Options(4));
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.status().message().find("needs 5"), std::string::npos) << small.status();
  folder_.Write("train_1.bin", "not a shard");
  const absl::StatusOr<Dataset> bad = Dataset::Open(Options(2));
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("train_1.bin"), std::string::npos);
}

TEST_F(DataTest, EveryFormatGivesTheSameSamples) {
  Shard("train_0.bin", 0, 50);
  const std::string ids = Slurp(folder_ / "train_0.bin").substr(corpus::kShardHeaderBytes);
  folder_.Write("train_0.npy", corpus::NpyHeader(50) + ids);
  folder_.Write("train_0.u16", ids);
  const Dataset llmc = Open();
  const auto samples = [](const Dataset& dataset) {
    std::vector<uint16_t> all;
    std::vector<uint16_t> window(5);
    for (uint64_t i = 0; i < dataset.windows(); ++i) {
      EXPECT_TRUE(dataset.ReadWindow(i, window).ok());
      all.insert(all.end(), window.begin(), window.end());
    }
    return all;
  };
  for (const auto& [pattern, format] : std::vector<std::pair<std::string, corpus::ShardFormat>>{
           {"train_*.npy", corpus::ShardFormat::kAuto},
           {"train_*.u16", corpus::ShardFormat::kRawU16}}) {
    DatasetOptions options = Options();
    options.pattern = pattern;
    options.format = format;
    const absl::StatusOr<Dataset> other = Dataset::Open(options);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(samples(*other), samples(llmc));
  }
}

TEST_F(DataTest, TheFingerprintDistinguishesData) {
  Shard("train_0.bin", 0, 50);
  const std::string before = Open().fingerprint();
  EXPECT_EQ(Open(8).fingerprint(), before);
  Shard("train_1.bin", 0, 50);
  EXPECT_NE(Open().fingerprint(), before);
}

}  // namespace
}  // namespace dt::trainer
