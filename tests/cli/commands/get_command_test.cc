// get_command_test.cc: dtctl get, against a fake coordinator.
#include "nlohmann/json.hpp"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

TEST_F(CommandTest, ListsAreGatheredFromAllPagesInOrder) {
  AddExperiment(12, 7);
  control_.Edit([](FakeControl::World& world) { world.page_limit = 3; });
  EXPECT_EQ(Run({"get", "trials", "12", "-o", "name"}).out,
            "12/1\n12/2\n12/3\n12/4\n12/5\n12/6\n12/7\n");
}

TEST_F(CommandTest, GetTrialsShowsTheNewestExperimentWhenNoneIsWritten) {
  AddExperiment(3, 1);
  AddExperiment(4, 1);
  EXPECT_EQ(Run({"get", "trials", "-o", "name"}).out, "4/1\n");
}

TEST_F(CommandTest, GetTrialsHasAColumnForEachSweptParameter) {
  AddExperiment(12, 2);
  const Ran ran = Run({"get", "trials", "12"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(
      ran.out,
      "TRIAL  batch_size  STATE    STEP  LOSS  VAL LOSS  BEST  TOKENS/S  LEFT  NOTE\n"
      "12/1            8  pending     -     -         -     -         -     -  both slots are "
      "taken\n"
      "12/2           16  pending     -     -         -     -         -     -  both slots are "
      "taken\n");
}

TEST_F(CommandTest, TrialsOfAProgramThatWaitHaveNoColumnsOfModels) {
  AddExperiment(12, 2);
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_program(true);
  });
  const std::string out = Run({"get", "trials", "12"}).out;
  EXPECT_FALSE(Has(out, "LOSS")) << out;
  EXPECT_FALSE(Has(out, "TOKENS/S")) << out;
}

TEST_F(CommandTest, AMetricThatNoColumnShowsHasOneUnderItsName) {
  AddExperiment(12, 2);
  control_.Edit([&](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_metric("hellaswag_acc");
    Trial(world, 12, 2).set_metric_value(0.3125);
  });
  const std::string out = Run({"get", "trials", "12"}).out;
  EXPECT_TRUE(Has(out, "TRIAL  batch_size  hellaswag_acc  STATE")) << out;
  EXPECT_TRUE(Has(out, "12/2           16         0.3125  pending")) << out;
  control_.Edit([&](FakeControl::World& world) {
    *world.experiments[12].explanations[2].mutable_trial() = Trial(world, 12, 2);
  });
  const std::string described = Run({"describe", "12/2"}).out;
  EXPECT_TRUE(Has(described, "metric        hellaswag_acc 0.3125")) << described;
}

TEST_F(CommandTest, BestIsByTheMetricThatComparesTrialsWithItsStep) {
  AddExperiment(12, 2);
  control_.Edit([&](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_metric("accuracy");
    world.experiments[12].found.mutable_summary()->set_goal("maximize");
    v1::TrialSummary& one = Trial(world, 12, 1);
    one.set_metric_value(0.4);
    one.set_metric_step(10);
    one.set_metric_newest(0.1);
    one.set_best_val_loss(2);  // which this trial reports, too
    one.set_best_val_step(30);
    Trial(world, 12, 2).set_best_val_loss(1);  // this trial reports nothing else
    *world.experiments[12].explanations[1].mutable_trial() = one;
  });
  const std::string out = Run({"get", "trials", "12"}).out;
  EXPECT_TRUE(Has(out, "accuracy")) << out;
  EXPECT_TRUE(Has(out, "0.1000")) << "the newest: " << out;
  EXPECT_TRUE(Has(out, "0.4000 at 10")) << out;
  EXPECT_FALSE(Has(out, "1.0000")) << "is no accuracy: " << out;
  const std::string results = Run({"best", "12"}).out;
  EXPECT_TRUE(Has(results, "0.4000 at 10")) << results;
  const std::string described = Run({"describe", "12/1"}).out;
  EXPECT_TRUE(Has(described, "metric        accuracy 0.1000, best 0.4000 at 10")) << described;
  EXPECT_TRUE(Has(described, "best          2.0000 at 30")) << "of val loss: " << described;
}

TEST_F(CommandTest, ListsShowAPausedExperimentAsPausedWhateverItsTrialsDo) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    v1::ExperimentSummary& summary = *world.experiments[12].found.mutable_summary();
    summary.set_paused(true);
    summary.set_paused_by("ann");
  });
  const std::string list = Run({"get", "experiments"}).out;
  EXPECT_TRUE(Has(list, "quickstart  paused")) << list;
  EXPECT_TRUE(Has(Run({"top", "--once"}).out, "paused"));
  EXPECT_TRUE(Has(Run({"describe", "12"}).out, "state         paused"));
  const auto json = nlohmann::json::parse(Run({"get", "experiments", "-o", "json"}).out);
  EXPECT_EQ(json["items"][0]["state"], "queued") << "unchanged; `paused` tells the rest";
  EXPECT_EQ(json["items"][0]["paused"], true);
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_state(v1::EXPERIMENT_CANCELLED);
  });
  EXPECT_TRUE(Has(Run({"get", "experiments"}).out, "quickstart  cancelled"));
}

TEST_F(CommandTest, CsvHasTheSameColumnsWhateverIsListed) {
  AddExperiment(12, 2);
  const auto header = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-o", "csv"});
    const std::string out = Run(arguments).out;
    return out.substr(0, out.find('\n'));
  };
  for (const char* kind : {"experiments", "workers", "checkpoints"}) {
    EXPECT_TRUE(Has(header({"get", kind}), ",")) << "a header, if nothing else: " << kind;
  }
  const std::string waiting = header({"get", "trials", "12"});
  const std::string experiment = header({"get", "experiments"});
  EXPECT_TRUE(Has(waiting, ",assignments.train.batch_size")) << waiting;
  EXPECT_EQ(header({"get", "trials", "12", "--state", "failed"}), waiting) << "no trial at all";
  control_.Edit([&](FakeControl::World& world) {
    FinishAll(world, 12);
    Trial(world, 12, 1).mutable_latest()->set_loss(2);
    Trial(world, 12, 1).mutable_last_checkpoint()->set_path("p");
    v1::Label& label = *world.experiments[12].found.mutable_summary()->add_labels();
    label.set_key("team");
    label.set_value("vision");
  });
  EXPECT_EQ(header({"get", "trials", "12"}), waiting);
  EXPECT_EQ(header({"get", "experiments"}), experiment);
  EXPECT_TRUE(Has(Run({"get", "experiments", "-o", "csv"}).out, ",team=vision,"));
}

TEST_F(CommandTest, JsonListsAreVersionedAndSayUnknownAsNull) {
  AddExperiment(12, 1);
  const Ran ran = Run({"get", "trials", "12", "-o", "json"});
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["apiVersion"], "dtrain/v1");
  EXPECT_EQ(json["kind"], "TrialList");
  const auto& trial = json["items"][0];
  EXPECT_EQ(trial["id"], "12/1");
  EXPECT_EQ(trial["state"], "pending");
  EXPECT_EQ(trial["assignments"]["train.batch_size"], 8);
  EXPECT_TRUE(trial["val_loss"].is_null());
  EXPECT_TRUE(trial["eta_seconds"].is_null());
  EXPECT_TRUE(trial["latest"].is_null());
  EXPECT_TRUE(trial["tokens_per_second"].is_null());
  EXPECT_TRUE(trial["model_parameters"].is_null());
}

TEST_F(CommandTest, LabelsChooseExperimentsAndTheirTrials) {
  AddExperiment(1, 1);
  AddExperiment(2, 2);
  control_.Edit([](FakeControl::World& world) {
    v1::Label& label = *world.experiments[2].found.mutable_summary()->add_labels();
    label.set_key("team");
    label.set_value("vision");
  });
  EXPECT_EQ(Run({"get", "experiments", "-l", "team=vision", "-o", "name"}).out, "2\n");
  EXPECT_EQ(Run({"get", "trials", "-l", "team=vision", "-o", "name"}).out, "2/1\n2/2\n");
  EXPECT_EQ(Run({"get", "experiments", "-l", "team"}).code, 2);
}

TEST_F(CommandTest, StatesChooseTrialsAndAnUnknownStateIsRefused) {
  AddExperiment(12, 3);
  control_.Edit(
      [&](FakeControl::World& world) { Trial(world, 12, 2).set_state(v1::TRIAL_FAILED); });
  EXPECT_EQ(Run({"get", "trials", "12", "--state", "failed", "-o", "name"}).out, "12/2\n");
  EXPECT_EQ(Run({"get", "trials", "12", "--state", "sad"}).code, 2);
}

TEST_F(CommandTest, NamesOfOthersCannotSendEscapeCodesToTheTerminal) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_name("evil\x1b[2J");
  });
  tty_ = true;
  environment_["NO_COLOR"] = "1";
  const Ran ran = Run({"get", "experiments"});
  EXPECT_FALSE(Has(ran.out, "\x1b[2J")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "evil\\x1b[2J")) << ran.out;
}

TEST_F(CommandTest, AnEmptyListIsReportedOnStderrAndLeavesStdoutEmpty) {
  const Ran ran = Run({"get", "workers"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(Has(ran.err, "dtworker")) << ran.err;
}

TEST_F(CommandTest, NoWorkersWithALabelIsNotNoWorkers) {
  control_.Edit([](FakeControl::World& world) { world.workers.emplace_back().set_worker("a"); });
  EXPECT_TRUE(Has(Run({"get", "workers", "-l", "rack=7"}).err, "No worker has these labels."));
}

TEST_F(CommandTest, ListsOfExperimentsFitNarrowTerminals) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) { FinishAll(world, 12); });
  tty_ = true;
  for (columns_ = 80; columns_ <= 120; columns_ += 20) {
    const std::string out = Run({"get", "experiments", "--no-color"}).out;
    EXPECT_FALSE(Has(out, "…")) << out;
    EXPECT_TRUE(Has(out, "AGE")) << out;
    size_t longest = 0;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    EXPECT_LE(longest, static_cast<size_t>(columns_)) << out;
  }
}

TEST_F(CommandTest, WatchLooksAgainUntilCtrlC) {
  AddExperiment(12, 1);
  control_.SetCallHook([this](std::string_view method, int count, FakeControl::World&) {
    if (method == "ListTrials" && count == 3) interrupt_.Trigger();
    return grpc::Status::OK;
  });
  const Ran ran = Run({"get", "trials", "12", "--watch", "-o", "name"});
  EXPECT_EQ(ran.code, 130);
  EXPECT_TRUE(Has(ran.out, "12/1\n12/1\n")) << ran.out;
  EXPECT_EQ(ran.err, "");
}

TEST_F(CommandTest, CtrlCDuringWatchLeavesTheShellALineOfItsOwn) {
  AddExperiment(12, 1);
  tty_ = true;
  control_.SetCallHook([this](std::string_view method, int count, FakeControl::World&) {
    if (method == "ListTrials" && count == 2) interrupt_.Trigger();
    return grpc::Status::OK;
  });
  const Ran ran = Run({"get", "trials", "12", "--watch"});
  EXPECT_EQ(ran.code, 130);
  EXPECT_EQ(ran.err, "\n") << "after the terminal's own ^C";
}

}  // namespace
}  // namespace dt::cli
