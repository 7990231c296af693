#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/files.h"
#include "common/sha256.h"
#include "tests/checkpoint/checkpoint_builder.h"
#include "tests/testing/temp_folder.h"

namespace dt::checkpoint {
namespace {

using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;

TEST(ManifestTest, ReadsBackAWrittenManifest) {
  Manifest manifest;
  manifest.step = 1ull << 60;
  manifest.optimizer_steps = 7;
  manifest.loss_scale = 32768;
  manifest.loss_scale_steps = 11;
  manifest.noise_scale = {0.5, 0.1, 12.25};
  manifest.wire = "bf16";
  manifest.seed = std::numeric_limits<int64_t>::min();
  manifest.world_size = 8;
  manifest.threads = 4;
  manifest.next_sample = 99;
  manifest.buckets = {{3, 2}, {1, 0}};
  manifest.spec_hash = "abc";
  manifest.loss = 3.25;
  manifest.line_hash = "def";
  manifest.warmup_steps = 12;
  manifest.train_data = "2:aa";
  manifest.val_data = "2:bb";
  manifest.metric_name = "acc";
  manifest.metric = 0.75;
  manifest.model = {{"n_head", 12u}, {"norm", "pre"}, {"bias", true}};
  manifest.provenance = {{"torch", "2.11.0"}};
  manifest.files = {{"model.safetensors", 10, "00"}};
  const absl::StatusOr<Manifest> read = ParseManifest(ManifestText(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->step, manifest.step);
  EXPECT_EQ(read->optimizer_steps, 7u);
  EXPECT_EQ(read->loss_scale, 32768);
  EXPECT_EQ(read->loss_scale_steps, 11u);
  EXPECT_EQ(read->noise_scale, manifest.noise_scale);
  EXPECT_EQ(read->wire, "bf16");
  EXPECT_EQ(read->seed, manifest.seed);
  EXPECT_EQ(read->world_size, 8);
  EXPECT_EQ(read->threads, 4);
  EXPECT_EQ(read->next_sample, 99u);
  EXPECT_EQ(read->buckets, manifest.buckets);
  EXPECT_EQ(read->spec_hash, "abc");
  EXPECT_EQ(read->line_hash, "def");
  EXPECT_EQ(read->warmup_steps, 12);
  EXPECT_EQ(read->train_data, "2:aa");
  EXPECT_EQ(read->val_data, "2:bb");
  EXPECT_EQ(read->metric_name, "acc");
  EXPECT_EQ(read->metric, 0.75);
  EXPECT_EQ(read->loss, 3.25);
  EXPECT_EQ(read->model, manifest.model);
  EXPECT_EQ(read->provenance, manifest.provenance);
  ASSERT_EQ(read->files.size(), 1u);
  EXPECT_EQ(read->files[0].name, "model.safetensors");
  manifest.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ParseManifest(ManifestText(manifest))->loss, std::nullopt);
}

// Returns a manifest as programs before version 2 wrote it.
std::string OfVersion(int version) {
  Manifest manifest;
  manifest.step = 12;
  manifest.optimizer_steps = 5;
  manifest.files = {{"model.safetensors", 10, "a"}};
  nlohmann::json body = nlohmann::json::parse(ManifestText(manifest))["checkpoint"];
  body["version"] = version;
  if (version == 1) body.erase("optimizer_steps");
  const nlohmann::json whole = {{"checkpoint", body}, {"sha256", Sha256Hex(body.dump())}};
  return whole.dump() + "\n";
}

TEST(ManifestTest, ReadsItsFirstVersionAndNamesOneThatItDoesNotKnow) {
  EXPECT_EQ(ParseManifest(OfVersion(2))->optimizer_steps, 5u);
  const absl::StatusOr<Manifest> first = ParseManifest(OfVersion(1));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->optimizer_steps, 12u) << "nothing was left out then";
  const absl::StatusOr<Manifest> later = ParseManifest(OfVersion(3));
  ASSERT_FALSE(later.ok());
  EXPECT_NE(later.status().message().find("it has version 3; versions 1 to 2 are read"),
            std::string::npos)
      << later.status();
}

TEST(ManifestTest, EveryChangedBitAndEveryCutIsNoticed) {
  Manifest manifest;
  manifest.files = {{"model.safetensors", 10, "00"}};
  const std::string good = ManifestText(manifest);
  ASSERT_TRUE(ParseManifest(good).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      ASSERT_FALSE(ParseManifest(bad).ok()) << bad;
    }
    ASSERT_FALSE(ParseManifest(good.substr(0, i)).ok());
  }
}

TEST(ManifestTest, RefusesFilesOutsideItsFolder) {
  for (const char* name :
       {"../x", "/etc/passwd", "a/b", ".", "..", "", ".hidden", "manifest.json"}) {
    Manifest manifest;
    manifest.files = {{name, 1, "00"}};
    EXPECT_FALSE(ParseManifest(ManifestText(manifest)).ok()) << name;
  }
  Manifest twice;
  twice.files = {{"a", 1, "00"}, {"a", 1, "00"}};
  EXPECT_FALSE(ParseManifest(ManifestText(twice)).ok());
  EXPECT_FALSE(ParseManifest(ManifestText(Manifest{})).ok());  // no files
}

TEST(ManifestTest, RefusesHostileNestingQuickly) {
  EXPECT_FALSE(ParseManifest(R"({"checkpoint":)" + std::string(2 << 20, '[')).ok());
  EXPECT_FALSE(ParseManifest(R"({"checkpoint":)" + std::string(1 << 20, '[') +
                             std::string(1 << 20, ']') + "}")
                   .ok());
}

TEST(CheckpointPathTest, AcceptsOnlyTheCanonicalForm) {
  const std::optional<CheckpointId> id = ParseCheckpointPath("12/3/a1/step-500");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->Path(), "12/3/a1/step-500");
  EXPECT_TRUE(ParseCheckpointPath("0/0/a0/step-0"));
  for (const char* path :
       {"", "12/3/a1/step-", "12/3/a1/step-5x", "12/3/a1/step-5/", "/12/3/a1/step-5",
        "12/3/a1/step-05", "12/3/1/step-5", "../3/a1/step-5", "12/3/a1/.tmp-step-5",
        "12/-3/a1/step-5", "12/3/a1/step-99999999999999999999", "12/3/a4294967296/step-1"}) {
    EXPECT_FALSE(ParseCheckpointPath(path)) << path;
  }
}

// While it lives, this process can open no more files.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    const int unused = dup(STDIN_FILENO);
    none.rlim_cur = static_cast<rlim_t>(unused);
    close(unused);
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class CheckpointTest : public ::testing::Test {
 protected:
  void MustSave(uint64_t step, uint32_t attempt = 1, std::optional<double> loss = std::nullopt) {
    const absl::StatusOr<SavedCheckpoint> saved = Save(folder_.path(), IdOf(step, attempt), loss);
    ASSERT_TRUE(saved.ok()) << saved.status();
  }
  std::optional<Checkpoint> Newest(uint64_t last_step = UINT64_MAX) {
    damaged_.clear();
    const absl::StatusOr<std::optional<Checkpoint>> found = FindNewestGood(
        folder_.path(), kTrial, "spec",
        [&](const CheckpointId& id) { return id.step <= last_step; },
        [&](const CheckpointId& id, const absl::Status& error) {
          damaged_.push_back(absl::StrCat(id.Path(), ": ", error.message()));
        });
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : std::nullopt;
  }
  std::string File(uint64_t step, const std::string& name) {
    return folder_ / (IdOf(step).Path() + "/" + name);
  }

  TempFolder folder_{::dt::testing::Medium::kMemory};
  std::vector<std::string> damaged_;
};

TEST_F(CheckpointTest, ReadsBackASavedCheckpoint) {
  const absl::StatusOr<SavedCheckpoint> saved = Save(folder_.path(), IdOf(500), 2.5);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const absl::StatusOr<Checkpoint> opened =
      OpenCheckpoint(folder_.path(), IdOf(500), saved->manifest_hash);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ExpectWhole(*opened);
  EXPECT_EQ(opened->manifest.step, 500u);
  EXPECT_EQ(opened->manifest.seed, -5);
  EXPECT_EQ(opened->manifest.loss, 2.5);
  EXPECT_EQ(opened->manifest.buckets, (std::vector<std::vector<uint32_t>>{{2, 1}, {0}}));
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(opened->folder)) {
    bytes += entry.file_size();
  }
  EXPECT_EQ(saved->bytes, bytes);
}

TEST_F(CheckpointTest, OnlyTheCheckpointOfThatHashIsAccepted) {
  MustSave(5);
  const absl::StatusOr<Checkpoint> opened =
      OpenCheckpoint(folder_.path(), IdOf(5), std::string(64, '0'));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), kDamagedError);
}

TEST_F(CheckpointTest, TheNewestStepWinsAndThenTheNewestAttempt) {
  MustSave(10, 1);
  MustSave(30, 1);
  MustSave(20, 2);
  MustSave(30, 2);
  EXPECT_EQ(Newest()->id.Path(), "12/3/a2/step-30");
  EXPECT_EQ(Newest(29)->id.Path(), "12/3/a2/step-20");
  EXPECT_FALSE(Newest(9));
  EXPECT_TRUE(damaged_.empty());
  EXPECT_EQ(ListCheckpoints(folder_.path(), {12, 4})->size(), 0u);
}

TEST_F(CheckpointTest, ADamagedOneIsReportedAndThePreviousOneUsed) {
  MustSave(10);
  MustSave(20);
  std::filesystem::resize_file(File(20, "model.safetensors"), 100);
  ASSERT_TRUE(Newest());
  EXPECT_EQ(Newest()->id.step, 10u);
  ASSERT_EQ(damaged_.size(), 1u);
  EXPECT_NE(damaged_[0].find("step-20"), std::string::npos);
  std::filesystem::remove(File(10, "optimizer.safetensors"));
  EXPECT_FALSE(Newest());
}

TEST_F(CheckpointTest, ACheckpointUnderAnotherStepsNameIsRefused) {
  MustSave(10);
  std::filesystem::rename(folder_ / IdOf(10).Path(), folder_ / IdOf(11).Path());
  EXPECT_FALSE(Newest());
}

TEST_F(CheckpointTest, EveryFlippedBitIsDetected) {
  MustSave(10);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "manifest.json"}) {
    const std::string path = File(10, name);
    const std::string good = Slurp(path);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      std::ofstream(path, std::ios::binary) << bad;
      ASSERT_FALSE(OpenCheckpoint(folder_.path(), IdOf(10)).ok()) << name << " byte " << i;
    }
    for (size_t size = 0; size < good.size(); size += 7) {
      std::ofstream(path, std::ios::binary) << good.substr(0, size);
      ASSERT_FALSE(OpenCheckpoint(folder_.path(), IdOf(10)).ok()) << name << " cut at " << size;
    }
    std::ofstream(path, std::ios::binary) << good;
  }
  EXPECT_TRUE(OpenCheckpoint(folder_.path(), IdOf(10)).ok());
}

TEST_F(CheckpointTest, SavingAStepAgainReplacesIt) {
  MustSave(10, 1, 1.0);
  MustSave(10, 1, 2.0);
  EXPECT_EQ(Newest()->manifest.loss, 2.0);
  EXPECT_EQ(ListCheckpoints(folder_.path(), kTrial)->size(), 1u);
  int entries = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(folder_ / "12/3/a1")) {
    ++entries;
  }
  EXPECT_EQ(entries, 1);
}

TEST_F(CheckpointTest, AWriterThatIsGivenUpLeavesNothing) {
  {
    absl::StatusOr<CheckpointWriter> writer = CheckpointWriter::Begin(folder_.path(), IdOf(10));
    ASSERT_TRUE(writer.ok());
    const float value = 1;
    ASSERT_TRUE(writer->AddTensors("model.safetensors", {{"a", DType::kF32, {1}, &value}}).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "12/3/a1"));
}

TEST_F(CheckpointTest, RemovingDeletesAllOfACheckpointAndSweepingDeletesLeftovers) {
  MustSave(10);
  MustSave(20);
  const absl::StatusOr<std::string> left = TakeNameAway(folder_.path(), IdOf(10));
  ASSERT_TRUE(left.ok());
  EXPECT_TRUE(std::filesystem::exists(*left));
  EXPECT_EQ(ListCheckpoints(folder_.path(), kTrial)->size(), 1u);
  folder_.Write("12/3/a1/.tmp-step-30/model.safetensors", "half");
  folder_.Write("12/3/a0/.removed-step-5/model.safetensors", "half");
  folder_.Write("12/3/a2/.tmp-step-30/model.safetensors", "a later attempt writes");
  ASSERT_TRUE(SweepLeftovers(folder_.path(), kTrial, 1).ok());
  EXPECT_FALSE(std::filesystem::exists(*left));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "12/3/a1/.tmp-step-30"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "12/3/a0/.removed-step-5"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "12/3/a2/.tmp-step-30"));
  EXPECT_EQ(Newest()->id.step, 20u);
}

TEST_F(CheckpointTest, AWriterThatIsSweptAwayLeavesNoCheckpoint) {
  absl::StatusOr<CheckpointWriter> zombie = CheckpointWriter::Begin(folder_.path(), IdOf(10, 1));
  ASSERT_TRUE(zombie.ok());
  const float value = 1;
  const std::vector<TensorRef> tensors{{"a", DType::kF32, {1}, &value}};
  ASSERT_TRUE(zombie->AddTensors("model.safetensors", tensors).ok());
  ASSERT_TRUE(SweepLeftovers(folder_.path(), kTrial, 2).ok());
  EXPECT_FALSE(zombie->AddTensors("optimizer.safetensors", tensors).ok());
  EXPECT_FALSE(zombie->Commit(Manifest{}).ok());
  EXPECT_TRUE(ListCheckpoints(folder_.path(), kTrial)->empty());
}

std::vector<uint64_t> Removed(const std::vector<std::pair<uint64_t, std::optional<double>>>& all,
                              int32_t keep_latest, int32_t keep_best) {
  const Retention retention{.keep_latest = keep_latest, .keep_best = keep_best};
  std::vector<RankedCheckpoint> ranked;
  ranked.reserve(all.size());
  for (const auto& [step, loss] : all) ranked.push_back({IdOf(step), loss});
  std::vector<uint64_t> steps;
  for (const CheckpointId& id : ChooseToRemove(ranked, retention)) steps.push_back(id.step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

TEST(RetentionTest, KeepsTheNewestAndTheBest) {
  const std::vector<std::pair<uint64_t, std::optional<double>>> all = {
      {10, 3.0}, {20, 1.0}, {30, 2.0}, {40, std::nullopt}, {50, 4.0}};
  using Steps = std::vector<uint64_t>;
  EXPECT_EQ(Removed(all, 1, 1), (Steps{10, 30, 40}));
  EXPECT_EQ(Removed(all, 2, 0), (Steps{10, 20, 30}));
  EXPECT_EQ(Removed(all, 1, 2), (Steps{10, 40}));
  EXPECT_EQ(Removed(all, 9, 9), (Steps{}));
  EXPECT_EQ(Removed({}, 1, 1), (Steps{}));
}

TEST(RetentionTest, KeepsCheckpointsOfKeptStepsUnlessTheTrialLeftTheirLine) {
  const auto removed = [](uint32_t attempt, uint64_t resumed_step) {
    const Retention retention{
        .attempt = attempt, .resumed_step = resumed_step, .keep_best = 0, .kept_steps = {20, 30}};
    std::vector<uint64_t> steps;
    for (const CheckpointId& id : ChooseToRemove(
             {{IdOf(10), {}}, {IdOf(20), {}}, {IdOf(30), {}}, {IdOf(40), {}}}, retention)) {
      steps.push_back(id.step);
    }
    std::sort(steps.begin(), steps.end());
    return steps;
  };
  EXPECT_EQ(removed(1, 0), (std::vector<uint64_t>{10}));
  EXPECT_EQ(removed(2, 25), (std::vector<uint64_t>{10, 30, 40}));
}

TEST_F(CheckpointTest, AMissingCheckpointOfAnotherTrialIsReplacedByItsEarlierOneOrByAnOwnOne) {
  const TrialId own{kTrial.experiment, kTrial.trial + 1};
  const auto in_place = [&](const CheckpointId& named, const TrialId& of) {
    const auto found = FindInPlaceOf(named, folder_.path(), of, 2, "spec",
                                     [](const CheckpointId&, const absl::Status&) {});
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() && *found ? (*found)->id.Path() : std::string();
  };
  EXPECT_EQ(in_place(IdOf(20, 5), own), "");
  MustSave(10, 5);
  MustSave(30, 5);
  EXPECT_EQ(in_place(IdOf(20, 5), own), IdOf(10, 5).Path()) << "for any attempt";
  // A checkpoint of the trial itself may take its place: of an earlier attempt, and a later step if
  // that attempt wrote it.
  EXPECT_EQ(in_place(IdOf(40, 1), own), IdOf(30, 5).Path());
  MustSave(15, 1);
  MustSave(25, 1);
  EXPECT_EQ(in_place(IdOf(20, 1), kTrial), IdOf(25, 1).Path());
}

TEST(RetentionTest, NeverRemovesTheLastOne) {
  EXPECT_TRUE(Removed({{10, std::nullopt}}, 0, 0).empty());
  EXPECT_EQ(Removed({{10, 1.0}, {20, 2.0}}, 0, 0), (std::vector<uint64_t>{10}));
}

// Returns paths without the trial: "a1/step-10".
std::vector<std::string> RemovedOf(const std::vector<CheckpointId>& all,
                                   const Retention& retention) {
  std::vector<RankedCheckpoint> ranked;
  ranked.reserve(all.size());
  for (const CheckpointId& id : all) ranked.push_back({id, std::nullopt});
  std::vector<std::string> paths;
  for (const CheckpointId& id : ChooseToRemove(ranked, retention)) {
    paths.push_back(id.Path().substr(5));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}
using Paths = std::vector<std::string>;

TEST(RetentionTest, AnOrphanOfAnEarlierAttemptNeverCountsAtAnyStep) {
  const Retention second{.attempt = 2, .resumed_step = 40};
  EXPECT_EQ(RemovedOf({IdOf(40, 1), IdOf(100, 1), IdOf(50, 2)}, second),
            (Paths{"a1/step-100", "a1/step-40"}));
  EXPECT_EQ(RemovedOf({IdOf(40, 1), IdOf(100, 1)}, second), (Paths{"a1/step-100"}));
}

TEST(RetentionTest, LaterAttemptsNeitherCountNorGo) {
  const Retention zombie{.attempt = 1};
  EXPECT_EQ(RemovedOf({IdOf(30, 1), IdOf(40, 1), IdOf(35, 2), IdOf(90, 2)}, zombie),
            (Paths{"a1/step-30"}));
}

TEST(RetentionTest, TheRegisteredOneStaysUntilALaterOneIs) {
  Retention retention{.attempt = 2, .resumed_step = 10, .registered = IdOf(10, 1)};
  const std::vector<CheckpointId> all{IdOf(10, 1), IdOf(20, 2), IdOf(30, 2)};
  EXPECT_EQ(RemovedOf(all, retention), (Paths{"a2/step-20"}));
  retention.registered = IdOf(20, 2);
  EXPECT_EQ(RemovedOf(all, retention), (Paths{"a1/step-10"}));
  retention.registered = IdOf(30, 2);
  EXPECT_EQ(RemovedOf(all, retention), (Paths{"a1/step-10", "a2/step-20"}));
}

TEST(RetentionTest, TheFirstOfEquallyGoodCheckpointsStaysAsTheTrialsBest) {
  EXPECT_EQ(Removed({{10, 1.0}, {20, 1.0}, {30, 2.0}}, 1, 1), (std::vector<uint64_t>{20}));
  EXPECT_EQ(Removed({{10, 1.0}, {20, 1.0}, {30, 1.0}}, 1, 2), (std::vector<uint64_t>{}));
}

TEST(CostTest, FollowsTheSearchsMetricAndGoal) {
  Manifest manifest;
  manifest.loss = 2.0;
  EXPECT_EQ(CostOf(manifest, {}), 2.0);
  EXPECT_EQ(CostOf(manifest, {"val_loss", true}), -2.0);
  EXPECT_EQ(CostOf(manifest, {"acc", true}), std::nullopt) << "an older one does not say";
  manifest.metric_name = "acc";
  manifest.metric = 0.25;
  EXPECT_EQ(CostOf(manifest, {"acc", true}), -0.25);
  EXPECT_EQ(CostOf(manifest, {"acc", false}), 0.25);
  EXPECT_EQ(CostOf(manifest, {"other", false}), std::nullopt);
  manifest.metric = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(CostOf(manifest, {"acc", true}), std::nullopt) << "never among the best";
}

TEST_F(CheckpointTest, RanksOverAttemptsByTheLossOfTheManifest) {
  MustSave(10, 1, 1.5);
  MustSave(20, 2);
  const std::vector<RankedCheckpoint> ranked = RankCheckpoints(folder_.path(), kTrial, "spec");
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_EQ(ranked[0].id.Path(), "12/3/a2/step-20");
  EXPECT_EQ(ranked[1].cost, 1.5);
  EXPECT_TRUE(RankCheckpoints(folder_.path(), kTrial, "another").empty());
}

TEST_F(CheckpointTest, ACheckpointOfAnotherSpecificationIsSkipped) {
  MustSave(10);
  const auto found = FindNewestGood(
      folder_.path(), kTrial, "another", [](const CheckpointId&) { return true; },
      [](const CheckpointId&, const absl::Status&) {});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST_F(CheckpointTest, AStorageThatCannotBeReadNowIsAnErrorAndNotAnEmptyOne) {
  MustSave(10);
  const auto newest = [&] {
    return FindNewestGood(
        folder_.path(), kTrial, "spec", [](const CheckpointId&) { return true; },
        [](const CheckpointId& id, const absl::Status&) {
          ADD_FAILURE() << id.Path() << " skipped";
        });
  };
  {
    const NoMoreFiles scope;
    EXPECT_EQ(ListCheckpoints(folder_.path(), kTrial).status().code(), kIoError);
    EXPECT_EQ(newest().status().code(), kIoError);
    EXPECT_EQ(OpenCheckpoint(folder_.path(), IdOf(10, 1)).status().code(), kIoError);
    EXPECT_TRUE(RankCheckpoints(folder_.path(), kTrial, "spec").empty()) << "none is to go";
  }
  ASSERT_TRUE(newest().ok());
  EXPECT_EQ((*newest())->id.step, 10u);
}

}  // namespace
}  // namespace dt::checkpoint
