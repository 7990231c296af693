// sweep_file_test.cc: the experiment files that dtctl sweep writes.
#include "cli/commands/sweep_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/file/experiment_file.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool IsScript(const std::string& path) { return path == "train.py" || path == "src/go.py"; }

SweepOptions Options(const std::string& command, const std::vector<std::string>& parameters,
                     const std::string& metric = "val_loss") {
  SweepOptions options;
  options.command = command;
  options.parameters = parameters;
  options.metric = metric;
  return options;
}

// Returns the file, which must be valid, without the version.
std::string FileOf(const SweepOptions& options) {
  const auto text = SweepFile(options, IsScript);
  EXPECT_TRUE(text.ok()) << text.status();
  if (!text.ok()) return "";
  const spec::ExperimentFile file = spec::ReadExperimentFile(*text, "sweep.yaml");
  EXPECT_TRUE(file.diagnostics.empty()) << *text << spec::RenderDiagnostics(file.diagnostics);
  EXPECT_EQ(text->substr(0, 11), "version: 1\n");
  return text->substr(11);
}

std::string Refusal(const SweepOptions& options) {
  const auto text = SweepFile(options, IsScript);
  return text.ok() ? *text : std::string(text.status().message());
}

TEST(SweepFileTest, ARangeIsSearched) {
  EXPECT_EQ(FileOf(Options("python3 train.py --lr={lr}", {"lr=1e-4..1e-1:log"})),
            "name: train\n"
            "command: [python3, train.py, \"--lr={lr}\"]\n"
            "code: .\n"
            "parameters:\n"
            "  lr: {min: 1e-4, max: 1e-1, scale: log}\n"
            "search: {method: bayes, max_trials: 20, metric: val_loss}\n");
}

TEST(SweepFileTest, ListsMakeAGridWhichNeedsNoMetric) {
  EXPECT_EQ(FileOf(Options("./go ${args}",
                           {"layers=2,4", "opt=adam,1", "flag=true,false", "dir=../x"}, "")),
            "name: go\n"
            "command: [\"./go\", \"${args}\"]\n"
            "parameters:\n"
            "  layers: [2, 4]\n"
            "  opt: [\"adam\", \"1\"]\n"
            "  flag: [true, false]\n"
            "  dir: \"../x\"\n"
            "search: {method: grid}\n");
}

TEST(SweepFileTest, WithoutParametersItIsAGridOfOneTrial) {
  EXPECT_THAT(FileOf(Options("./go", {})), HasSubstr("search: {method: grid"));
}

TEST(SweepFileTest, AValueOfYamlIsReadForWhatItIs) {
  const std::string note = FileOf(Options("./go {note}", {"note=admin:1"}));
  EXPECT_THAT(note, HasSubstr("method: grid")) << "a text that only looks like a range";
  const std::string range = FileOf(Options("./go {lr}", {"lr={\"min\": 0.1, \"max\": 1}"}));
  EXPECT_THAT(range, HasSubstr("  lr: {\"min\": 0.1, \"max\": 1}\n"));
  EXPECT_THAT(range, HasSubstr("method: bayes"));
  EXPECT_THAT(FileOf(Options("./go {a}", {"a=[\"min: 1\", b]"})), HasSubstr("method: grid"));
}

TEST(SweepFileTest, BlanksAroundTheValuesOfAListAreNoPartOfThem) {
  const std::string file = FileOf(Options("./go ${args}", {"lr=1, 2", "opt= adam , sgd"}));
  EXPECT_THAT(file, HasSubstr("  lr: [1, 2]\n"));
  EXPECT_THAT(file, HasSubstr("  opt: [adam, sgd]\n"));
}

TEST(SweepFileTest, BracesThatAreDoubledStandForThemselves) {
  EXPECT_THAT(FileOf(Options("./go {{x}} {x} {seed}", {"x=1,2"})),
              HasSubstr("command: [\"./go\", \"{{x}}\", \"{x}\", \"{seed}\"]\n"));
  EXPECT_THAT(FileOf(Options("./go {{y}}", {"x=1,2"})), HasSubstr("\"{{y}}\"]\n"));
}

TEST(SweepFileTest, EveryOptionIsWritten) {
  SweepOptions options = Options("python3 src/go.py {n} {k}", {"n=8..64:int:step=8", "k=1..3"}, "");
  options.trials = 5;
  options.steps = 100;
  options.slots = 2;
  options.max_concurrent = 3;
  options.early_stop = true;
  options.patterns = {"step {step}: score {quality}", "tqdm"};
  options.goal = "maximize";
  options.metrics_file = "logs/*.csv";
  options.tensorboard = "runs";
  options.name = "mine";
  options.code = "src";
  options.variables = {"A=b c", "B=", "no=1"};
  EXPECT_EQ(
      FileOf(options),
      "name: mine\n"
      "command: [python3, src/go.py, \"{n}\", \"{k}\"]\n"
      "code: src\n"
      "steps: 100\n"
      "metrics: {pattern: [\"step {step}: score {quality}\", tqdm], file: \"logs/*.csv\", "
      "tensorboard: runs}\n"
      "parameters:\n"
      "  n: {min: 8, max: 64, step: 8}\n"
      "  k: {min: 1, max: 3}\n"
      "search: {method: asha, sampler: bayes, max_trials: 5, metric: quality, goal: maximize, "
      "max_concurrent: 3}\n"
      "resources: {gpus: 2, env: {A: \"b c\", B: \"\", \"no\": \"1\"}}\n")
      << "the only metric of the patterns is the search's";
  options.seeds = "2";
  EXPECT_THAT(FileOf(options), HasSubstr("seeds: [1, 2]\n"));
  EXPECT_THAT(FileOf(options), HasSubstr("stop: {median: {after: 3}}"))
      << "rungs need single trials";
  options.seeds.clear();
  options.steps.reset();
  EXPECT_THAT(FileOf(options), HasSubstr("method: bayes"));
  EXPECT_THAT(FileOf(options), HasSubstr("stop: {median: {after: 3}}"));
}

TEST(SweepFileTest, ACommandWithWordsOfAShellRunsInOne) {
  EXPECT_THAT(FileOf(Options("cd src && python3 go.py {lr} > log", {"lr=0.1..1"})),
              HasSubstr("run: \"cd src && python3 go.py {lr} > log\"\n"));
  EXPECT_FALSE(WordsOfCommand("A=1 ./go").has_value());
  EXPECT_FALSE(WordsOfCommand("./go $HOME").has_value());
  EXPECT_FALSE(WordsOfCommand("./go \"$HOME\"").has_value());
  EXPECT_FALSE(WordsOfCommand("./go 'open").has_value());
  EXPECT_FALSE(WordsOfCommand("./go [ab]").has_value());
  EXPECT_THAT(*WordsOfCommand(" a 'b c'  \"d\" '' ${args}"),
              ElementsAre("a", "b c", "d", "", "${args}"));
}

TEST(SweepFileTest, AMistakeIsNamedWithItsFix) {
  const std::string lr = "./go {lr}";
  EXPECT_EQ(Refusal(Options(lr, {"lr"})),
            "--param lr: it has no values; write a range, --param lr=1e-4..1e-1:log, or a list, "
            "--param layers=2,4,8");
  EXPECT_EQ(Refusal(Options(lr, {"lr=1e-4..x"})),
            "--param lr=1e-4..x: 'x' is no number; write --param lr=1e-4..1e-1:log");
  EXPECT_EQ(Refusal(Options(lr, {"lr=1..2:lin"})),
            "--param lr=1..2:lin: ':lin' is not :log, :int or :step=NUMBER; write --param "
            "lr=1e-4..1e-1:log");
  EXPECT_EQ(Refusal(Options(lr, {"lr=2..1:log"})),
            "--param lr=2..1:log: 2 is not below 1; write --param lr=1..2:log");
  EXPECT_EQ(Refusal(Options(lr, {"lr=2..2.0"})),
            "--param lr=2..2.0: the range begins and ends at 2; write the value alone: --param "
            "lr=2");
  EXPECT_THAT(Refusal(Options(lr, {"lr=0..1:log"})), HasSubstr("begin above 0"));
  EXPECT_THAT(Refusal(Options(lr, {"lr=0.5..2:int"})), HasSubstr("0.5 is no integer"));
  EXPECT_THAT(Refusal(Options(lr, {"l r=1..2"})), HasSubstr("'l r' is no name"));
  EXPECT_THAT(Refusal(Options(lr, {"lr=1..2", "lr=3"})), HasSubstr("there twice"));
  EXPECT_THAT(Refusal(Options(lr, {"l=1..2"})),
              HasSubstr("{lr}: the command has it, and no --param names it"));
  EXPECT_EQ(Refusal(Options("cd src && ./go ${args}", {"lr=1..2"})),
            "${args}: a shell would read it as a variable; write --NAME={NAME} for each "
            "parameter, or a command that needs no shell");
  EXPECT_THAT(Refusal(Options(lr, {"lr=[1, 2"})), HasSubstr("the value is no YAML"));
  EXPECT_THAT(Refusal(Options(lr, {"lr=\"open"})), HasSubstr("the value is no YAML"));
  EXPECT_THAT(Refusal(Options(lr, {"lr=[1,\n2]"})), HasSubstr("more than one line"));
  EXPECT_THAT(Refusal(Options("", {"lr=1..2"})), HasSubstr("the command is empty"));
  EXPECT_THAT(Refusal(Options(lr, {"lr=1..2"}, "")), HasSubstr("no --metric: name the number"));
  EXPECT_THAT(Refusal(Options(lr, {"lr=1..2"}, "quality")), HasSubstr("add --goal minimize"));
  SweepOptions options = Options(lr, {"lr=1,2"});
  options.search = "asha";
  EXPECT_THAT(Refusal(options), HasSubstr("add --steps N"));
  options.search = "grid";
  options.trials = 3;
  EXPECT_THAT(Refusal(options), HasSubstr("--trials 3: a grid has"));
  options = Options(lr, {"lr=1..2"});
  options.seeds = "0";
  EXPECT_THAT(Refusal(options), HasSubstr("--seeds 0"));
  options.seeds = "";
  options.patterns = {"loss"};
  EXPECT_THAT(Refusal(options), HasSubstr("--pattern: the pattern 'loss' has no {name}"));
  options.patterns.clear();
  options.variables = {"A"};
  EXPECT_THAT(Refusal(options), HasSubstr("write --env NAME=VALUE"));
}

}  // namespace
}  // namespace dt::cli
