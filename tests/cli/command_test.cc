// command_test.cc: whole command lines against a fake coordinator over loopback.
#include "cli/diagnostics.h"
#include "cli/experiment_file.h"
#include "nlohmann/json.hpp"
#include "spec/spec.h"
#include "tests/cli/fixture.h"

namespace dt::cli {

namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// --- Usage ---

TEST_F(CommandTest, AMistypedCommandIsCorrectedAndExitsTwo) {
  const Ran ran = Run({"submti", "grid.yaml"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "did you mean 'submit'?")) << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST_F(CommandTest, AMistypedOptionIsCorrectedAndExitsTwo) {
  const Ran ran = Run({"wait", "12", "--timout", "5s"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "did you mean '--timeout'?")) << ran.err;
}

TEST_F(CommandTest, AMissingArgumentExitsTwoAndPointsAtHelp) {
  const Ran ran = Run({"describe"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "SEL is required")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "dtctl describe --help")) << ran.err;
}

TEST_F(CommandTest, HelpOfEveryCommandLeadsWithExamplesOnStdout) {
  const auto tree = MakeCommandTree();
  for (const CLI::App* command : tree->app().get_subcommands({})) {
    const Ran ran = Run({command->get_name(), "--help"});
    EXPECT_EQ(ran.code, 0) << command->get_name();
    EXPECT_TRUE(Has(ran.out, "Examples:\n  dtctl ") || Has(ran.out, "Examples:\n  source "))
        << ran.out;
  }
}

TEST_F(CommandTest, AFormatThatACommandDoesNotHaveIsRefusedWithThoseItHas) {
  AddExperiment(12, 1);
  const Ran ran = Run({"describe", "12", "-o", "csv"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "use table, json, yaml")) << ran.err;
}

TEST_F(CommandTest, SharedOptionsStandBeforeOrAfterTheCommand) {
  AddExperiment(12, 1);
  EXPECT_EQ(Run({"-o", "name", "get", "trials", "12"}).out, "12/1\n");
  EXPECT_EQ(Run({"get", "trials", "12", "-o", "name"}).out, "12/1\n");
}

TEST_F(CommandTest, ASelectorThatIsNoneExitsTwo) {
  EXPECT_EQ(Run({"describe", "twelve"}).code, 2);
  EXPECT_EQ(Run({"explain", "12"}).code, 2);
  EXPECT_EQ(Run({"follow", "12/3"}).code, 2);
}

TEST_F(CommandTest, WrongNumbersAreRefusedInPlainWords) {
  AddExperiment(12, 1);
  const auto said = [this](const std::vector<std::string>& words, const std::string& text) {
    const Ran ran = Run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(Has(ran.err, text)) << ran.err;
  };
  said({"best", "12", "-k", "0"}, "-k is 0; it must be at least 1");
  said({"best", "12", "-k", "many"}, "-k is 'many'; it must be a number");
  said({"logs", "12/1", "--rank", "-1"}, "--rank is -1; it must be at least 0");
  said({"submit", "-", "--max-concurrent", "-1"}, "--max-concurrent is -1; it must be at least 0");
  said({"get"}, "which command? There is experiments, trials");
  said({"submit", "-", "--follow", "--wait"}, "cannot be given together; keep one");
  said({"data", "tokenize", "--output", "x", "--tokenizer", "gpt2", "y"}, "give --vocab FILE");
  said({"data", "tokenize", "--output", "x", "--vocab", "v", "y"},
       "--vocab is of --tokenizer gpt2");
  said({"data", "tokenize", "--output", "x", "--threads", "0", "y"}, "0 threads");
  EXPECT_TRUE(Has(RunAsWritten({"wait", "12", "--timeout"}).err, "--timeout needs a value"));
}

// --- Connection ---

TEST_F(CommandTest, TheEnvironmentNamesTheCoordinatorAndAFlagOverrulesIt) {
  environment_["DTCTL_ADDRESS"] = control_.address();
  EXPECT_EQ(RunAsWritten({"version"}).code, 0);
  EXPECT_EQ(RunAsWritten({"version", "--address", "unix:/nonexistent/dtrain.sock"}).code, 3);
}

TEST_F(CommandTest, TheEnvironmentsFormatIsAWishOfEveryCommandThatHasIt) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) { FinishAll(world, 12); });
  environment_["DTCTL_OUTPUT"] = "json";
  EXPECT_TRUE(Has(Run({"get", "trials"}).out, "TrialList"));
  EXPECT_EQ(Run({"wait", "12"}).code, 0) << "has no JSON";
  EXPECT_EQ(Run({"get", "trials", "-o", "name"}).out, "12/1\n");
}

TEST_F(CommandTest, LongMessagesAreNotCutOnATerminal) {
  AddExperiment(12, 1);
  const std::string message = std::string(150, 'x') + " the end";
  control_.Edit([&](FakeControl::World& world) {
    v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
    *found.mutable_trial() = Trial(world, 12, 1);
    found.set_explanation(message);
  });
  tty_ = true;
  EXPECT_TRUE(Has(Run({"explain", "12/1"}).out, message));
}

TEST_F(CommandTest, NoCoordinatorExitsThreeAndNamesTheAddress) {
  const Ran ran =
      RunAsWritten({"get", "experiments", "--address", "unix:/nonexistent/dtrain.sock"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(Has(ran.err, "unix:/nonexistent/dtrain.sock")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "--address")) << ran.err;
}

TEST_F(CommandTest, AnotherHostWithoutTlsIsRefusedBeforeConnecting) {
  const Ran ran = RunAsWritten({"get", "experiments", "--address", "gpu07:7600"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "--tls-ca")) << ran.err;
}

TEST_F(CommandTest, ErrorsAreOneJsonObjectOnStderrWithJsonOutput) {
  const Ran ran = Run({"describe", "12", "-o", "json"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(ran.out, "");
  const auto error = nlohmann::json::parse(ran.err);
  EXPECT_EQ(error["apiVersion"], "dtrain/v1");
  EXPECT_EQ(error["kind"], "Error");
  EXPECT_EQ(error["code"], "not_found");
}

// --- get ---

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
  EXPECT_EQ(ran.out,
            "TRIAL  batch_size  STATE    STEP  LOSS  VAL LOSS  TOKENS/S  LEFT  NOTE\n"
            "12/1            8  waiting     -     -         -         -     -  both slots are "
            "taken\n"
            "12/2           16  waiting     -     -         -         -     -  both slots are "
            "taken\n");
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

TEST_F(CommandTest, AnEmptyListIsSaidOnStderrAndLeavesStdoutEmpty) {
  const Ran ran = Run({"get", "workers"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(Has(ran.err, "dtworker")) << ran.err;
}

TEST_F(CommandTest, NoWorkersWithALabelIsNotNoWorkers) {
  control_.Edit([](FakeControl::World& world) { world.workers.emplace_back().set_worker("a"); });
  EXPECT_TRUE(Has(Run({"get", "workers", "-l", "rack=7"}).err, "No such workers."));
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
  control_.OnCall([this](std::string_view method, int count, FakeControl::World&) {
    if (method == "ListTrials" && count == 3) interrupt_.Trigger();
    return grpc::Status::OK;
  });
  const Ran ran = Run({"get", "trials", "12", "--watch", "-o", "name"});
  EXPECT_EQ(ran.code, 130);
  EXPECT_TRUE(Has(ran.out, "12/1\n12/1\n")) << ran.out;
}

// --- describe, explain ---

TEST_F(CommandTest, DescribeAsYamlGivesTheSubmittedFileAndTheResolvedOne) {
  AddExperiment(12, 1);
  const Ran ran = Run({"describe", "12", "-o", "yaml"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.out, "from grid.yaml\nversion: 1\nname: quickstart\n---\n")) << ran.out;
  EXPECT_TRUE(Has(ran.out.substr(ran.out.find("---")), "name: quickstart")) << ran.out;
}

TEST_F(CommandTest, DescribedAsYamlATrialIsAFileThatRunsTheSameTrialAlone) {
  AddExperiment(12, 2);
  constexpr char kGrid[] =
      "version: 1\nname: g\nparameters: {model.n_layer: [2, 3]}\nresources: {gpus: 2, device: "
      "cpu}\n"
      "data: {train: t, val: v, tokenizer: byte}\ntrain: {max_steps: 10}\n";
  const v1::ExperimentSpec spec = ReadExperimentFile(kGrid, "grid.yaml").spec;
  const auto trials = spec::Expand(spec);
  const std::vector<v1::Assignment> second(trials->at(1).assignments().begin(),
                                           trials->at(1).assignments().end());
  control_.Edit([&](FakeControl::World& world) {
    *world.experiments[12].found.mutable_spec() = spec;
    v1::TrialSummary& trial = *world.experiments[12].explanations[2].mutable_trial();
    trial.set_experiment(12);
    trial.set_trial(2);
    *trial.mutable_assignments() = {second.begin(), second.end()};
  });
  const std::string file = Run({"describe", "12/2", "-o", "yaml"}).out;
  const ExperimentFile again = ReadExperimentFile(file, "again.yaml");
  EXPECT_TRUE(again.diagnostics.empty()) << RenderDiagnostics(again.diagnostics) << file;
  EXPECT_EQ(spec::ResolveTrial(again.spec, {})->SerializeAsString(),
            spec::ResolveTrial(spec, second)->SerializeAsString());
  for (const char* line : {"global_batch_size: 16", "n_layer: 3", "vocab_pad: 320", "compute: fp32",
                           "dropout: 0", "warmup_steps: -1"}) {
    EXPECT_TRUE(Has(file, line)) << line << "\n" << file;
  }
}

TEST_F(CommandTest, DescribeShowsTheProvenanceOfEachTrial) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::TrialSummary& trial = Trial(world, 12, 1);
    v1::Provenance& provenance = *trial.mutable_provenance();
    provenance.set_program_version("0.1.0");
    provenance.set_program_revision("abc123");
    provenance.set_torch_version("2.11.0");
    provenance.set_device_name("a CPU");
    provenance.set_host("gpu07");
    trial.set_data_fingerprint("f00d");
    trial.set_seed(1337);
    *world.experiments[12].explanations[1].mutable_trial() = trial;
  });
  for (const char* selector : {"12", "last/1"}) {
    const Ran ran = Run({"describe", selector});
    for (const char* part : {"0.1.0 (abc123)", "2.11.0", "a CPU", "gpu07", "f00d", "1337"}) {
      EXPECT_TRUE(Has(ran.out, part)) << selector << " lacks " << part << "\n" << ran.out;
    }
  }
}

TEST_F(CommandTest, DescribeShowsTheNewestAccuracyOfATrial) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    *world.experiments[12].explanations[1].mutable_trial() = Trial(world, 12, 1);
    for (const uint64_t step : {250, 500}) {
      v1::EvaluationRow& row = world.experiments[12].evaluations.emplace_back();
      row.set_trial(1);
      row.mutable_evaluation()->set_step(step);
      row.mutable_evaluation()->set_split("val");
      row.mutable_evaluation()->set_hellaswag_acc(static_cast<double>(step) / 2000);
      row.mutable_evaluation()->set_hellaswag_acc_norm(0.2955);
    }
  });
  const Ran ran = Run({"describe", "12/1"});
  EXPECT_TRUE(Has(ran.out, "25.00%, normalised 29.55%, at step 500")) << ran.out;
}

TEST_F(CommandTest, DescribeShowsTheThreadsOfARankAndWhereTheyRan) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::TrialSummary& trial = Trial(world, 12, 1);
    trial.mutable_provenance()->set_program_version("0.1.0");
    trial.mutable_provenance()->set_threads(2);
    trial.mutable_provenance()->set_cores("2,3");
    *world.experiments[12].explanations[1].mutable_trial() = trial;
  });
  const Ran ran = Run({"describe", "12/1"});
  EXPECT_TRUE(Has(ran.out, "2 threads a rank (rank 0 on cores 2,3)")) << ran.out;
}

TEST_F(CommandTest, ExplainTellsEachAttemptWithItsCauseAndPlacement) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
    *found.mutable_trial() = Trial(world, 12, 1);
    found.set_explanation("waits 10 s after attempt 1");
    v1::AttemptSummary& attempt = *found.add_attempts();
    attempt.set_attempt(1);
    attempt.set_cause(v1::CAUSE_WORKER_LOST);
    attempt.set_message("worker gpu07/1 was silent for 10 s");
    attempt.set_reason("the only two free slots");
    attempt.set_ended_wall_ms(1700000000000);
    attempt.set_last_step(120);
    attempt.set_rank(1);
    v1::Member& member = *attempt.add_members();
    member.set_worker("gpu07/0");
    member.set_host("gpu07");
  });
  const Ran ran = Run({"explain", "12/1"});
  EXPECT_EQ(ran.code, 0);
  for (const char* part : {"waits 10 s after attempt 1", "12/1#1", "worker_lost", "silent for 10 s",
                           "the only two free slots", "from 0 to 120", "gpu07/0 on gpu07"}) {
    EXPECT_TRUE(Has(ran.out, part)) << "lacks " << part << "\n" << ran.out;
  }
}

// --- logs, metrics ---

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
  control_.OnCall([](std::string_view method, int count, FakeControl::World& world) {
    // The last line and the end arrive together, after the trial was seen running.
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

TEST_F(CommandTest, MetricsOfWhatDoesNotExistPrintNoHeader) {
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
            "experiment,trial,attempt,step,loss,val_loss\n"
            "12,1,1,1,3.5,\n"
            "12,1,1,2,2.5,2.75\n"
            "12,1,1,3,1.5,\n");
}

TEST_F(CommandTest, AnUnknownMetricIsRefusedWithTheNearest) {
  const Ran ran = Run({"metrics", "12", "--metric", "los"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "did you mean 'loss'?")) << ran.err;
}

// --- cancel, retry, delete ---

TEST_F(CommandTest, CancelSendsTheSelectorAndCountsWhatItStops) {
  AddExperiment(12, 3);
  EXPECT_EQ(Run({"cancel", "12/2"}).out, "trial 12/2: cancelling 1 trial\n");
  EXPECT_EQ(Run({"cancel", "last"}).out, "experiment 12: cancelling 2 trials\n");
  EXPECT_EQ(Run({"cancel", "12"}).out, "experiment 12 had ended already\n");
  EXPECT_EQ(control_.Snapshot().cancellations.at(0).trial(), 2u);
}

TEST_F(CommandTest, RetryNeedsToKnowWhichTrials) {
  AddExperiment(12, 2);
  control_.Edit(
      [this](FakeControl::World& world) { Trial(world, 12, 2).set_state(v1::TRIAL_FAILED); });
  EXPECT_EQ(Run({"retry", "12"}).code, 2);
  EXPECT_EQ(Run({"retry", "12", "--failed"}).out, "experiment 12: 1 trial waiting to run again\n");
  EXPECT_TRUE(control_.Snapshot().retries.at(0).failed());
}

TEST_F(CommandTest, DeleteAsksOnATerminalAndNeedsYesElsewhere) {
  AddExperiment(12, 1);
  EXPECT_EQ(Run({"delete", "12", "--yes"}).code, 6) << "it has not ended";
  control_.Edit([](FakeControl::World& world) { FinishAll(world, 12); });
  EXPECT_EQ(Run({"delete", "12"}).code, 6) << "nobody to ask";
  tty_ = true;
  input_ = "n\n";
  EXPECT_EQ(Run({"delete", "12"}).code, 6) << "not confirmed";
  EXPECT_TRUE(control_.Snapshot().deletions.empty());
  input_ = "y\n";
  EXPECT_EQ(Run({"delete", "12"}).code, 0);
  EXPECT_EQ(control_.Snapshot().deletions.size(), 1u);
}

// --- version ---

TEST_F(CommandTest, VersionNamesBothSidesAndExitsThreeWithoutACoordinator) {
  control_.Edit([](FakeControl::World& world) { world.status.set_program_version("9.9.9"); });
  EXPECT_TRUE(Has(Run({"version"}).out, "9.9.9"));
  const Ran alone = RunAsWritten({"version", "--address", "unix:/nonexistent/dtrain.sock"});
  EXPECT_EQ(alone.code, 3);
  EXPECT_TRUE(Has(alone.out, "dtctl"));
  EXPECT_EQ(RunAsWritten({"version", "--client"}).code, 0);
}

}  // namespace
}  // namespace dt::cli
