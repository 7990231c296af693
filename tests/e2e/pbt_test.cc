// pbt_test.cc: population-based training with the real programs: a member with an absurd learning
// rate continues with another member's weights, and a coordinator that is killed many times decides
// the same.
#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "tests/e2e/search_fixture.h"

namespace dt {
namespace {

constexpr int kSteps = 40;
constexpr int kShare = 10;
constexpr int kKills = 6;

class PbtTest : public SearchTest {
 protected:
  // Submits two members that run one after the other on one worker; the second learns nothing by
  // itself.
  uint64_t SubmitPopulation(const std::string& name) {
    const std::string path = cluster_.folder().Write(
        name + ".yaml",
        "version: 1\nname: " + name +
            "\nseed: 7\n"
            "search: {method: pbt, max_trials: 4, pbt: {every: 0.25, resample: 0}}\n"
            "parameters: {optimizer.lr: {min: 1.0e-7, max: 1.0e-1, scale: log}}\n"
            "include: [{optimizer.lr: 1.0e-2}, {optimizer.lr: 1.0e-7}, {optimizer.lr: 3.0e-3}]\n"
            "resources: {gpus: 1, device: cpu}\n"
            "data: {train: \"text/train_*.bin\", val: \"text/val_*.bin\", tokenizer: byte, "
            "shuffle: true}\n"
            "model: {preset: gpt2, n_layer: 1, n_head: 2, n_embd: 32, n_ff: 64, n_positions: 32}\n"
            "train: {batch_size: 4, seq_len: 32, max_steps: " +
            std::to_string(kSteps) +
            "}\nschedule: {warmup_steps: 1}\nprecision: {compute: fp32}\n"
            "eval: {every: 40, batches: 2}\ncheckpoint: {every: 40}\nlogging: {every: 1}\n"
            "retries: {max: 5, backoff: 100ms}\n");
    return strtoull(MustDtctl({"submit", path, "--id-only"}).out.c_str(), nullptr, 10);
  }
  uint64_t RunPopulation(const std::string& name) {
    const uint64_t experiment = SubmitPopulation(name);
    EXPECT_TRUE(experiment != 0 && cluster_.AwaitEnd(experiment, kSearch));
    return experiment;
  }
  // Returns the loss in the row of a step.
  std::string LossAt(uint64_t experiment, uint32_t trial, int step) {
    for (const std::string& row : Losses(experiment, trial)) {
      if (atoi(row.c_str()) == step) return row.substr(0, row.rfind(','));
    }
    return absl::StrCat("no row of step ", step);
  }
};

TEST_F(PbtTest, AMemberWithAnAbsurdRateEndsWithGoodWeightsAndTheLossOfItsLineage) {
  Start({"w0"});
  MakeData("text");
  const uint64_t experiment = RunPopulation("population");
  const std::vector<Json> trials = TrialsOf(experiment);
  ASSERT_EQ(trials.size(), 4u);
  for (const Json& trial : trials) {
    EXPECT_EQ(Word(trial, "state"), "finished") << trial.dump(1);
    EXPECT_EQ(trial.value("step", 0), kSteps);
  }
  EXPECT_TRUE(trials[0].at("chosen").is_null()) << "the first at each share has none before it";
  EXPECT_EQ(Word(trials[1], "chosen").find("share "), 0u) << Word(trials[1], "chosen");
  // The loss of the next step is that of the other member's weights, bit for bit; then the rates
  // make a difference.
  EXPECT_NE(LossAt(experiment, 2, kShare), LossAt(experiment, 1, kShare));
  EXPECT_EQ(LossAt(experiment, 2, kShare + 1), LossAt(experiment, 1, kShare + 1));
  EXPECT_NE(LossAt(experiment, 2, kShare + 3), LossAt(experiment, 1, kShare + 3));
  EXPECT_LT(trials[1].value("val_loss", 99.0), trials[0].value("val_loss", 0.0) + 0.5);

  const std::string id = std::to_string(experiment);
  const std::string told = MustDtctl({"describe", id + "/2"}).out;
  EXPECT_NE(told.find("share 1 (step 10): val_loss "), std::string::npos) << told;
  EXPECT_NE(told.find(" is 2nd of 2; it takes weights and values of trial 1 at step 10: "
                      "optimizer.lr 0.01 → "),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("resumes from step 10 of trial 1"), std::string::npos) << told;
  const std::string why = MustDtctl({"explain", id + "/2"}).out;
  EXPECT_NE(why.find("takes weights and values of trial 1"), std::string::npos) << why;
  const std::string report = MustDtctl({"report", id}).out;
  EXPECT_NE(report.find("| " + id + "/2 | " + id + "/1 | optimizer.lr 0.01 → "), std::string::npos)
      << report;
  // Checkpoints from the shares stay for members that come later.
  const auto saved = checkpoint::ListCheckpoints(cluster_.storage(), {experiment, 1});
  ASSERT_TRUE(saved.ok()) << saved.status();
  for (const uint64_t step : {10, 20, 30}) {
    EXPECT_TRUE(std::any_of(saved->begin(), saved->end(), [&](const auto& each) {
      return each.step == step;
    })) << step;
  }
}

TEST_F(PbtTest, ACoordinatorThatIsKilledInBetweenDecidesTheSameAndEveryLossIsTheSame) {
  Start({"w0"});
  MakeData("text");
  const uint64_t first = RunPopulation("undisturbed");
  const uint64_t second = SubmitPopulation("disturbed");
  ASSERT_NE(second, 0u);
  int kills = 0;
  for (; kills < kKills; ++kills) {
    const uint32_t trial = 1 + static_cast<uint32_t>(kills) / 2;
    const uint64_t step = kills % 2 == 0 ? kShare : 2 * kShare + 1;
    bool over = false;
    ASSERT_TRUE(Await(
        [&] {
          over = cluster_.Experiment(second).state() == v1::EXPERIMENT_FINISHED;
          return over || cluster_.Trial(second, trial).step() >= step;
        },
        kSearch));
    if (over) break;
    cluster_.KillCoordinator();
    cluster_.StartCoordinator();
  }
  EXPECT_GT(kills, 0);
  ASSERT_TRUE(cluster_.AwaitEnd(second, kSearch));
  EXPECT_EQ(DecisionsOf(second), DecisionsOf(first));
  for (uint32_t trial = 1; trial <= 4; ++trial) {
    EXPECT_EQ(Losses(second, trial), Losses(first, trial)) << trial;
  }
}

}  // namespace
}  // namespace dt
