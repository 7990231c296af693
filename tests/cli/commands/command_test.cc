// command_test.cc: the common parts of all command lines, and the short commands, against a fake
// coordinator over loopback.
#include <pwd.h>
#include <unistd.h>

#include "cli/commands/command_tree.h"
#include "nlohmann/json.hpp"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

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

TEST_F(CommandTest, AnUnknownCommandIsUnknownWithHelpTooAndExitsTwo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"frobnicate", "--help"},
                                                {"--help", "frobnicate"},
                                                {"get", "frobnicate", "--help"},
                                                {"frobnicate", "12", "-h"}}) {
    const Ran ran = Run(words);
    EXPECT_EQ(ran.code, 2) << words[0];
    EXPECT_TRUE(Has(ran.err, "unknown command 'frobnicate'; choose one of: ")) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(Run({"--help"}).code, 0);
  EXPECT_EQ(Run({"get", "--help"}).code, 0);
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

TEST_F(CommandTest, HelpShowsWhichArgumentsMayBeSeveral) {
  EXPECT_TRUE(
      Has(Run({"data", "tokenize", "--help"}).out, "dtctl data tokenize PATH... [options]"));
  EXPECT_TRUE(Has(Run({"plot", "--help"}).out, "dtctl plot SEL... [options]"));
  EXPECT_TRUE(Has(Run({"submit", "--help"}).out, "dtctl submit FILE [options]"));
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

TEST_F(CommandTest, AnInvalidSelectorExitsTwo) {
  EXPECT_EQ(Run({"describe", "12x"}).code, 2);
  EXPECT_EQ(Run({"explain", "12"}).code, 2);
  EXPECT_EQ(Run({"follow", "12/3"}).code, 2);
}

TEST_F(CommandTest, AnExperimentMayBeGivenByAUniqueName) {
  AddExperiment(12, 2);
  EXPECT_EQ(Run({"get", "trials", "quickstart", "-o", "name"}).out, "12/1\n12/2\n");
  EXPECT_EQ(Run({"get", "trials", "quickstart/2", "-o", "name"}).out, "12/2\n");
  EXPECT_EQ(Run({"cancel", "quickstart/1"}).out, "trial 12/1: cancelling 1 trial\n");
  const Ran none = Run({"describe", "quickstar"});
  EXPECT_EQ(none.code, 4);
  EXPECT_TRUE(Has(none.err, "no experiment is named 'quickstar'")) << none.err;
  AddExperiment(13, 1);
  const Ran several = Run({"cancel", "quickstart"});
  EXPECT_EQ(several.code, 2);
  EXPECT_TRUE(
      Has(several.err, "2 experiments are named 'quickstart'; write the number of one: 12, 13"))
      << several.err;
}

TEST_F(CommandTest, TextThatIsNotUtf8IsNamedAtItsOption) {
  AddExperiment(12, 1);
  const Ran ran = Run({"cancel", "12", "--reason", "caf\xe9"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "--reason is 'caf\\xe9', which is not UTF-8")) << ran.err;
  EXPECT_TRUE(control_.Snapshot().cancellations.empty());
  EXPECT_TRUE(Has(Run({"get", "experiments", "-l", "a=\xff"}).err, "-l is 'a=\\xff'"));
  EXPECT_TRUE(Has(Run({"cancel", "report", "--reason", "\xff"}).err, "--reason is '\\xff'"))
      << "the name of an experiment is not the command";
}

TEST_F(CommandTest, AnErrorIsBoundedForAnyInput) {
  const Ran ran = Run({"describe", "1" + std::string(200000, 'x')});
  EXPECT_EQ(ran.code, 2);
  EXPECT_LT(ran.err.size(), 6000u);
  EXPECT_TRUE(Has(ran.err, "bytes left out")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "names no experiment")) << "its end names allowed values";
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
  said({"sweep", "./go {lr}", "--param", "lr=1,2", "--trials", "0"},
       "--trials is 0; it must be at least 1");
  said({"sweep", "./go {lr}", "--param", "lr=1,2", "--steps", "many"},
       "--steps is 'many'; it must be a number");
  said({"sweep", "./go {lr}", "--param", "lr=1,2", "--goal", "up"},
       "--goal is 'up'; it must be one of: minimize, maximize");
  said({"get"}, "a command is missing; choose one of: experiments, trials");
  said({"submit", "-", "--follow", "--wait"}, "cannot be given together; keep one");
  said({"data", "tokenize", "--output", "x", "--tokenizer", "gpt2", "y"}, "give --vocab FILE");
  said({"data", "tokenize", "--output", "x", "--vocab", "v", "y"},
       "--vocab is for --tokenizer gpt2");
  said({"data", "tokenize", "--output", "x", "--threads", "0", "y"},
       "--threads is 0; it must be from 1 to 1024");
  said({"data", "tokenize", "--output", "x", "--shard-tokens", "9", "y"},
       "--shard-tokens is 9; it must be from 1024 to");
  said({"data", "tokenize", "--output", "x", "--shard-tokens", "-1", "y"},
       "--shard-tokens is -1; it must be at least 1");
  said({"wait", "12", "--timeout", "5m5m"}, "'5m5m' is not a duration");
  said({"data", "tokenize", "--output", "x", "--val-fraction", "2", "y"},
       "--val-fraction is 2; it must be at least 0 and below 1");
  EXPECT_TRUE(Has(RunAsWritten({"wait", "12", "--timeout"}).err, "--timeout needs a value"));
  EXPECT_TRUE(Has(RunAsWritten({"wait", "12", "--timeout", "1s", "--timeout", "2s"}).err,
                  "'dtctl wait' takes at most 1 --timeout, not 2"));
}

// --- Connection ---

TEST_F(CommandTest, TheEnvironmentNamesTheCoordinatorAndAFlagOverrulesIt) {
  environment_["DTCTL_ADDRESS"] = control_.address();
  EXPECT_EQ(RunAsWritten({"version"}).code, 0);
  EXPECT_EQ(RunAsWritten({"version", "--address", "unix:/nonexistent/dtrain.sock"}).code, 3);
}

TEST_F(CommandTest, TheEnvironmentsFormatAppliesToEveryCommandThatHasIt) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) { FinishAll(world, 12); });
  environment_["DTCTL_OUTPUT"] = "json";
  EXPECT_TRUE(Has(Run({"get", "trials"}).out, "TrialList"));
  EXPECT_EQ(Run({"wait", "12"}).code, 0) << "has no JSON";
  EXPECT_EQ(Run({"get", "trials", "-o", "name"}).out, "12/1\n");
}

TEST_F(CommandTest, LongMessagesAreNotCutOnATerminal) {
  AddExperiment(12, 1);
  const std::string word(150, 'x');
  const std::string message = word + " the end";
  control_.Edit([&](FakeControl::World& world) {
    v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
    *found.mutable_trial() = Trial(world, 12, 1);
    found.set_explanation(message);
  });
  tty_ = true;
  const std::string out = Run({"explain", "12/1"}).out;
  EXPECT_TRUE(Has(out, word) && Has(out, "the end")) << "no word is broken: " << out;
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

TEST_F(CommandTest, AMirrorThatIsNoWebAddressIsRefused) {
  environment_["DTCTL_DATA_MIRROR"] = "ftp://mirror";
  const Ran ran = Run({"data", "fetch", "gpt2-vocab", "--output", "/nonexistent/vocab"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "DTCTL_DATA_MIRROR is 'ftp://mirror'; it must begin with http://"))
      << ran.err;
}

// --- cancel, retry, delete ---

TEST_F(CommandTest, CancelSendsTheSelectorAndCountsStoppedTrials) {
  AddExperiment(12, 3);
  environment_["USER"] = "ann";
  EXPECT_EQ(Run({"cancel", "12/2"}).out, "trial 12/2: cancelling 1 trial\n");
  EXPECT_EQ(Run({"cancel", "last"}).out, "experiment 12: cancelling 2 trials\n");
  EXPECT_EQ(Run({"cancel", "12"}).out, "experiment 12 had ended already\n");
  EXPECT_EQ(control_.Snapshot().cancellations.at(0).trial(), 2u);
  EXPECT_EQ(control_.Snapshot().cancellations.at(0).who(), "ann");
}

TEST_F(CommandTest, RetryNeedsToKnowWhichTrials) {
  AddExperiment(12, 2);
  control_.Edit(
      [this](FakeControl::World& world) { Trial(world, 12, 2).set_state(v1::TRIAL_FAILED); });
  environment_["USER"] = "ann";
  EXPECT_EQ(Run({"retry", "12"}).code, 2);
  EXPECT_EQ(Run({"retry", "12", "--failed"}).out, "experiment 12: 1 trial waiting to run again\n");
  EXPECT_TRUE(control_.Snapshot().retries.at(0).failed());
  EXPECT_EQ(control_.Snapshot().retries.at(0).who(), "ann");
  EXPECT_EQ(Run({"retry", "12/1", "--failed"}).out, "trial 12/1: nothing to run again\n");
}

TEST_F(CommandTest, RetryOfANamedTrialNeedsNoMoreWords) {
  AddExperiment(12, 2);
  control_.Edit(
      [this](FakeControl::World& world) { Trial(world, 12, 2).set_state(v1::TRIAL_FAILED); });
  EXPECT_EQ(Run({"retry", "12/2"}).out, "trial 12/2: 1 trial waiting to run again\n");
  const v1::RetryRequest sent = control_.Snapshot().retries.at(0);
  EXPECT_EQ(sent.trial(), 2u);
  EXPECT_TRUE(sent.failed() && sent.cancelled());
  Run({"retry", "12/2", "--cancelled"});
  EXPECT_FALSE(control_.Snapshot().retries.at(1).failed());
}

TEST_F(CommandTest, WithoutUserInTheEnvironmentTheUserIsTheProcesssAccount) {
  AddExperiment(12, 1);
  Run({"pause", "12"});
  const passwd* me = getpwuid(geteuid());  // NOLINT(concurrency-mt-unsafe): no other thread asks
  EXPECT_EQ(control_.Snapshot().changes.at(0).who(), me == nullptr ? "" : me->pw_name);
}

TEST_F(CommandTest, PauseSendsTheUserAndListsStopsAndResumeUndoesIt) {
  AddExperiment(12, 3);
  environment_["USER"] = "ann";
  control_.Edit(
      [this](FakeControl::World& world) { Trial(world, 12, 2).set_state(v1::TRIAL_RUNNING); });
  const std::string paused = Run({"pause", "12"}).out;
  EXPECT_TRUE(Has(paused, "experiment 12 is paused; ")) << paused;
  EXPECT_TRUE(Has(paused, " told to save and stop\n")) << paused;
  EXPECT_EQ(control_.Snapshot().changes.at(0).who(), "ann");
  EXPECT_TRUE(Has(Run({"describe", "12"}).out, "by ann"));
  EXPECT_EQ(Run({"pause", "12", "--let-run"}).out, "experiment 12 was paused already\n");
  EXPECT_TRUE(control_.Snapshot().changes.at(1).pause().let_run());
  EXPECT_EQ(Run({"resume", "last"}).out, "experiment 12 goes on\n");
  EXPECT_EQ(Run({"resume", "12"}).out, "experiment 12 was not paused\n");
}

TEST_F(CommandTest, SetChangesHowManyTrialsRunAtOnce) {
  AddExperiment(12, 3);
  EXPECT_EQ(Run({"set", "12", "max_concurrent=8"}).out,
            "experiment 12: at most 8 trials at once\n");
  EXPECT_EQ(control_.Snapshot().changes.at(0).max_concurrent(), 8u);
  EXPECT_EQ(Run({"set", "12", "max_concurrent=0"}).out,
            "experiment 12: any number of trials at once\n");
  const Ran wrong = Run({"set", "12", "max_concurrent=-1"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(Has(wrong.err, "max_concurrent is '-1'; it must be an integer")) << wrong.err;
  EXPECT_EQ(Run({"set", "12", "batch_size=8"}).code, 2);
  EXPECT_EQ(control_.Snapshot().changes.size(), 2u);
}

TEST_F(CommandTest, ExtendSaysHowManyTrialsThereAreToBe) {
  AddExperiment(12, 3);
  EXPECT_EQ(Run({"extend", "12", "--max-trials", "100"}).out, "experiment 12: 100 trials in all\n");
  EXPECT_EQ(Run({"set", "12", "max_trials=100"}).out,
            "experiment 12: 100 trials in all, as before\n");
  EXPECT_EQ(control_.Snapshot().changes.at(0).max_trials(), 100u);
  EXPECT_EQ(Run({"extend", "12"}).code, 2);
}

TEST_F(CommandTest, EachEditPrintsTheNewStateAndSendsOnlyItsField) {
  AddExperiment(12, 3);
  environment_["USER"] = "ann";
  const auto says = [this](const std::vector<std::string>& words, const std::string& text) {
    EXPECT_EQ(Run(words).out, "experiment 12: " + text + "\n");
    const v1::ChangeRequest sent = control_.Snapshot().changes.back();
    EXPECT_EQ(sent.who(), "ann");
    return sent;
  };
  EXPECT_EQ(says({"set", "12", "priority=-5"}, "priority -5").priority(), -5);
  EXPECT_EQ(says({"set", "12", "max_gpus_total=16"}, "at most 16 slots at once").max_gpus_total(),
            16u);
  EXPECT_EQ(says({"extend", "12", "--max-steps", "200"},
                 "200 steps for each trial that has not finished; 1 trial saving, to go on from "
                 "there")
                .max_steps(),
            200);
  EXPECT_EQ(says({"rename", "12", "better"}, "its name is better").name(), "better");
  EXPECT_EQ(says({"note", "12", "the good one"}, "it has this note").note(), "the good one");
  EXPECT_EQ(says({"note", "12", ""}, "it has no note").change_case(), v1::ChangeRequest::kNote);
  const v1::ChangeRequest labelled =
      says({"label", "12", "team=vision", "draft-"}, "it has these labels");
  ASSERT_EQ(labelled.labels().set_size(), 1);
  EXPECT_EQ(labelled.labels().set(0).key(), "team");
  EXPECT_EQ(labelled.labels().removed(0), "draft");
  EXPECT_TRUE(says({"archive", "12"}, "archived; get experiments --archived shows it").archived());
  EXPECT_FALSE(says({"unarchive", "12"}, "in lists again").archived());
}

TEST_F(CommandTest, AnEmptyEditIsRefusedBeforeItIsSent) {
  AddExperiment(12, 3);
  EXPECT_EQ(Run({"set", "12", "priority=1001"}).code, 2);
  EXPECT_EQ(Run({"set", "12", "max_gpus_total=-1"}).code, 2);
  EXPECT_EQ(Run({"extend", "12", "--max-steps", "5", "--max-trials", "5"}).code, 2);
  const Ran wrong = Run({"label", "12", "team"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(Has(wrong.err, "neither key=value nor key-")) << wrong.err;
  EXPECT_TRUE(control_.Snapshot().changes.empty());
}

TEST_F(CommandTest, AWorkerIsDrainedByItsNameEvenIfNotConnected) {
  environment_["USER"] = "ann";
  control_.Edit([](FakeControl::World& world) {
    v1::WorkerSummary& worker = world.workers.emplace_back();
    worker.set_worker("gpu07/cuda:0");
    worker.set_state("draining");
    worker.set_doing("12/3#2 rank 0");
    worker.set_mark("drained by ann: new disk");
  });
  EXPECT_EQ(Run({"worker", "drain", "gpu07/cuda:0", "--reason", "new disk"}).out,
            "worker gpu07/cuda:0 takes no more work; its trial saves, to go on elsewhere\n");
  const v1::MarkWorkerRequest sent = control_.Snapshot().marks.at(0);
  EXPECT_TRUE(sent.drain());
  EXPECT_EQ(sent.who(), "ann");
  EXPECT_EQ(sent.reason(), "new disk");
  EXPECT_TRUE(Has(Run({"worker", "drain", "gone"}).out, "no worker of this name is connected"));
  EXPECT_EQ(Run({"worker", "undrain", "gpu07/cuda:0"}).out,
            "worker gpu07/cuda:0 takes work again\n");
  const std::string listed = Run({"get", "workers"}).out;
  EXPECT_TRUE(Has(listed, "NOTE") && Has(listed, "drained by ann: new disk")) << listed;
}

TEST_F(CommandTest, DescribeShowsEachChangeWithItsUserAndTime) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    v1::ExperimentEdit& edit = *world.experiments.at(12).found.add_edits();
    edit.set_wall_ms(1700000000000);
    edit.set_who("bob");
    edit.set_what("max_concurrent 1, now 8");
  });
  const std::string out = Run({"describe", "12"}).out;
  EXPECT_TRUE(Has(out, "bob")) << out;
  EXPECT_TRUE(Has(out, "max_concurrent 1, now 8")) << out;
}

TEST_F(CommandTest, DeleteAsksOnATerminalAndNeedsYesElsewhere) {
  AddExperiment(12, 1);
  EXPECT_EQ(Run({"delete", "12", "--yes"}).code, 6) << "it has not ended";
  control_.Edit([](FakeControl::World& world) { FinishAll(world, 12); });
  EXPECT_EQ(Run({"delete", "12"}).code, 6) << "no user to ask";
  tty_ = true;
  input_ = "n\n";
  EXPECT_EQ(Run({"delete", "12"}).code, 6) << "not confirmed";
  EXPECT_TRUE(control_.Snapshot().deletions.empty());
  input_ = "y\n";
  EXPECT_EQ(Run({"delete", "12"}).code, 0);
  EXPECT_EQ(control_.Snapshot().deletions.size(), 1u);
}

TEST_F(CommandTest, CtrlCAtAQuestionEndsAtOnce) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) { FinishAll(world, 12); });
  tty_ = true;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  in_fd_ = ends[0];  // no input ever comes
  asked_ = [this] { interrupt_.Trigger(); };
  EXPECT_EQ(Run({"delete", "12"}).code, 130);
  EXPECT_TRUE(control_.Snapshot().deletions.empty());
  close(ends[0]);
  close(ends[1]);
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
