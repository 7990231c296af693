// strategies_test.cc: reasons to set parallel.*, through the real programs: a model that fits under
// one strategy alone, and a pipeline's idle time as users read it.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/training_fixture.h"
#include "tests/testing/await.h"

namespace dt {
namespace {

using Json = nlohmann::json;

class StrategiesTest : public TrainingTest {
 protected:
  void Start(const std::vector<std::string>& worker_flags) {
    cluster_.StartCoordinator();
    for (const char* worker : {"w0", "w1"}) cluster_.StartWorker(worker, worker_flags);
    ASSERT_TRUE(cluster_.AwaitWorkers(2));
    MakeData("text");
  }
  std::string Metrics() {
    FILE* pipe = popen((PYTHON " -c 'import urllib.request as u; print(u.urlopen(\"http://" +
                        cluster_.http_address() + "/metrics\", timeout=20).read().decode())'")
                           .c_str(),
                       "r");
    std::string text;
    char buffer[4096];
    for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
      text.append(buffer, got);
    }
    EXPECT_EQ(pclose(pipe), 0);
    return text;
  }
  static std::string File(const std::string& parallel, const std::string& model) {
    return "version: 1\nname: strategies\nseed: 7\nresources: {gpus: 2, device: cpu}\n" + parallel +
           "data: {train: 'text/train_*.bin', val: 'text/val_*.bin', tokenizer: byte}\nmodel: " +
           model + "\nprecision: {compute: fp32}\n";
  }
};

// State of 57 million parameters: 0.9 GB if each rank has all of it, half of that if two share it.
TEST_F(StrategiesTest, AModelTooLargeForDdpFinishesUnderZero3AsPlanned) {
  Start({"--memory-limit", "1050M"});
  const std::string path = cluster_.folder().Write(
      "large.yaml", File("parameters: {parallel.strategy: [ddp, zero3]}\n",
                         "{n_layer: 8, n_head: 8, n_embd: 768, n_ff: 3072, n_positions: 32, "
                         "vocab_size: 257}") +
                        "train: {batch_size: 1, seq_len: 32, max_steps: 3}\n"
                        "eval: {every: 0, batches: 1}\ncheckpoint: {every: 0}\n");
  const Json plan = Json::parse(Dtctl({"plan", path, "-o", "json"}).out);
  ASSERT_EQ(plan["configurations"].size(), 2u) << plan.dump(1);
  std::map<std::string, std::string> verdicts;
  for (const Json& each : plan["configurations"][0]["strategies"]) {
    if (each["tensor"] == 1 && each["pipeline"] == 1) verdicts[each["strategy"]] = each["verdict"];
  }
  EXPECT_EQ(verdicts["ddp"], "too_large") << plan.dump(1);
  EXPECT_NE(verdicts["zero3"], "too_large") << plan.dump(1);
  ASSERT_EQ(MustDtctl({"submit", path}).code, 0);
  ASSERT_TRUE(cluster_.AwaitEnd(1, std::chrono::seconds(240)));
  EXPECT_EQ(cluster_.Trial(1, 1).cause(), v1::CAUSE_OOM) << cluster_.Trial(1, 1).message();
  EXPECT_EQ(cluster_.Trial(1, 2).state(), v1::TRIAL_FINISHED) << cluster_.Trial(1, 2).message();
  EXPECT_EQ(cluster_.Explain(1, 2).attempts_size(), 1) << Dtctl({"explain", "1/2"}).out;
}

TEST_F(StrategiesTest, APipelineReportsItsStagesWaitsBesideTheFormula) {
  Start({});
  const std::string path = cluster_.folder().Write(
      "pipeline.yaml",
      File("parallel: {pipeline: 2, microbatches: 3}\n",
           "{n_layer: 2, n_head: 2, n_embd: 48, n_ff: 96, n_positions: 64, "
           "vocab_size: 257}") +
          "train: {batch_size: 2, seq_len: 64, max_steps: 12}\nlogging: {every: 1}\n"
          "eval: {every: 0, batches: 1}\n");
  ASSERT_EQ(MustDtctl({"submit", path}).code, 0);
  ASSERT_TRUE(cluster_.AwaitEnd(1, std::chrono::seconds(120))) << Dtctl({"explain", "1/1"}).out;
  ASSERT_EQ(cluster_.Trial(1, 1).state(), v1::TRIAL_FINISHED) << cluster_.Trial(1, 1).message();
  const std::string described = MustDtctl({"describe", "1/1"}).out;
  EXPECT_NE(described.find("of a step in which stages waited; 25% by the formula"),
            std::string::npos)
      << described;
  const std::string report = MustDtctl({"report", "1"}).out;
  EXPECT_NE(report.find("Pipelines"), std::string::npos) << report;
  // The metrics come from a snapshot that is made from time to time.
  std::string metrics;
  const auto has = [&metrics](const std::string& line) {
    return metrics.find(line) != std::string::npos;
  };
  EXPECT_TRUE(testing::Await([&] {
    metrics = Metrics();
    return has("dtrain_trial_pipeline_bubble_ratio{experiment=\"1\",trial=\"1\"} 0.25\n") &&
           has("dtrain_trial_collective_exposed_seconds_total{experiment=\"1\",trial=\"1\","
               "op=\"recv\",axis=\"pipeline\"} ");
  })) << metrics;
}

}  // namespace
}  // namespace dt
