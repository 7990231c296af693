// old_checkpoints_test.cc: a trial that an older release began continues from its checkpoint, with
// the losses that it would have had there.
//
// tests/worker/trainer/run/checkpoints has a folder for each release: start.json, the specification
// for its trainer; told.json, the results of an undisturbed training; storage, with the checkpoint
// of step 6. To make the folder of the present build:
//
//   DTRAIN_RECORD=FOLDER trainer_attempt_test --gtest_filter='OldCheckpointsTest.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kStep = 6;
constexpr double kTolerance = 2e-5;  // another processor sums in another order

class OldCheckpointsTest : public AttemptTest {
 protected:
  static nlohmann::json RecordedSpec() {
    nlohmann::json spec = SmallSpec();
    spec["model"]["n_layer"] = 1;
    spec["model"]["n_embd"] = 16;
    spec["model"]["n_ff"] = 32;
    spec["train"]["max_steps"] = "12";
    spec["checkpoint"]["every"]["steps"] = std::to_string(kStep);
    spec["checkpoint"]["keep_latest"] = 100;
    return spec;
  }

  void Record(const fs::path& folder) {
    const frames::Start start = StoredStart(RecordedSpec());
    TrainerGang gang(1);
    const Told told = gang.Run(start);
    ExpectFinished(told);
    const auto& kept = told.checkpoints.front();
    fs::create_directories(folder / "storage" / fs::path(kept.path).parent_path());
    const nlohmann::json said = {{"losses", told.Losses()},
                                 {"val_loss", told.evals.back().loss},
                                 {"checkpoint", kept.path},
                                 {"manifest_hash", kept.manifest_hash}};
    std::ofstream(folder / "start.json") << Resolved(RecordedSpec()).dump(1) << "\n";
    std::ofstream(folder / "told.json") << said.dump(1) << "\n";
    fs::copy(fs::path(start.storage) / kept.path, folder / "storage" / kept.path,
             fs::copy_options::recursive);
  }

  // Continues from the release's checkpoint with `spec`.
  Told GoOn(const fs::path& release, const nlohmann::json& spec, const nlohmann::json& told) {
    frames::Start start = StoredStart(spec);
    fs::copy(release / "storage", start.storage,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    start.attempt = 2;
    start.resume = {kStep, told.at("checkpoint").get<std::string>(),
                    told.at("manifest_hash").get<std::string>()};
    return TrainerGang(1).Run(start);
  }
};

TEST_F(OldCheckpointsTest, ATrialOfAnOlderReleaseContinuesFromItsCheckpoint) {
  if (const char* folder = std::getenv("DTRAIN_RECORD")) return Record(folder);
  size_t releases = 0;
  for (const auto& entry : fs::directory_iterator(OLD_CHECKPOINTS)) {
    ++releases;
    SCOPED_TRACE(entry.path().filename().string());
    const auto spec = nlohmann::json::parse(Slurp(entry.path() / "start.json"));
    const auto told = nlohmann::json::parse(Slurp(entry.path() / "told.json"));
    const Told rest = GoOn(entry.path(), spec, told);
    ExpectFinished(rest);
    EXPECT_EQ(rest.resumed_step, kStep);
    const auto losses = told.at("losses").get<std::vector<double>>();
    ASSERT_EQ(rest.rows.size(), losses.size() - kStep);
    for (size_t i = 0; i < rest.rows.size(); ++i) {
      EXPECT_NEAR(rest.Losses()[i], losses[i + kStep], kTolerance) << "step " << i + kStep + 1;
    }
    EXPECT_NEAR(rest.evals.back().loss, told.at("val_loss").get<double>(), kTolerance);
  }
  EXPECT_GE(releases, 1u);
}

// Its hash contains the number of steps, which `dtctl extend` changes.
TEST_F(OldCheckpointsTest, AnExtendedTrialOfAnOlderReleaseContinuesFromItsCheckpoint) {
  for (const auto& entry : fs::directory_iterator(OLD_CHECKPOINTS)) {
    SCOPED_TRACE(entry.path().filename().string());
    auto spec = nlohmann::json::parse(Slurp(entry.path() / "start.json"));
    spec["train"]["max_steps"] = "20";
    const Told rest =
        GoOn(entry.path(), spec, nlohmann::json::parse(Slurp(entry.path() / "told.json")));
    ExpectFinished(rest);
    EXPECT_EQ(rest.resumed_step, kStep);
    EXPECT_EQ(rest.rows.size(), 20 - kStep);
  }
}

}  // namespace
}  // namespace dt::testing
