// weights_test.cc: a trial that starts with the weights of another one, through Hugging Face's
// files.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "checkpoint/hf_export.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class WeightsTest : public AttemptTest {
 protected:
  // Starts a new trial.
  frames::Start Start(const nlohmann::json& spec) {
    frames::Start start = StoredStart(spec);
    start.trial = ++trials_;
    return start;
  }
  // Exports the weights of `told` to the place that model.init_from "start" names.
  void ExportFirst(const Told& told) {
    const absl::StatusOr<checkpoint::HfExport> exported = checkpoint::ExportHuggingFace(
        {folder_ / ("storage/" + told.checkpoints[0].path), folder_ / "data/start", {}, {}});
    ASSERT_TRUE(exported.ok()) << exported.status();
  }

  uint32_t trials_ = 0;
};

TEST_F(WeightsTest, ExportedWeightsGiveTheLossOfTheTrialThatLearnedThem) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "40";
  spec["optimizer"]["lr"] = 3e-3;
  TrainerGang one(1);
  const Told learned = one.Run(Start(spec));
  ASSERT_EQ(learned.checkpoints.size(), 1u);
  ExportFirst(learned);

  // The trial learns nothing, so that the evaluation is of its initial weights.
  spec["seed"] = "12";
  spec["train"]["max_steps"] = "1";
  spec["optimizer"]["lr"] = kNothing;
  const Told fresh = one.Run(Start(spec));
  EXPECT_GT(fresh.evals.at(0).loss, learned.evals.at(0).loss + 0.3) << "it learned nothing";
  spec["model"]["init_from"] = "start";
  const Told again = one.Run(Start(spec));
  EXPECT_EQ(again.Cause(), "finished");
  EXPECT_EQ(again.evals.at(0).loss, learned.evals.at(0).loss);
  const Told two = TrainerGang(2).Run(Start(spec));
  EXPECT_EQ(two.Cause(), "finished");
  EXPECT_NEAR(two.evals.at(0).loss, learned.evals.at(0).loss, 1e-6) << "on every rank";

  // Rows that the file lacks do not enter the loss.
  spec["model"]["vocab_pad"] = 128;
  const Told padded = one.Run(Start(spec));
  EXPECT_EQ(padded.Cause(), "finished");
  EXPECT_NEAR(padded.evals.at(0).loss, learned.evals.at(0).loss, 1e-6);
}

// Overwrites floats of a tensor in a safetensors file.
void Overwrite(const std::string& path, const std::string& tensor, size_t first, size_t count,
               float value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  uint64_t header = 0;
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  std::string text(header, '\0');
  file.read(text.data(), static_cast<std::streamsize>(header));
  const auto offsets = nlohmann::json::parse(text).at(tensor).at("data_offsets");
  const std::vector<float> values(count, value);
  file.seekp(static_cast<std::streamoff>(sizeof header + header + offsets.at(0).get<size_t>() +
                                         first * sizeof(float)));
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(count * sizeof(float)));
  ASSERT_TRUE(file.good());
}

TEST_F(WeightsTest, ANonFiniteLossMakesNoStepThoughItsGradientIsFinite) {
  nlohmann::json spec = SmallSpec();
  TrainerGang gang(2);
  const Told learned = gang.Run(Start(spec));
  ExportFirst(learned);
  // The final norm gives ones. So one token's logits are beyond fp16's range and its loss is
  // infinite, but its gradient, the probability minus one, is finite.
  const std::string file = folder_ / "data/start/model.safetensors";
  const size_t width = spec["model"]["n_embd"].get<size_t>();
  Overwrite(file, "transformer.ln_f.weight", 0, width, 0);
  Overwrite(file, "transformer.ln_f.bias", 0, width, 1);
  Overwrite(file, "transformer.wte.weight", 7 * width, width,
            -100000.0f / static_cast<float>(width));
  spec["model"]["init_from"] = "start";
  spec["precision"]["compute"] = "fp16";
  spec["train"]["max_steps"] = "3";
  spec["checkpoint"] = {{"every", {{"steps", "1"}}}, {"keep_latest", 10}};
  spec["stop"] = {{"nonfinite", "skip"}};
  const Told told = gang.Run(Start(spec));
  ASSERT_EQ(told.rows.size(), 3u);
  for (const nlohmann::json& row : told.rows) {
    EXPECT_TRUE(row.at("loss").is_null());
    EXPECT_TRUE(row.at("grad_norm").is_null());
    EXPECT_EQ(row.at("nonfinite_steps").get<int>(), 1) << row.dump();
  }
}

TEST_F(WeightsTest, AResumeGoesOnWithItsCheckpointNotWithTheFirstWeights) {
  nlohmann::json spec = SmallSpec();
  spec["checkpoint"]["every"]["steps"] = "4";
  spec["checkpoint"]["keep_latest"] = 100;
  TrainerGang gang(1);
  const Told source = gang.Run(Start(spec));
  ExportFirst(source);
  spec["model"]["init_from"] = "start";
  frames::Start start = Start(spec);
  const Told whole = gang.Run(start);
  ASSERT_EQ(whole.checkpoints.size(), 2u);
  start.attempt = 2;
  start.resume = {4, whole.checkpoints[0].path, whole.checkpoints[0].manifest_hash};
  const Told rest = gang.Run(start);
  EXPECT_EQ(rest.resumed_step, 4u);
  ASSERT_EQ(rest.rows.size(), 4u);
  EXPECT_EQ(rest.Losses().back(), whole.Losses().back());
}

TEST_F(WeightsTest, WeightsOfAnotherShapeEndTheTrialBeforeItsRanksMeet) {
  TrainerGang gang(1);
  nlohmann::json spec = SmallSpec();
  const Told learned = gang.Run(Start(spec));
  ExportFirst(learned);
  spec["model"]["init_from"] = "start";
  spec["model"]["n_layer"] = 1;
  const Told refused = gang.Run(Start(spec));
  EXPECT_EQ(refused.Cause(), "config");
  EXPECT_NE(refused.Message().find("set model.n_layer to 2"), std::string::npos)
      << refused.Message();
  EXPECT_TRUE(refused.prepared.empty());
}

}  // namespace
}  // namespace dt::testing
