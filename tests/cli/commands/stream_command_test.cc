// stream_command_test.cc: dtctl logs and dtctl metrics, against a fake coordinator.
#include <cmath>

#include "absl/time/clock.h"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

v1::LogLineChunk LogChunk(int rank, const std::string& text) {
  v1::LogLineChunk chunk;
  chunk.set_attempt(1);
  chunk.mutable_log()->set_rank(rank);
  chunk.mutable_log()->set_text(text);
  return chunk;
}

TEST_F(CommandTest, LogsPrintEachLineWithItsRank) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    world.page_limit = 1;
    world.experiments[12].logs = {LogChunk(0, "one\ntwo\n"), LogChunk(1, "three\n")};
  });
  EXPECT_EQ(Run({"logs", "12/1"}).out, "#1 rank 0 | one\n#1 rank 0 | two\n#1 rank 1 | three\n");
  EXPECT_EQ(Run({"logs", "12/1", "--rank", "1"}).out, "#1 rank 1 | three\n");
}

TEST_F(CommandTest, FollowedLogsEndWithTheTrialAndMissNothing) {
  AddExperiment(12, 1);
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    // The last line and the end arrive together, after the client saw the trial running.
    if (method == "ListTrials" && count == 2) {
      world.experiments[12].logs.push_back(LogChunk(0, "the end\n"));
      FinishAll(world, 12);
    }
    return grpc::Status::OK;
  });
  const Ran ran = Run({"logs", "12/1", "-f"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "#1 rank 0 | the end\n");
}

TEST_F(CommandTest, FollowedLogsOfATrialThatWaitsSayWhy) {
  AddExperiment(12, 1);
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    if (method == "ListTrials" && count == 5) FinishAll(world, 12);
    return grpc::Status::OK;
  });
  const Ran ran = Run({"logs", "12/1", "-f"});
  EXPECT_EQ(ran.code, 0);
  const std::string said = "trial 12/1 waits: both slots are taken; its lines appear here";
  EXPECT_TRUE(Has(ran.err, said)) << ran.err;
  EXPECT_EQ(ran.err.find(said), ran.err.rfind(said)) << "once: " << ran.err;
}

TEST_F(CommandTest, LogsAreChosenByTailTextAndTime) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    world.page_limit = 1;
    world.experiments[12].logs = {LogChunk(0, "one\ntwo\n"), LogChunk(0, "three\nfour\n")};
    world.experiments[12].logs[0].mutable_log()->set_wall_time_ms(1700000000000);
    world.experiments[12].logs[1].mutable_log()->set_wall_time_ms(absl::ToUnixMillis(absl::Now()));
  });
  const std::string prefix = "#1 rank 0 | ";
  EXPECT_EQ(Run({"logs", "12/1", "--tail", "3"}).out,
            prefix + "two\n" + prefix + "three\n" + prefix + "four\n");
  EXPECT_EQ(Run({"logs", "12/1", "--tail", "0"}).out, "");
  EXPECT_EQ(Run({"logs", "12/1", "--grep", "o"}).out,
            prefix + "one\n" + prefix + "two\n" + prefix + "four\n");
  EXPECT_EQ(Run({"logs", "12/1", "--grep", "o", "--tail", "1"}).out, prefix + "four\n");
  EXPECT_EQ(Run({"logs", "12/1", "--since", "1h"}).out, prefix + "three\n" + prefix + "four\n");
  EXPECT_TRUE(
      Has(Run({"logs", "12/1", "--timestamps"}).out, "2023-11-14T22:13:20.000Z #1 rank 0 | one\n"));
  EXPECT_TRUE(Has(Run({"logs", "12/1", "--grep", "five"}).err, "no matching lines"));
  EXPECT_EQ(Run({"logs", "12/1", "--tail", "-1"}).code, 2);
}

TEST_F(CommandTest, LogsOfATrialOrRankThatDoesNotExistExitFour) {
  AddExperiment(12, 1);
  EXPECT_EQ(Run({"logs", "12/77"}).code, 4);
  const Ran rank = Run({"logs", "12/1", "--rank", "7"});
  EXPECT_EQ(rank.code, 4);
  EXPECT_TRUE(Has(rank.err, "there is no rank 7")) << rank.err;
  const Ran quiet = Run({"logs", "12/1", "--rank", "1"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out, "");
  EXPECT_TRUE(Has(quiet.err, "no lines of rank 1")) << quiet.err;
}

TEST_F(CommandTest, MetricsOfAMissingTrialPrintNoHeader) {
  const Ran ran = Run({"metrics", "99"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(ran.out, "");
}

TEST_F(CommandTest, JsonLinesOfMetricsSayTheTimeInIso) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    v1::MetricRow& row = world.experiments[12].rows.emplace_back();
    row.set_trial(1);
    row.mutable_row()->set_step(1);
    row.mutable_row()->set_wall_time_ms(1700000000000);
  });
  EXPECT_TRUE(Has(Run({"metrics", "12", "--metric", "wall_time_ms", "-o", "jsonl"}).out,
                  "\"logged_at\":\"2023-11-14T22:13:20.000Z\""));
  EXPECT_TRUE(Has(Run({"metrics", "12", "--metric", "wall_time_ms"}).out, "1700000000000"));
}

TEST_F(CommandTest, MetricsStreamsAllPagesWithEvaluationsAtTheirSteps) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    world.page_limit = 2;
    for (uint64_t step : {1, 2, 3}) {
      v1::MetricRow& row = world.experiments[12].rows.emplace_back();
      row.set_trial(1);
      row.set_attempt(1);
      row.mutable_row()->set_step(step);
      row.mutable_row()->set_loss(4.5 - static_cast<double>(step));
    }
    v1::EvaluationRow& evaluation = world.experiments[12].evaluations.emplace_back();
    evaluation.set_trial(1);
    evaluation.set_attempt(1);
    evaluation.mutable_evaluation()->set_step(2);
    evaluation.mutable_evaluation()->set_split("val");
    evaluation.mutable_evaluation()->set_loss(2.75);
  });
  const Ran ran = Run({"metrics", "last", "--metric", "loss", "--metric", "val_loss"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out,
            "experiment,trial,attempt,step,loss,val_loss,train.batch_size\n"
            "12,1,1,1,3.5,,8\n"
            "12,1,1,2,2.5,2.75,8\n"
            "12,1,1,3,1.5,,8\n");
  EXPECT_EQ(Run({"metrics", "last", "--metric", "loss", "--with-parameters"}).out,
            Run({"metrics", "last", "--metric", "loss"}).out);
  EXPECT_EQ(Run({"metrics", "last", "--metric", "loss", "--without-parameters"}).out,
            "experiment,trial,attempt,step,loss\n"
            "12,1,1,1,3.5\n"
            "12,1,1,2,2.5\n"
            "12,1,1,3,1.5\n");
}

// Tests with a program's trial that reported an accuracy at step 5, and logged nothing.
class ProgramMetricsTest : public CommandTest {
 protected:
  void AddProgram() {
    AddExperiment(12, 1);
    control_.Edit([](FakeControl::World& world) {
      FakeControl::Experiment& one = world.experiments[12];
      one.found.mutable_spec()->mutable_base()->add_command("./go");
      one.found.mutable_summary()->set_metric("accuracy");
      v1::EvaluationRow& row = one.evaluations.emplace_back();
      row.set_trial(1);
      row.set_attempt(1);
      row.mutable_evaluation()->set_step(5);
      row.mutable_evaluation()->set_split("val");
      row.mutable_evaluation()->set_loss(std::nan(""));
      v1::Metric& metric = *row.mutable_evaluation()->add_metrics();
      metric.set_name("zeta");
      metric.set_value(0.5);
    });
  }
};

TEST_F(ProgramMetricsTest, MetricsPrintsAProgramsOwnMetrics) {
  AddProgram();
  EXPECT_EQ(Run({"metrics", "12", "--metric", "zeta"}).out,
            "experiment,trial,attempt,step,zeta,train.batch_size\n12,1,1,5,0.5,8\n");
  const std::string all = Run({"metrics", "12"}).out;
  EXPECT_TRUE(Has(all, ",train_loss,zeta,train.batch_size\n")) << all;
  EXPECT_TRUE(Has(all, ",0.5,8\n")) << all;
  EXPECT_FALSE(Has(all, "nan")) << all;
  EXPECT_EQ(Run({"metrics", "12", "--without-parameters", "-o", "jsonl"}).out,
            "{\"experiment\":12,\"trial\":1,\"attempt\":1,\"step\":5,\"zeta\":0.5}\n");
}

TEST_F(ProgramMetricsTest, AnUnreportedMetricIsRefusedUnlessTheSearchUsesIt) {
  AddProgram();
  const Ran unknown = Run({"metrics", "12", "--metric", "zetta"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_TRUE(Has(unknown.err, "did you mean 'zeta'?")) << unknown.err;
  const Ran to_come = Run({"metrics", "12", "--metric", "accuracy"});
  EXPECT_EQ(to_come.code, 0) << to_come.err;
  EXPECT_EQ(to_come.out, "experiment,trial,attempt,step,accuracy,train.batch_size\n");
}

TEST_F(CommandTest, AnUnknownMetricIsRefusedWithTheNearest) {
  AddExperiment(12, 1);
  const Ran ran = Run({"metrics", "12", "--metric", "los"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "did you mean 'loss'?")) << ran.err;
}

}  // namespace
}  // namespace dt::cli
