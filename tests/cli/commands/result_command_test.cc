// result_command_test.cc: dtctl best, get configurations, importance, against a fake coordinator.
#include <cmath>

#include "nlohmann/json.hpp"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

class ResultCommandTest : public CommandTest {
 protected:
  // Adds batch_size 8 and 16 with three seeds each: losses 2, 3, 4 and 1, 2, 1.5.
  void AddSeeds(uint64_t id) {
    AddExperiment(id, 6);
    control_.Edit([&](FakeControl::World& world) {
      FinishAll(world, id);
      const double values[] = {2, 3, 4, 1, 2, 1.5};
      for (uint32_t i = 0; i < 6; ++i) {
        v1::TrialSummary& trial = Trial(world, id, i + 1);
        trial.set_metric_value(values[i]);
        trial.set_seed(1 + i % 3);
        trial.mutable_assignments(0)->mutable_value()->set_integer(i < 3 ? 8 : 16);
      }
      for (const int64_t seed : {1, 2, 3}) {
        world.experiments[id].found.mutable_spec()->add_seeds(seed);
      }
    });
  }

  // Adds a random search over the learning rate and a list, in which the rate is decisive.
  void AddSearch(uint64_t id, uint32_t trials) {
    AddExperiment(id, trials);
    control_.Edit([&](FakeControl::World& world) {
      FinishAll(world, id);
      world.experiments[id].found.mutable_spec()->mutable_search()->set_method("random");
      for (uint32_t i = 1; i <= trials; ++i) {
        v1::TrialSummary& trial = Trial(world, id, i);
        trial.mutable_assignments(0)->mutable_value()->set_integer(8 << i % 3);
        v1::Assignment& rate = *trial.add_assignments();
        rate.set_path("optimizer.lr");
        rate.mutable_value()->set_number(std::pow(10, -5 + 4 * (i * 7 % trials) / double(trials)));
        trial.set_metric_value(2 + (i * 7 % trials) / double(trials));
      }
    });
  }
};

TEST_F(ResultCommandTest, ConfigurationsAreMeansOverTheirSeeds) {
  AddSeeds(12);
  const Ran ran = Run({"get", "configurations", "12"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "TRIALS  batch_size    MEAN val_loss  FINISHED           BEST\n"
            "12/1…3           8  3.0000 ± 1.0000       3/3  2.0000 (12/1)\n"
            "12/4…6          16  1.5000 ± 0.5000       3/3  1.0000 (12/4)\n");
}

TEST_F(ResultCommandTest, ConfigurationsHaveTheSameColumnsForMachines) {
  AddSeeds(12);
  const std::string csv = Run({"get", "configurations", "12", "-o", "csv"}).out;
  EXPECT_EQ(csv,
            "id,experiment,trials,seeds,metric,n,ended,failed,mean,deviation,"
            "assignments.train.batch_size\n"
            "12/1,12,1;2;3,1;2;3,val_loss,3,3,0,3.0,1.0,8\n"
            "12/4,12,4;5;6,1;2;3,val_loss,3,3,0,1.5,0.5,16\n");
  const auto json = nlohmann::json::parse(Run({"get", "configurations", "12", "-o", "json"}).out);
  EXPECT_EQ(json["kind"], "ConfigurationList");
  EXPECT_EQ(json["items"][1]["mean"], 1.5);
  EXPECT_EQ(json["items"][1]["trials"], (std::vector<int>{4, 5, 6}));
}

TEST_F(ResultCommandTest, WithSeedsTheBestIsAConfigurationAndItsBestTrialsCheckpoint) {
  AddSeeds(12);
  control_.Edit([](FakeControl::World& world) {
    v1::CheckpointSummary& one = world.experiments[12].checkpoints.emplace_back();
    one.set_experiment(12);
    one.set_trial(4);
    one.mutable_checkpoint()->set_path("12/4/a1/step-200");
  });
  const Ran ran = Run({"best", "12"});
  EXPECT_TRUE(Has(ran.out, "12/4…6")) << ran.out << ran.err;
  EXPECT_TRUE(Has(ran.out, "1.5000 ± 0.5000")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "12/4/a1/step-200")) << ran.out;
  EXPECT_FALSE(Has(ran.out, "12/1")) << "one unless -k says more\n" << ran.out;
  const auto json = nlohmann::json::parse(Run({"best", "12", "-k", "2", "-o", "json"}).out);
  EXPECT_EQ(json["kind"], "BestConfigurationList");
  EXPECT_EQ(json["items"].size(), 2u);
  EXPECT_EQ(json["items"][0]["checkpoint"]["path"], "12/4/a1/step-200");
  EXPECT_EQ(Run({"best", "12", "-o", "name"}).out, "12/4\n");
  const std::string csv = Run({"best", "12", "-o", "csv"}).out;
  EXPECT_TRUE(Has(csv, ",best_trial,")) << csv;
  EXPECT_TRUE(Has(csv, ",checkpoint.path")) << csv;
}

TEST_F(ResultCommandTest, UnderAshaTheBestWasTrainedToItsEndAndABetterEarlyOneIsNamed) {
  AddExperiment(12, 3);
  control_.Edit([&](FakeControl::World& world) {
    FinishAll(world, 12);
    Trial(world, 12, 1).set_cause(v1::CAUSE_STOPPED_EARLY);
    Trial(world, 12, 1).set_step(20);
    *world.experiments[12].explanations[1].mutable_trial() = Trial(world, 12, 1);
  });
  EXPECT_EQ(Run({"best", "12", "-o", "name"}).out, "12/1\n") << "no rungs: as any other";
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].found.mutable_spec()->mutable_search()->set_method("asha");
    world.experiments[12].found.mutable_summary()->set_best_trial(2);
    world.experiments[12].found.mutable_summary()->set_best_value(4);
  });
  const Ran ran = Run({"best", "12", "-k", "3", "-o", "name"});
  EXPECT_EQ(ran.out, "12/2\n12/3\n12/1\n");
  const std::string why =
      "12/1 has a better val_loss, 3.0000, and was stopped early at step 20/200";
  EXPECT_TRUE(Has(ran.err, why)) << ran.err;
  const std::string described = Run({"describe", "12"}).out;
  EXPECT_TRUE(Has(described, "best          12/2  val_loss 4.0000")) << described;
  EXPECT_TRUE(Has(described, "but           " + why)) << described;
}

TEST_F(ResultCommandTest, ASearchByAnUnreportedMetricNamesTheReportedOnesAndHowToUseThem) {
  AddExperiment(12, 2);
  control_.Edit([](FakeControl::World& world) {
    FinishAll(world, 12);
    FakeControl::Experiment& one = world.experiments[12];
    one.found.mutable_summary()->set_program(true);
    one.found.mutable_summary()->set_best_trial(0);
    for (v1::TrialSummary& trial : one.trials) trial.set_metric_value(std::nan(""));
    v1::EvaluationRow& row = one.evaluations.emplace_back();
    row.set_trial(1);
    row.mutable_evaluation()->set_step(5);
    row.mutable_evaluation()->set_split("val");
    row.mutable_evaluation()->set_loss(std::nan(""));
    row.mutable_evaluation()->set_train_loss(1.5);
    for (const char* name : {"lr", "accuracy"}) {
      v1::Metric& metric = *row.mutable_evaluation()->add_metrics();
      metric.set_name(name);
      metric.set_value(0.5);
    }
  });
  const std::string why =
      "no trial has reported a number for val_loss, which search.metric says to compare by; "
      "reported were "
      "accuracy, loss, lr. Report val_loss, or set search.metric to one of these";
  const Ran best = Run({"best", "12"});
  EXPECT_EQ(best.code, 4);
  EXPECT_TRUE(Has(best.err, why)) << best.err;
  const std::string described = Run({"describe", "12"}).out;
  EXPECT_TRUE(Has(described, why)) << described;
  const auto json = nlohmann::json::parse(Run({"describe", "12", "-o", "json"}).out);
  EXPECT_TRUE(Has(json["no_metric"].get<std::string>(), why)) << json["no_metric"];
}

TEST_F(ResultCommandTest, WithoutAValueFailedTrialsAreNamed) {
  AddExperiment(12, 2);
  control_.Edit([](FakeControl::World& world) {
    FinishAll(world, 12);
    FakeControl::Experiment& one = world.experiments[12];
    one.found.mutable_summary()->set_program(true);
    one.found.mutable_summary()->set_best_trial(0);
    one.found.mutable_summary()->set_failed(2);
    for (v1::TrialSummary& trial : one.trials) trial.set_metric_value(std::nan(""));
  });
  EXPECT_TRUE(Has(Run({"best", "12"}).err, "2 trials failed: 'dtctl get trials 12' says why"));
}

TEST_F(ResultCommandTest, BeforeTheFirstEvaluationNothingIsWrong) {
  AddExperiment(12, 1);
  EXPECT_TRUE(Has(Run({"best", "12"}).err, "it comes with the first evaluation"));
  EXPECT_FALSE(Has(Run({"describe", "12"}).out, "no metric"));
}

TEST_F(ResultCommandTest, ImportanceShowsDecisiveParametersWithBars) {
  AddSearch(12, 40);
  const Ran ran = Run({"importance", "12"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "\noptimizer.lr")) << ran.out;
  EXPECT_LT(ran.out.find("optimizer.lr"), ran.out.find("train.batch_size")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "████████")) << ran.out;
  EXPECT_TRUE(Has(ran.err,
                  "Shares of the variance of val_loss over the full space of the "
                  "search, from 40 trials."))
      << ran.err;
  const auto json = nlohmann::json::parse(Run({"importance", "12", "-o", "json"}).out);
  EXPECT_EQ(json["kind"], "ImportanceList");
  EXPECT_EQ(json["items"][0]["parameters"], (std::vector<std::string>{"optimizer.lr"}));
  EXPECT_GT(json["items"][0]["share"], 0.8);
  const std::string csv = Run({"importance", "12", "-o", "csv"}).out;
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "parameters,share,deviation");
  EXPECT_TRUE(Has(csv, "optimizer.lr;train.batch_size,")) << csv;
}

TEST_F(ResultCommandTest, ImportanceOfTooFewTrialsSaysHowManyAreNeeded) {
  AddSearch(12, 5);
  const Ran ran = Run({"importance", "12"});
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(Has(ran.err,
                  "experiment 12: 5 trials have a value, and 12 are needed to say what "
                  "2 parameters do"))
      << ran.err;
}

TEST_F(ResultCommandTest, UnderAshaImportanceUsesTheValuesAtARung) {
  AddSearch(12, 20);
  control_.Edit([&](FakeControl::World& world) {
    FakeControl::Experiment& one = world.experiments[12];
    one.found.mutable_spec()->mutable_search()->set_method("asha");
    one.found.mutable_spec()->mutable_search()->set_metric("val_loss");
    for (v1::TrialSummary& trial : one.trials) {
      v1::EvaluationRow& row = one.evaluations.emplace_back();
      row.set_trial(trial.trial());
      row.mutable_evaluation()->set_split("val");
      row.mutable_evaluation()->set_step(23);  // ⌈200 / 9⌉
      row.mutable_evaluation()->set_loss(trial.metric_value());
      trial.set_metric_value(std::nan(""));
      one.rows.emplace_back().set_trial(trial.trial());
    }
  });
  const Ran ran = Run({"importance", "12"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.err, "val_loss at rung 2 (1/9 of the steps)")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "from 20 trials.")) << ran.err;
}

TEST_F(ResultCommandTest, ASearchWithoutATrialNamesTheReasonOfItsWait) {
  AddExperiment(12, 0);
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_planned_trials(30);
    v1::ExperimentSpec& spec = *world.experiments[12].found.mutable_spec();
    spec.mutable_search()->set_method("bayes");
    spec.mutable_base()->mutable_resources()->set_gpus(2);
    spec.mutable_base()->mutable_resources()->set_device("cpu");
  });
  EXPECT_TRUE(Has(Run({"get", "trials", "12"}).err,
                  "No trial yet: up to 30 trials, each proposed when it has slots; 'dtctl describe "
                  "12' says what it waits for."));
  EXPECT_TRUE(Has(Run({"describe", "12"}).out,
                  "waits for     a worker: no cpu worker is connected; start one with 'dtctl up' "
                  "or dtworker"));
  control_.Edit([](FakeControl::World& world) {
    for (const char* state : {"idle", "busy", "lost"}) {
      v1::WorkerSummary& worker = world.workers.emplace_back();
      worker.set_worker(state);
      worker.set_device("cpu");
      worker.set_state(state);
    }
    world.workers.emplace_back().set_device("cuda:0");
    world.workers.back().set_state("idle");
  });
  EXPECT_TRUE(Has(Run({"describe", "12"}).out,
                  "waits for     slots: a trial needs 2 cpu slots, and 1 of 2 connected workers "
                  "is idle"));
  control_.Edit([](FakeControl::World& world) { world.workers[1].set_state("idle"); });
  EXPECT_FALSE(Has(Run({"describe", "12"}).out, "waits for"));
}

}  // namespace
}  // namespace dt::cli
