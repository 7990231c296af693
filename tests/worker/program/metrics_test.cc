// metrics_test.cc: programs whose numbers are read from their output and files.
#include "worker/program/metrics.h"

#include "absl/strings/str_replace.h"
#include "tests/worker/program/event_file.h"
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

using nlohmann::json;

TEST_F(ProgramTest, PatternsReadStandardOutputAndStandardError) {
  Run(R"(echo 'step 1: loss 3.5'
         echo 'INFO step 2: val_loss 3.0' >&2
         echo 'step 2: loss 2.5')",
      {{"metrics",
        {{"pattern", {"step {step}: loss {loss}", "step {step}: val_loss {val_loss}"}}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished") << end.message;
  EXPECT_EQ(end.hint, "");
  EXPECT_EQ(All<frames::StepDone>().size(), 2u);
  const auto evaluations = All<frames::Eval>();
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(evaluations[0].step, 2u);
  EXPECT_EQ(evaluations[0].loss, 3.0);
}

TEST_F(ProgramTest, ACsvAndEventsGiveTheSameReportsAsTheClient) {
  const std::string events =
      testing::Record(testing::Event(1, 0, "")) +
      testing::Record(testing::Event(2, 7, testing::Scalar("val/acc", 0.5F)));
  std::ofstream(folder_ / "events", std::ios::binary) << events;
  Run("mkdir logs runs; printf 'step,loss\\n1,0.5\\n2,0.25' > logs/m.csv; cp " + In("events") +
          " runs/events.out.tfevents.1.host",
      {{"metrics", {{"file", "logs/*.csv"}, {"tensorboard", "runs"}}}});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_EQ(All<frames::StepDone>().size(), 2u);
  const auto evaluations = All<frames::Eval>();
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(evaluations[0].step, 7u);
  EXPECT_EQ(evaluations[0].metrics.at("val/acc"), 0.5);
}

TEST_F(ProgramTest, ACheckpointWithoutAStepIsOfTheNewestStepThatIsPrintedOrInAFile) {
  const std::string save =
      R"(mkdir "$DTRAIN_CHECKPOINT_DIR/@"; echo x > "$DTRAIN_CHECKPOINT_DIR/@/w"
         echo '{"checkpoint": "@"}' >&3; while [ -e "$DTRAIN_CHECKPOINT_DIR/@" ]; do :; done
)";
  Run("printf 'step,loss\\n7,0.5\\n' > m.csv\n" + absl::StrReplaceAll(save, {{"@", "a"}}) +
          "echo 'step 8: loss 3'\n" + absl::StrReplaceAll(save, {{"@", "b"}}),
      {{"metrics", {{"file", "m.csv"}, {"pattern", {"step {step}: loss {loss}"}}}}});
  for (const uint64_t step : {7u, 8u}) {
    ASSERT_TRUE(Await([&] {
      Hear();
      return All<frames::CheckpointDone>().size() == step - 6;
    }));
    EXPECT_EQ(All<frames::CheckpointDone>().back().step, step);
    Say(frames::Registered{kToken, step});
  }
  EXPECT_EQ(AwaitEnd().cause, "finished");
}

TEST_F(ProgramTest, AFileIsReadWhileTheProgramRuns) {
  Run("printf 'step,loss\\n1,0.5\\n' > m.csv; while [ ! -e " + In("go") + " ]; do sleep 0.05; done",
      {{"metrics", {{"file", "m.csv"}}}});
  EXPECT_TRUE(AwaitFrame<frames::StepDone>());
  std::ofstream(folder_ / "go") << "on";
  EXPECT_EQ(AwaitEnd().cause, "finished");
}

TEST_F(ProgramTest, AHintNamesWhatFoundNothing) {
  Run("echo 'Step 1 - Loss: 3.5'", {{"metrics", {{"pattern", {"step {step}: loss {loss}"}}}}});
  const std::string hint = AwaitEnd().hint;
  EXPECT_NE(hint.find("no line matched metrics.pattern 'step {step}: loss {loss}'"),
            std::string::npos)
      << hint;
  EXPECT_NE(hint.find("add metrics: {pattern: \"Step {step} - Loss: {loss}\"}"), std::string::npos)
      << hint;
}

TEST_F(ProgramTest, AHintNamesAFileThatWasNotWritten) {
  Run("true", {{"metrics", {{"file", "m.csv"}}}});
  EXPECT_EQ(AwaitEnd().hint, "it reported nothing; it wrote nothing to metrics.file 'm.csv'");
}

TEST(MetricsTest, EachPathThatFoundNothingIsNamed) {
  const testing::TempFolder folder;
  program::ProgramSpec spec;
  spec.metric_paths = {"m.csv", "runs"};
  const auto metrics = program::Metrics::Make(spec, folder.path(), 0);
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_EQ((*metrics)->Missing(),
            "it wrote nothing to metrics.file 'm.csv' or metrics.tensorboard 'runs'");
  std::ofstream(folder / "m.csv") << "step,loss\n1,0.5\n";
  EXPECT_EQ((*metrics)->Look(absl::Seconds(1)).lines.size(), 1u);
  EXPECT_EQ((*metrics)->Missing(), "it wrote nothing to metrics.tensorboard 'runs'");
}

TEST(MetricsTest, MoreFilesAreSearchedForLessOftenOnceOneIsFound) {
  const testing::TempFolder folder;
  program::ProgramSpec spec;
  spec.metric_paths = {"*.csv", ""};
  const auto metrics = program::Metrics::Make(spec, folder.path(), 0);
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  std::ofstream(folder / "a.csv") << "step,loss\n1,0.5\n";
  EXPECT_EQ((*metrics)->Look(absl::Seconds(10)).lines.size(), 1u);
  std::ofstream(folder / "a.csv", std::ios::app) << "2,0.5\n";
  std::ofstream(folder / "b.csv") << "step,loss\n3,0.5\n";
  EXPECT_EQ((*metrics)->Look(absl::Seconds(11)).lines.size(), 1u) << "the known file";
  EXPECT_EQ((*metrics)->Look(absl::Seconds(15)).lines.size(), 1u) << "the new file";
}

TEST_F(ProgramTest, AWrongPatternIsAnErrorOfTheExperiment) {
  Run("true", {{"metrics", {{"pattern", {"loss"}}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "config");
  EXPECT_NE(end.message.find("metrics.pattern"), std::string::npos) << end.message;
}

}  // namespace
}  // namespace dt
