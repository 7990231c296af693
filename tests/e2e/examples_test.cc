// examples_test.cc: the examples for studies of scaling, made small, from submission to report.
// Checks that each report has the parts that its example is meant to show.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/e2e/training_fixture.h"

namespace dt {
namespace {

// Half a minute on two cores; a busy machine takes several times that.
constexpr std::chrono::minutes kAll{4};

class ExamplesTest : public TrainingTest {
 protected:
  void SetUp() override {
    cluster_.StartCoordinator();
    for (const char* worker : {"w0", "w1", "w2", "w3"}) cluster_.StartWorker(worker);
    ASSERT_TRUE(cluster_.AwaitWorkers(4));
    MakeData("quickstart");
  }
  // Runs the example with a smaller model and shorter trials, and returns its report.
  std::string ReportOf(const std::string& example, const std::vector<std::string>& settings) {
    std::vector<std::string> arguments = {
        "submit", std::string(DTRAIN_SOURCE_DIR) + "/examples/" + example, "--id-only"};
    for (const char* setting : {"model.n_head=2", "model.n_embd=32", "model.n_ff=64",
                                "model.n_positions=32", "train.seq_len=32", "eval.tokens=128"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    const std::string id = std::to_string(strtoull(MustDtctl(arguments).out.c_str(), nullptr, 10));
    EXPECT_TRUE(cluster_.AwaitEnd(strtoull(id.c_str(), nullptr, 10), kAll)) << example;
    std::string report = MustDtctl({"report", id}).out;
    EXPECT_NE(report.find("state: finished"), std::string::npos) << report;
    return report;
  }
  // Returns the section under this heading, up to the next heading; "" if there is none.
  static std::string Section(const std::string& report, const std::string& heading) {
    const size_t from = report.find("\n## " + heading + "\n");
    if (from == std::string::npos) return "";
    return report.substr(from, report.find("\n## ", from + 1) - from);
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  // Counts the rows of a section's tables whose first cell names a trial ("1/2").
  static long RowsOf(const std::string& section) {
    long rows = 0;
    for (size_t at = 0; (at = section.find("\n| ", at)) != std::string::npos; ++at) {
      rows += Has(section.substr(at, section.find(" |", at + 3) - at), "/") ? 1 : 0;
    }
    return rows;
  }
  // Every study of ranks shows the phases of each trial's time, and the traffic and memory of its
  // ranks.
  static void ExpectPhasesTrafficAndMemory(const std::string& report, long trials, long alone) {
    const std::string phases = Section(report, "Where the time goes");
    for (const char* phase : {"forward", "backward", "exposed communication", "optimizer"}) {
      EXPECT_TRUE(Has(phases, phase)) << phase << "\n" << phases;
    }
    EXPECT_EQ(RowsOf(phases), trials) << phases;
    EXPECT_EQ(RowsOf(Section(report, "Memory")), trials) << report;
    EXPECT_GE(RowsOf(Section(report, "Communication")), trials - alone) << report;
  }
};

TEST_F(ExamplesTest, ScalingReportsHaveTheEfficiencyOfEachNumberOfRanks) {
  for (const std::string kind : {"weak", "strong"}) {
    const std::string report =
        ReportOf("scaling-" + kind + ".yaml", {"train.max_steps=12", "checkpoint.every=0"});
    const std::string scaling = Section(report, "Scaling");
    EXPECT_TRUE(Has(scaling, "efficiency")) << report;
    for (const char* ranks : {" | 1 | ", " | 2 | ", " | 4 | "}) {
      EXPECT_TRUE(Has(scaling, "| " + kind + ranks)) << scaling;
    }
    EXPECT_TRUE(Has(scaling, " 100.0% |")) << scaling;
    ExpectPhasesTrafficAndMemory(report, 3, 1);
    EXPECT_TRUE(Has(Section(report, "Communication"), "| all_reduce | data | 4 |")) << report;
  }
}

TEST_F(ExamplesTest, TheReportOfStrategiesHasEachOnesPhasesTrafficAndMemory) {
  const std::string report =
      ReportOf("strategies.yaml", {"train.max_steps=8", "model.n_layer=4", "checkpoint.every=0"});
  ExpectPhasesTrafficAndMemory(report, 10, 0);
  const std::string traffic = Section(report, "Communication");
  for (const char* sent : {"ddp shard=0 tensor=1 pipeline=1 | all_reduce | data | 4 |",
                           "zero1 shard=0 tensor=1 pipeline=1 | reduce_scatter | shard | 4 |",
                           "zero2 shard=0 tensor=1 pipeline=1 | reduce_scatter | shard | 4 |",
                           "zero3 shard=0 tensor=1 pipeline=1 | all_gather | shard | 4 |",
                           "local_sgd shard=0 tensor=1 pipeline=1 | all_reduce | data | 4 |",
                           "gossip shard=0 tensor=1 pipeline=1 | send | data | 4 |",
                           "hsdp shard=2 tensor=1 pipeline=1 | all_gather | shard | 2 |",
                           "hsdp shard=2 tensor=1 pipeline=1 | all_reduce | replicate | 2 |",
                           "ddp shard=0 tensor=2 pipeline=1 | all_gather | tensor | 2 |",
                           "zero1 shard=0 tensor=2 pipeline=1 | all_gather | tensor | 2 |",
                           "ddp shard=0 tensor=1 pipeline=2 | send | pipeline | 2 |"}) {
    EXPECT_TRUE(Has(traffic, sent)) << sent << "\n" << traffic;
  }
  EXPECT_EQ(RowsOf(Section(report, "Pipelines")), 1) << report;
}

TEST_F(ExamplesTest, TheReportOfBatchesHasTheCriticalOneBesideTheNoiseScale) {
  const std::string report =
      ReportOf("critical-batch.yaml",
               {"train.max_tokens=80000", "parameters.train.global_batch_size=[8, 32, 128]",
                "parameters.optimizer.lr=[1.0e-2]"});
  const std::string batches = Section(report, "Batch size");
  EXPECT_TRUE(Has(batches, "Critical batch, by these steps: ")) << batches;
  EXPECT_TRUE(Has(batches, "| trial | parameters | B | N | B ÷ N |")) << batches;
  EXPECT_EQ(RowsOf(batches), 6) << "three with the steps to a loss, three with the noise scale\n"
                                << batches;
  ExpectPhasesTrafficAndMemory(report, 3, 0);
}

}  // namespace
}  // namespace dt
