// tracking_test.cc: the files of a trial: TensorBoard's bytes, and metrics.jsonl over resumes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/testing/temp_folder.h"
#include "tests/worker/trainer/link/fake_conversation.h"
#include "tests/worker/trainer/resolved_spec.h"
#include "worker/trainer/tracking/event_records.h"
#include "worker/trainer/tracking/tracked_conversation.h"

namespace dt::trainer {
namespace {

using nlohmann::json;

// Made by reference/make_event_records.py with TensorBoard's own writer.
constexpr double kWallSeconds = 1700000000.5;
constexpr char kVersion[] =
    "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b353110";
constexpr char kRestart[] = "100000000000000095fbfe180900002040fc54d94110ad023a020801596f3f79";
constexpr char kScalars[] =
    "3200000000000000241956ec0900002040fc54d94110ac022a240a110a0a747261696e2f6c6f7373"
    "15000020400a0f0a0876616c2f6c6f7373150000c07f8c0b10ca";
constexpr char kSettings[] =
    "9f0000000000000052f38bfb0900002040fc54d9412a93010a90010a1c5f68706172616d735f2f73"
    "657373696f6e5f73746172745f696e666f42060801120212004a680a660a0768706172616d73125b"
    "1a590a120a0c646174612e73687566666c65120220010a190a0c6f7074696d697a65722e6c721209"
    "11613255302aa9433f0a190a0d7363686564756c652e7479706512081a06636f73696e6522043132"
    "2f332900002040fc54d94121a0b2e0";
constexpr char kEnd[] =
    "4d000000000000003d63d4a60900002040fc54d9412a420a400a1a5f68706172616d735f2f736573"
    "73696f6e5f656e645f696e666f42060801120212004a1a0a180a0768706172616d73120d220b0801"
    "1100002040fc54d94156cd5d08";

std::string Hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex += kDigits[static_cast<uint8_t>(byte) >> 4];
    hex += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return hex;
}

// Counts how often `part` occurs in `bytes`.
int Count(const std::string& bytes, const std::string& part) {
  int count = 0;
  for (size_t at = bytes.find(part); at != std::string::npos; at = bytes.find(part, at + 1)) {
    ++count;
  }
  return count;
}

class TrackingTest : public ::testing::Test {
 protected:
  TrackingTest() {
    start_.storage = folder_.path();
    start_.experiment = 12;
    start_.trial = 3;
    start_.attempt = 1;
    start_.spec = testing::Resolved({{"data", {{"train", "t_*.bin"}}}});
  }

  // Runs an attempt that logs steps `first` to `last` with this loss, and dies without an end.
  void Train(uint64_t first, uint64_t last, double loss) {
    TrackedConversation tracked(start_, listener_);
    tracked.Say(frames::Running{"", first - 1});
    Log(tracked, first, last, loss);
  }
  static void Log(Conversation& tracked, uint64_t first, uint64_t last, double loss) {
    for (uint64_t step = first; step <= last; ++step) {
      tracked.Say(frames::StepDone{
          "", {{"step", step}, {"loss", loss}, {"tokens", 8}, {"seconds", 2}, {"grad_norm", NAN}}});
    }
  }
  void ResumeAs(uint32_t attempt, uint64_t step) {
    start_.attempt = attempt;
    start_.resume = frames::Resume{step, "", ""};
  }

  std::filesystem::path Folder() const { return folder_ / "12/3"; }
  std::vector<json> Lines() const {
    std::istringstream text(testing::Slurp(Folder() / "metrics.jsonl"));
    std::vector<json> lines;
    for (std::string line; std::getline(text, line);) {
      lines.push_back(json::parse(line, nullptr, /*allow_exceptions=*/false));
      EXPECT_FALSE(lines.back().is_discarded()) << line;
    }
    return lines;
  }
  // Returns "type:step:attempt" for each line.
  std::vector<std::string> Outline() const {
    std::vector<std::string> outline;
    for (const json& line : Lines()) {
      outline.push_back(line.value("type", "") + ":" + std::to_string(line.value("step", -1)) +
                        ":" + std::to_string(line.value("attempt", 0)));
    }
    return outline;
  }
  std::vector<std::string> EventFiles() const {
    std::vector<std::string> files;
    if (!std::filesystem::exists(Folder())) return files;
    for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
      if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  testing::TempFolder folder_;
  frames::Start start_;
  FakeConversation listener_;
};

TEST(EventRecordsTest, RecordsAreTheBytesThatTensorBoardItselfWrites) {
  EXPECT_EQ(Hex(VersionRecord(kWallSeconds)), kVersion);
  EXPECT_EQ(Hex(RestartRecord(kWallSeconds, 301)), kRestart);
  EXPECT_EQ(Hex(ScalarsRecord(kWallSeconds, 300, {{"train/loss", 2.5}, {"val/loss", NAN}})),
            kScalars);
  EXPECT_EQ(Hex(SettingsRecord(kWallSeconds, "12/3",
                               {{"data.shuffle", true},
                                {"optimizer.lr", 6e-4},
                                {"schedule.type", std::string("cosine")}})),
            kSettings);
  EXPECT_EQ(Hex(EndRecord(kWallSeconds, EndStatus::kSuccess)), kEnd);
}

TEST_F(TrackingTest, StepsEvaluationsAndTheEndAreWrittenAsLinesAndEvents) {
  {
    TrackedConversation tracked(start_, listener_);
    tracked.Say(frames::Running{"", 0});
    Log(tracked, 1, 2, 4.5);
    frames::Eval eval;
    eval.step = 2;
    eval.loss = 4.25;
    tracked.Say(eval);
    tracked.Say(frames::End{"", "finished", "", 2});
  }
  EXPECT_EQ(Outline(),
            (std::vector<std::string>{"start:0:1", "step:1:1", "step:2:1", "eval:2:1", "end:2:1"}));
  const std::vector<json> lines = Lines();
  EXPECT_EQ(lines[0]["spec"], start_.spec);
  EXPECT_EQ(lines[1]["loss"], 4.5);
  EXPECT_TRUE(lines[1]["grad_norm"].is_null()) << "JSON has no NaN";
  EXPECT_EQ(lines[3]["loss"], 4.25);
  EXPECT_EQ(lines[4]["cause"], "finished");
  for (const json& line : lines) {
    EXPECT_EQ(line["schema"], 1);
    EXPECT_FALSE(line.contains("token"));
  }

  ASSERT_EQ(EventFiles().size(), 1u);
  const std::string events = testing::Slurp(EventFiles()[0]);
  for (const char* tag : {"train/loss", "train/grad_norm", "speed/tokens_per_second"}) {
    EXPECT_EQ(Count(events, tag), 2) << tag;
  }
  for (const char* tag : {"val/loss", "val/perplexity", "optimizer.lr", "session_end_info"}) {
    EXPECT_GE(Count(events, tag), 1) << tag;
  }
  EXPECT_EQ(listener_.said.size(), 5u) << "the listener gets every frame";
}

TEST_F(TrackingTest, TheSpeedCoversTrainingOnly) {
  {
    TrackedConversation tracked(start_, listener_);
    tracked.Say(frames::Running{"", 0});
    tracked.Say(frames::StepDone{"",
                                 {{"step", 1},
                                  {"tokens", 8},
                                  {"seconds", 7},
                                  {"eval_seconds", 4},
                                  {"checkpoint_seconds", 1}}});
  }
  const std::string record = ScalarsRecord(0, 1, {{"speed/tokens_per_second", 4.0}});
  const size_t tag = record.find("speed/");
  const std::string scalar = record.substr(tag, record.size() - 4 - tag);  // a checksum ends it
  EXPECT_EQ(Count(testing::Slurp(EventFiles().at(0)), scalar), 1);
}

TEST_F(TrackingTest, AResumeKeepsEarlierLinesAndDropsTheRest) {
  Train(1, 5, 4);
  ResumeAs(2, 3);
  Train(4, 6, 3);
  EXPECT_EQ(Outline(), (std::vector<std::string>{"start:0:1", "step:1:1", "step:2:1", "step:3:1",
                                                 "start:3:2", "step:4:2", "step:5:2", "step:6:2"}));
  ASSERT_EQ(EventFiles().size(), 2u);
  const std::string restart = RestartRecord(0, 4);
  // Leave out the wall time, which is first in the payload, after length and checksum; use the
  // rest.
  const std::string session = restart.substr(21, restart.size() - 25);
  EXPECT_EQ(Count(testing::Slurp(EventFiles()[1]), session), 1) << "steps from 4 on are void";
}

TEST_F(TrackingTest, AnAttemptThatStartsOverStartsTheLinesOver) {
  Train(1, 5, 4);
  start_.attempt = 2;
  Train(1, 1, 3);
  EXPECT_EQ(Outline(), (std::vector<std::string>{"start:0:2", "step:1:2"}));
}

TEST_F(TrackingTest, TornAndForeignLinesAreRemovedAtTheNextResume) {
  Train(1, 2, 4);
  const std::string foreign =
      "nonsense\n[1]\n{\"step\":\"x\"}\n{\"step\":-1}\n{\"note\":1}\n{\"step\":1,\"note\":\"" +
      std::string(3 * frames::kFrameBytes, 'a') + "\"}\n";
  const std::string lines = testing::Slurp(Folder() / "metrics.jsonl");
  const size_t start_ends = lines.find('\n') + 1;
  folder_.Write("12/3/metrics.jsonl", lines.substr(0, start_ends) + foreign +
                                          lines.substr(start_ends) + "{\"step\":2,\"loss\":4");
  ResumeAs(2, 2);
  Train(3, 3, 3);
  EXPECT_EQ(Outline(), (std::vector<std::string>{"start:0:1", "step:1:1", "step:2:1", "start:2:2",
                                                 "step:3:2"}));
}

TEST_F(TrackingTest, StepsBeforeACheckpointAreInTheFilesBeforeItIsReported) {
  TrackedConversation tracked(start_, listener_);
  tracked.Say(frames::Running{"", 0});
  Log(tracked, 1, 4, 4);
  tracked.Say(frames::CheckpointDone{});
  EXPECT_EQ(Outline().size(), 5u);
}

TEST_F(TrackingTest, OnlyRequestedFilesAreWrittenAndOnlyByRankZero) {
  start_.spec["logging"]["tensorboard"] = false;
  Train(1, 1, 4);
  EXPECT_TRUE(EventFiles().empty());
  EXPECT_EQ(Outline().size(), 2u);

  start_.spec["logging"]["tensorboard"] = true;
  start_.spec["logging"]["jsonl"] = false;
  start_.trial = 3;
  std::filesystem::remove_all(Folder());
  Train(1, 1, 4);
  EXPECT_EQ(EventFiles().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(Folder() / "metrics.jsonl"));

  std::filesystem::remove_all(Folder());
  start_.rank = 1;
  Train(1, 1, 4);
  EXPECT_FALSE(std::filesystem::exists(Folder()));
}

TEST_F(TrackingTest, AnUnwritableFolderDoesNotDisturbTraining) {
  folder_.Write("12", "a file where a folder should be");
  Train(1, 3, 4);
  EXPECT_EQ(listener_.said.size(), 4u);
}

}  // namespace
}  // namespace dt::trainer
