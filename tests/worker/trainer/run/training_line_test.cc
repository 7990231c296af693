// training_line_test.cc: from which checkpoints a training continues, by their manifests.
#include "worker/trainer/run/training_line.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

using nlohmann::json;

frames::Start Trial() {
  frames::Start start;
  start.spec = {{"seed", "7"},
                {"optimizer", {{"lr", 0.1}, {"type", "adamw"}}},
                {"schedule", {{"type", "cosine"}, {"warmup_ratio", 0.1}}},
                {"train", {{"max_steps", "100"}, {"seq_len", 8}, {"epochs", 0.0}}},
                {"eval", {{"every", "10"}}},
                {"checkpoint", {{"keep_best", 1}}},
                {"model", {{"dropout", 0.1}, {"n_layer", 2}}}};
  return start;
}
checkpoint::Manifest WrittenBy(const frames::Start& start, uint64_t step = 40) {
  const TrainingLine line(start);
  checkpoint::Manifest manifest;
  manifest.step = step;
  manifest.spec_hash = line.old_hash();
  manifest.line_hash = line.hash();
  return manifest;
}
// Returns the manifest as version 0.2.0 wrote it.
checkpoint::Manifest OldOf(const frames::Start& start, uint64_t step = 40) {
  checkpoint::Manifest manifest = WrittenBy(start, step);
  manifest.line_hash.clear();
  return manifest;
}

TEST(TrainingLineTest, FieldsThatAnEditMayChangeAreNotPartOfTheLine) {
  const checkpoint::Manifest manifest = WrittenBy(Trial());
  const std::pair<json::json_pointer, json> edits[] = {
      {"/train/max_steps"_json_pointer, "250"}, {"/train/epochs"_json_pointer, 3.5},
      {"/train/max_tokens"_json_pointer, "9"},  {"/train/hash_every"_json_pointer, "2"},
      {"/eval/every"_json_pointer, "3"},        {"/eval/tokens"_json_pointer, "99"},
      {"/checkpoint/every"_json_pointer, 5},    {"/logging/every"_json_pointer, "7"},
      {"/retries/max"_json_pointer, 1},         {"/resources/gpus"_json_pointer, 4}};
  for (const auto& [place, value] : edits) {
    frames::Start edited = Trial();
    edited.spec[place] = value;
    EXPECT_TRUE(TrainingLine(edited).Owns(manifest)) << place.to_string();
  }
}

TEST(TrainingLineTest, FieldsThatGiveWeightsTheirMeaningArePartOfTheLine) {
  const checkpoint::Manifest manifest = WrittenBy(Trial());
  const std::pair<json::json_pointer, json> others[] = {
      {"/seed"_json_pointer, "8"},           {"/model/n_layer"_json_pointer, 3},
      {"/optimizer/lr"_json_pointer, 0.2},   {"/train/seq_len"_json_pointer, 16},
      {"/data/train"_json_pointer, "other"}, {"/schedule/type"_json_pointer, "linear"}};
  for (const auto& [place, value] : others) {
    frames::Start other = Trial();
    other.spec[place] = value;
    EXPECT_FALSE(TrainingLine(other).Owns(manifest)) << place.to_string();
    EXPECT_FALSE(TrainingLine(other).Owns(OldOf(Trial()))) << place.to_string();
  }
}

TEST(TrainingLineTest, AnOldCheckpointIsRecognisedAfterAnyExtension) {
  for (const json& raised : {json("100"), json("101"), json("100000")}) {
    frames::Start extended = Trial();
    extended.spec["train"]["max_steps"] = raised;
    const TrainingLine line(extended);
    EXPECT_TRUE(line.Owns(OldOf(Trial()))) << raised;
    EXPECT_EQ(line.OldSteps(OldOf(Trial())), 100) << raised;
    EXPECT_TRUE(line.AsLineage().Owns(OldOf(Trial(), 100))) << "of a finished trial";
  }
  // As in a run of `dttrain --spec`.
  frames::Start alone = Trial();
  alone.spec["train"]["max_steps"] = 100;
  frames::Start extended = alone;
  extended.spec["train"]["max_steps"] = 200;
  EXPECT_EQ(TrainingLine(extended).OldSteps(OldOf(alone)), 100);
}

TEST(TrainingLineTest, MembersOfAPopulationShareTheirCheckpointsLine) {
  frames::Start start = Trial();
  frames::Start other = start;
  other.spec["optimizer"]["lr"] = 0.2;
  other.spec["model"]["dropout"] = 0;
  EXPECT_FALSE(TrainingLine(other).Owns(WrittenBy(start)));
  start.share_every = other.share_every = 0.1;
  EXPECT_TRUE(TrainingLine(other).Owns(WrittenBy(start)));
  EXPECT_TRUE(TrainingLine(other).Owns(OldOf(start)));
  other.spec["model"]["n_layer"] = 3;
  EXPECT_FALSE(TrainingLine(other).Owns(WrittenBy(start)));
}

}  // namespace
}  // namespace dt::trainer
