// program_test.cc: a program as a trial: its parameters, and their values in its command.
#include "spec/program.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "spec/search.h"
#include "tests/testing/experiments.h"

namespace dt::spec {
namespace {

NamedValues Values() {
  NamedValues values;
  values["lr"].set_number(0.001);
  values["model"].set_text("big one's");
  values["layers"].set_integer(4);
  values["empty"].set_text("");
  values["betas"].mutable_numbers()->add_values(0.9);
  values["seed"].set_integer(7);
  return values;
}

std::string Plain(std::string_view text) { return Substituted(text, Values())->text; }
std::string Shell(std::string_view text) {
  return Substituted(text, Values(), Insertion::kShell)->text;
}

TEST(SubstitutedTest, ReplacesNamesByValues) {
  EXPECT_EQ(Plain("--lr={lr} -n {layers} {seed}"), "--lr=0.001 -n 4 7");
  EXPECT_EQ(Plain("{model}{empty}{betas}"), "big one's[0.9]");
  EXPECT_EQ(Plain(""), "");
  EXPECT_EQ(Plain("100% of $HOME"), "100% of $HOME");
}

TEST(SubstitutedTest, TwoBracesAreOneBrace) {
  EXPECT_EQ(Plain("awk '{{print $1}}'"), "awk '{print $1}'");
  EXPECT_EQ(Plain("{{lr}}"), "{lr}");
  EXPECT_EQ(Plain("{{{lr}}}"), "{0.001}");
}

TEST(SubstitutedTest, TheShellsOwnVariablesAreLeftAsTheyAre) {
  EXPECT_EQ(Shell("echo ${HOME} ${A:-${B:-{lr}}} $((1+{layers}))"),
            "echo ${HOME} ${A:-${B:-{lr}}} $((1+4))");
  EXPECT_EQ(Shell("echo ${open"), "echo ${open");
}

TEST(SubstitutedTest, AShellGetsAValueInQuotesIfNeeded) {
  EXPECT_EQ(Shell("train --lr {lr} {model} {empty} {betas}"),
            "train --lr 0.001 'big one'\\''s' '' '[0.9]'");
}

TEST(SubstitutedTest, ABraceThatIsNoParametersNameStandsAsItIs) {
  for (const char* text :
       {"awk '{print $1}'", "echo '{\"step\": 1, \"deep\": {\"a\": {\"b\": 1}}}'", "a } b", "{lr",
        "find . -exec rm {} ;", "echo {1..3} {a,b}", "python3 -c 'print(f\"{x:.3f} {y}\")'"}) {
    EXPECT_EQ(Plain(text), text);
  }
  EXPECT_EQ(Plain("echo '{\"step\": {layers}, \"lr\": {lr}}'"),
            "echo '{\"step\": 4, \"lr\": 0.001}'");
  EXPECT_EQ(Plain("awk '{print $1}'; echo '{{\"a\": {layers}}}'"),
            "awk '{print $1}'; echo '{\"a\": 4}'")
      << "a pair goes on being one brace";
}

TEST(SubstitutedTest, ReportsItsKnownAndUnknownNames) {
  const Substitution found = *Substituted("{lr} {lrr} {print $1} {{layers}} ${model}", Values());
  EXPECT_EQ(found.used, std::set<std::string>{"lr"});
  EXPECT_EQ(found.unknown, std::set<std::string>{"lrr"});
}

// --- Experiments ---
v1::Value TextValue(const std::string& text) {
  v1::Value value;
  value.set_text(text);
  return value;
}

v1::ExperimentSpec Program(const std::vector<std::string>& words) {
  v1::ExperimentSpec spec = DefaultExperiment();
  spec.set_name("sk");
  for (const std::string& word : words) spec.mutable_base()->add_command(word);
  spec.add_explicit_paths("command");
  return spec;
}

v1::Parameter& Sweep(v1::ExperimentSpec& spec, const std::string& name,
                     const std::vector<v1::Value>& values) {
  v1::Parameter& parameter = *spec.add_parameters();
  parameter.set_path(name);
  for (const v1::Value& value : values) *parameter.add_values() = value;
  return parameter;
}

std::vector<std::string> Problems(const v1::ExperimentSpec& spec) {
  std::vector<std::string> texts;
  for (const Issue& issue : Validate(spec)) texts.push_back(ToString(issue));
  return texts;
}
using Strings = std::vector<std::string>;

std::vector<v1::Spec> Resolved(const v1::ExperimentSpec& spec) {
  std::vector<v1::Spec> out;
  const auto trials = Expand(spec);
  EXPECT_TRUE(trials.ok()) << trials.status();
  if (!trials.ok()) return out;
  for (const v1::ExpandedTrial& trial : *trials) {
    const auto& given = trial.assignments();
    const auto resolved = ResolveTrial(spec, {given.begin(), given.end()});
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    if (resolved.ok()) out.push_back(*resolved);
  }
  return out;
}

TEST(ProgramTest, ATrialHasItsValuesAndItsFinalCommand) {
  v1::ExperimentSpec spec = Program({"python3", "train.py", "--lr={lr}", "{seed}"});
  v1::Label& threads = *spec.mutable_base()->mutable_resources()->add_env();
  threads.set_key("OMP_NUM_THREADS");
  threads.set_value("{threads}");
  spec.mutable_base()->set_seed(11);
  Sweep(spec, "lr", {NumberValue(0.1), NumberValue(0.2)});
  Sweep(spec, "threads", {IntegerValue(2)});
  ASSERT_EQ(Problems(spec), Strings());
  const std::vector<v1::Spec> trials = Resolved(spec);
  ASSERT_EQ(trials.size(), 2);
  EXPECT_EQ(trials[1].command(2), "--lr=0.2");
  EXPECT_EQ(trials[1].command(3), "11");
  EXPECT_EQ(trials[1].resources().env(0).value(), "2");
  ASSERT_EQ(trials[1].values_size(), 2);
  EXPECT_EQ(trials[1].values(0).path(), "lr");
  EXPECT_EQ(trials[1].values(1).value().integer(), 2);
  EXPECT_FALSE(trials[1].has_train());
  EXPECT_FALSE(trials[1].has_model());
}

TEST(ProgramTest, WAndBsMacrosStandForAllParameters) {
  v1::ExperimentSpec spec =
      Program({"${env}", "${interpreter}", "train.py", "${args}", "--", "${args_no_hyphens}",
               "${args_no_boolean_flags}", "${args_json}", "sh -c ${args}"});
  Sweep(spec, "lr", {NumberValue(0.1)});
  Sweep(spec, "opt", {TextValue("a b")});
  v1::Value no;
  no.set_flag(false);
  Sweep(spec, "fast", {no});
  Sweep(spec, "resources.gpus", {IntegerValue(1)});
  ASSERT_EQ(Problems(spec), Strings());
  const std::vector<v1::Spec> trials = Resolved(spec);
  ASSERT_EQ(trials.size(), 1);
  EXPECT_EQ(Strings(trials[0].command().begin(), trials[0].command().end()),
            (Strings{"/usr/bin/env", "python3", "train.py", "--lr=0.1", "--opt=a b", "--fast=false",
                     "--", "lr=0.1", "opt=a b", "fast=false", "--lr=0.1", "--opt=a b",
                     R"({"lr":0.1,"opt":"a b","fast":false})", "sh -c ${args}"}));
  *spec.mutable_base()->add_command() = "${program}";
  ASSERT_EQ(Problems(spec).size(), 1);
  EXPECT_NE(Problems(spec)[0].find("write the name of the script"), std::string::npos);
}

std::vector<std::string> Questions(const v1::ExperimentSpec& spec) {
  std::vector<std::string> texts;
  for (const Issue& issue : Warnings(spec)) texts.push_back(ToString(issue));
  return texts;
}

TEST(ProgramTest, ASweptParameterThatNothingNamesIsWarnedOf) {
  v1::ExperimentSpec spec = Program({"python3", "train.py", "--lr={lr}"});
  Sweep(spec, "lr", {NumberValue(0.1), NumberValue(0.2)});
  Sweep(spec, "constant", {IntegerValue(1)});
  Sweep(spec, "resources.gpus", {IntegerValue(1), IntegerValue(2)});
  EXPECT_EQ(Questions(spec), Strings());
  Sweep(spec, "width", {IntegerValue(1), IntegerValue(2)});
  ASSERT_EQ(Questions(spec).size(), 1);
  EXPECT_EQ(Questions(spec)[0].find("nothing in command names width; "), 0) << Questions(spec)[0];
  spec.mutable_base()->add_command("${args}");
  EXPECT_EQ(Questions(spec), Strings());
}

TEST(ProgramTest, ANameThatIsNearlyAParametersIsWarnedOf) {
  v1::ExperimentSpec spec = Program({"./train", "{lr}", "{learning_rat}", "{print}"});
  Sweep(spec, "lr", {NumberValue(0.1)});
  Sweep(spec, "learning_rate", {NumberValue(0.1)});
  EXPECT_EQ(Problems(spec), Strings());
  EXPECT_EQ(Questions(spec),
            Strings{"command[2]: '{learning_rat}' names no parameter, and stays as it is; did you "
                    "mean '{learning_rate}'?"});
}

TEST(ProgramTest, ASweepInHydrasNotationIsOneTextAndCausesAWarning) {
  v1::ExperimentSpec spec = Program({"./train", "{lr}", "{b}", "{f}"});
  Sweep(spec, "lr", {TextValue("interval(0.1, 1)")});
  Sweep(spec, "b", {TextValue("choice(1,2)"), TextValue("choice(3,4)")});
  Sweep(spec, "f", {TextValue("f(x)")});
  EXPECT_EQ(Problems(spec), Strings());
  EXPECT_EQ(Questions(spec),
            Strings{"parameters.lr is the text 'interval(0.1, 1)', its only value; to try several, "
                    "write {min: 0.1, max: 1}, or [1, 2, 3]"});
}

TEST(ProgramTest, ALauncherIsSettledAtSubmitAndOneOfAnOldJournalStaysAsItWas) {
  v1::ExperimentSpec spec = Program({"./train"});
  EXPECT_EQ(Problems(spec), Strings());
  EXPECT_EQ(Resolved(spec)[0].launcher(), "");
  Freeze(spec, "cpu", 1);
  EXPECT_EQ(Resolved(spec)[0].launcher(), "auto");
  spec.mutable_base()->set_launcher("slurm");
  spec.add_explicit_paths("launcher");
  EXPECT_EQ(Problems(spec).size(), 1);
}

TEST(ProgramTest, ALimitOfSilenceIsSettledAtSubmitAndHasAUnitAndARange) {
  v1::ExperimentSpec spec = Program({"./train"});
  EXPECT_EQ(Resolved(spec)[0].timeout().report(), "");
  Freeze(spec, "cpu", 1);
  EXPECT_EQ(Resolved(spec)[0].timeout().report(), "auto");
  for (const char* report : {"auto", "never", "5m", "1h30m", "1s", "720h"}) {
    spec.mutable_base()->mutable_timeout()->set_report(report);
    EXPECT_EQ(Problems(spec), Strings()) << report;
  }
  for (const char* report : {"300", "0s", "-5m", "721h", "inf", "soon"}) {
    spec.mutable_base()->mutable_timeout()->set_report(report);
    EXPECT_EQ(Problems(spec).size(), 1) << report;
  }
}

TEST(ProgramTest, FieldsOfTheTableKeepTheirMeaningAndTrainersNamesAreFree) {
  v1::ExperimentSpec spec = Program({"./run", "{optimizer.lr}", "{resources.gpus}"});
  Sweep(spec, "optimizer.lr", {TextValue("warm"), TextValue("cold")});
  Sweep(spec, "resources.gpus", {IntegerValue(1), IntegerValue(2)});
  Sweep(spec, "seed", {IntegerValue(3)});
  ASSERT_EQ(Problems(spec), Strings());
  const std::vector<v1::Spec> trials = Resolved(spec);
  ASSERT_EQ(trials.size(), 4);
  EXPECT_EQ(trials[3].resources().gpus(), 2);
  EXPECT_EQ(trials[3].seed(), 3);
  EXPECT_EQ(trials[3].command(1), "cold");
  EXPECT_EQ(trials[3].command(2), "2");
  Sweep(spec, "stop.patience", {NumberValue(1.5)});
  EXPECT_EQ(Problems(spec).size(), 1);
}

TEST(ProgramTest, SeedsRunEachConfigurationOnceWithEach) {
  v1::ExperimentSpec spec = Program({"./run", "{seed}"});
  Sweep(spec, "a", {IntegerValue(1)});
  spec.add_seeds(5);
  spec.add_seeds(6);
  ASSERT_EQ(Problems(spec), Strings());
  const std::vector<v1::Spec> trials = Resolved(spec);
  ASSERT_EQ(trials.size(), 2);
  EXPECT_EQ(trials[1].command(1), "6");
  EXPECT_EQ(trials[1].values_size(), 1);
}

TEST(ProgramTest, IntegersAmongNumbersAreNumbersAndOtherMixturesAreRefused) {
  v1::ExperimentSpec spec = Program({"./run"});
  Sweep(spec, "x", {IntegerValue(1), NumberValue(0.5)});
  EXPECT_EQ(ParameterFields(spec).Find("x")->type, FieldType::kNumber);
  EXPECT_EQ(Problems(spec), Strings());
  Sweep(spec, "y", {IntegerValue(1), TextValue("auto")});
  EXPECT_EQ(Problems(spec),
            Strings{"parameters.y mixes values of several types, such as texts and numbers; write "
                    "all of them in quotes, as texts"});
}

TEST(ProgramTest, RangesWithIntegerStepsAreDrawnAsIntegers) {
  v1::ExperimentSpec spec = Program({"./run", "{layers}", "{lr}"});
  spec.mutable_search()->set_method("random");
  spec.mutable_search()->set_max_trials(20);
  v1::Range& layers = *Sweep(spec, "layers", {}).mutable_range();
  layers.set_min(1);
  layers.set_max(512);
  layers.set_scale("log");
  layers.set_step(1);
  v1::Range& lr = *Sweep(spec, "lr", {}).mutable_range();
  lr.set_min(0);
  lr.set_max(10);
  ASSERT_EQ(Problems(spec), Strings());
  const std::vector<v1::Spec> trials = Resolved(spec);
  ASSERT_EQ(trials.size(), 20);
  bool fraction = false;
  for (const v1::Spec& trial : trials) {
    EXPECT_TRUE(trial.values(0).value().has_integer());
    const double drawn = trial.values(1).value().number();
    fraction = fraction || drawn != static_cast<double>(static_cast<int>(drawn));
  }
  EXPECT_TRUE(fraction);
  const auto space = SpaceOf(spec);
  ASSERT_TRUE(space.ok());
  EXPECT_EQ(space->dimensions[0].kind, DimensionKind::kStepped);
  EXPECT_EQ(space->dimensions[1].kind, DimensionKind::kReal);
}

TEST(ProgramTest, ExcludeAndIncludeKnowItsParameters) {
  v1::ExperimentSpec spec = Program({"./run", "{a}", "{b}"});
  Sweep(spec, "a", {IntegerValue(1), IntegerValue(2)});
  Sweep(spec, "b", {TextValue("x"), TextValue("y")});
  v1::Assignment& left_out = *spec.add_exclude()->add_where();
  left_out.set_path("a");
  *left_out.mutable_value() = IntegerValue(2);
  v1::Inclusion& included = *spec.add_include();
  *included.add_values() = left_out;
  v1::Assignment& word = *included.add_values();
  word.set_path("b");
  *word.mutable_value() = TextValue("z");
  ASSERT_EQ(Problems(spec), Strings());
  const std::vector<v1::Spec> trials = Resolved(spec);
  ASSERT_EQ(trials.size(), 3);
  EXPECT_EQ(trials[2].command(2), "z");
}

TEST(ProgramTest, FieldsForTheTrainerAreRefusedOncePerSection) {
  v1::ExperimentSpec spec = Program({"./run"});
  for (const char* path : {"train.batch_size", "train.seq_len", "checkpoint.every", "data.train"}) {
    spec.add_explicit_paths(path);
  }
  const std::string why =
      " is for dtrain's own trainer; this experiment runs a command; pass it as a parameter, or "
      "remove it";
  EXPECT_EQ(Problems(spec), (Strings{"train" + why, "checkpoint.every" + why, "data" + why}));
}

TEST(ProgramTest, StepsWithoutAProgramAreRefused) {
  v1::ExperimentSpec spec = DefaultExperiment();
  spec.set_name("gpt");
  spec.mutable_base()->mutable_data()->set_train("a*.bin");
  spec.mutable_base()->mutable_data()->set_val("b*.bin");
  spec.mutable_base()->set_steps(5);
  spec.add_explicit_paths("steps");
  EXPECT_EQ(Problems(spec), Strings{"steps is for a program, and this experiment runs none; write "
                                    "train: {max_steps: …}, or set command"});
}

TEST(ProgramTest, CommandAndRunAreTwoWaysToSayOneThing) {
  v1::ExperimentSpec spec = Program({"./run"});
  spec.mutable_base()->set_run("./run");
  EXPECT_EQ(Problems(spec), Strings{"command and run are two ways to say one thing; keep one"});
}

TEST(ProgramTest, AMeasurementOfTheNetworkIsCheckedAsTheTrainersOwn) {
  const auto between = [](int gpus, const std::string& option) {
    v1::ExperimentSpec spec = Program({"dtrain:network", option});
    spec.mutable_base()->mutable_resources()->set_gpus(gpus);
    spec.add_explicit_paths("resources.gpus");
    spec.mutable_search()->set_metric("bus_bandwidth");
    spec.mutable_search()->set_goal("maximize");
    return spec;
  };
  EXPECT_EQ(Problems(between(2, "--rounds=3")), Strings{});
  EXPECT_EQ(
      Problems(between(1, "--rounds=3")),
      Strings{"dtrain:network measures between ranks, and resources.gpus is 1; use 2 or more"});
  EXPECT_EQ(
      Problems(between(2, "--sizes=1K,many")),
      Strings{
          "command: --sizes has 'many'; a size is a number of bytes such as 64K or 16M, from 256 "
          "to 1.00 GiB"});
  // Workers that cannot run programs run it, so it can set no more than a training can.
  v1::ExperimentSpec spec = between(2, "--rounds=3");
  spec.mutable_base()->set_workdir("/tmp");
  spec.add_explicit_paths("workdir");
  v1::Label& preload = *spec.mutable_base()->mutable_resources()->add_env();
  preload.set_key("LD_PRELOAD");
  preload.set_value("x.so");
  const Strings problems = Problems(spec);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_NE(problems[1].find("LD_PRELOAD"), std::string::npos) << problems[1];
  EXPECT_EQ(problems[0],
            "workdir is for a program, and dtrain:network is not one: dtrain's own trainer "
            "measures; remove it");
}

TEST(ProgramTest, AVariableMayBeEmptyOrHaveSeveralLines) {
  v1::ExperimentSpec spec = Program({"./run"});
  for (const auto& [name, value] : {std::pair{"EMPTY", ""}, std::pair{"KEY", "one=1\ntwo\tü\n"}}) {
    v1::Label& variable = *spec.mutable_base()->mutable_resources()->add_env();
    variable.set_key(name);
    variable.set_value(value);
  }
  EXPECT_EQ(Problems(spec), Strings());
  const auto trials = Resolved(spec);
  ASSERT_EQ(trials.size(), 1u);
  EXPECT_EQ(trials[0].resources().env(0).value(), "");
  EXPECT_EQ(trials[0].resources().env(1).value(), "one=1\ntwo\tü\n");
  spec.mutable_base()->mutable_resources()->mutable_env(0)->set_value("a\x1b[2J");
  EXPECT_EQ(Problems(spec).size(), 1u) << "a control character";
}

// 64 KiB that name a value of 4 KiB many times would be a hundred megabytes in each order.
TEST(ProgramTest, ASubstitutedCommandIsBounded) {
  v1::ExperimentSpec spec = Program({"./run"});
  spec.mutable_base()->clear_command();
  std::string run = "echo";
  for (int i = 0; i < 1000; ++i) run += " {x}";
  spec.mutable_base()->set_run(run);
  v1::Value text;
  text.set_text(std::string(4000, 'a'));
  Sweep(spec, "x", {text});
  spec.clear_explicit_paths();
  spec.add_explicit_paths("run");
  const Strings problems = Problems(spec);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("has more than 131072 bytes; put the values into a file or a script"),
            std::string::npos)
      << problems[0];
}

TEST(ProgramTest, AMetricWhoseNameImpliesNoGoalNeedsOne) {
  v1::ExperimentSpec spec = Program({"./run"});
  Sweep(spec, "x", {IntegerValue(1), IntegerValue(2)});
  const auto goal = [&](const char* metric) {
    spec.mutable_search()->set_metric(metric);
    return GoalOf(spec.search());
  };
  for (const char* loss :
       {"val_loss", "loss", "top1/error", "perplexity", "val_loss_epoch", "train_loss_step"}) {
    EXPECT_EQ(goal(loss), "minimize") << loss;
  }
  for (const char* score :
       {"accuracy", "val_acc", "f1", "test.auc", "score", "hellaswag_acc_norm"}) {
    EXPECT_EQ(goal(score), "maximize") << score;
  }
  // Words that reverse a name's meaning, or name a score of something bad.
  for (const char* unclear :
       {"neg_mean_squared_error", "negative_loss", "val/minus_loss", "neg-accuracy", "negMSE_loss",
        "one_minus_accuracy", "inverse_perplexity", "brier_score", "error_score", "val_loss_score",
        "loss_scale", "reward", "bleu", "r2", "epoch", "time_epoch"}) {
    EXPECT_EQ(goal(unclear), "") << unclear;
  }
  for (const char* clear : {"f1_loss", "accuracy_error", "abs_error"}) {
    EXPECT_EQ(goal(clear), "minimize") << clear;
  }
  EXPECT_EQ(goal("gloss"), "");
  EXPECT_EQ(Problems(spec), Strings{"search.goal is missing; whether more gloss is better is not "
                                    "known; add goal: maximize or goal: minimize"});
  Freeze(spec, "cpu", 3);
  EXPECT_EQ(Problems(spec).size(), 1);
  spec.mutable_search()->set_goal("maximize");
  EXPECT_EQ(Problems(spec), Strings());
}

TEST(ProgramTest, AshaNeedsStepsAndClimbsThem) {
  v1::ExperimentSpec spec = Program({"./run", "{x}"});
  v1::Range& range = *Sweep(spec, "x", {}).mutable_range();
  range.set_max(1);
  spec.mutable_search()->set_method("asha");
  spec.mutable_search()->set_max_trials(10);
  EXPECT_EQ(Problems(spec),
            Strings{"steps is missing; the rungs of asha are shares of it; add: steps: 100, the "
                    "last step that the program reports"});
  spec.mutable_base()->set_steps(81);
  EXPECT_EQ(Problems(spec), Strings());
  EXPECT_EQ(RungsOf(spec).steps, (std::vector<uint64_t>{3, 9, 27}));
}

TEST(ProgramTest, AProgramSetsItsEnvironmentExceptTheWorkersVariables) {
  v1::ExperimentSpec spec = Program({"./run"});
  for (const char* name : {"OMP_NUM_THREADS", "PATH", "WANDB_MODE", "my_flag"}) {
    v1::Label& label = *spec.mutable_base()->mutable_resources()->add_env();
    label.set_key(name);
    label.set_value("1");
  }
  EXPECT_EQ(Problems(spec), Strings());
  for (const char* name : {"RANK", "DTRAIN_TRIAL", "2x"}) {
    v1::Label& label = *spec.mutable_base()->mutable_resources()->add_env();
    label.set_key(name);
    label.set_value("1");
  }
  EXPECT_EQ(Problems(spec).size(), 3);
}

TEST(ProgramTest, ARelativeFolderNeedsCodeToBeIn) {
  v1::ExperimentSpec spec = Program({"./run"});
  spec.mutable_base()->set_workdir("runs");
  EXPECT_EQ(Problems(spec), Strings{"workdir 'runs' is relative, but no code is set in whose "
                                    "folder it could be; write it absolute, or set code"});
  spec.mutable_base()->set_code(".");
  EXPECT_EQ(Problems(spec), Strings());
  spec.mutable_base()->set_workdir("../runs");
  EXPECT_EQ(Problems(spec).size(), 1);
}

TEST(ProgramTest, JsonOfAProgramHasItsCommandAndValuesAndNoTrainerFields) {
  v1::ExperimentSpec spec = Program({"./run", "{x}"});
  Sweep(spec, "x", {NumberValue(0.5)});
  const auto json = nlohmann::json::parse(ToJson(Resolved(spec).front()));
  EXPECT_EQ(json["command"], (nlohmann::json{"./run", "0.5"}));
  EXPECT_EQ(json["values"]["x"], 0.5);
  EXPECT_FALSE(json.contains("train"));
  EXPECT_TRUE(json.contains("resources"));
}

}  // namespace
}  // namespace dt::spec
