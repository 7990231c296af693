// program_file_test.cc: files that run a program: their contents, and each refusal with its place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/file/experiment_file.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

constexpr const char* kProgramHead = "version: 1\nname: p\n";
constexpr const char* kCommand = "command: [python3, train.py, \"--lr={lr}\"]\n";

ExperimentFile ReadProgram(const std::string& text, const std::vector<std::string>& set = {}) {
  return ReadExperimentFile(absl::StrCat(kProgramHead, text), "p.yaml", set);
}

// Returns "line:column code: message; hint" for each diagnostic.
std::string Said(const ExperimentFile& file) {
  std::string out;
  for (const Diagnostic& one : file.diagnostics) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", one.line, ":", one.column, " ", one.code, ": ",
                    one.message, one.hint.empty() ? "" : "; ", one.hint);
  }
  return out;
}

std::vector<spec::v1::Spec> Trials(const ExperimentFile& file) {
  std::vector<spec::v1::Spec> out;
  const auto trials = spec::Expand(file.spec);
  EXPECT_TRUE(trials.ok()) << trials.status();
  if (!trials.ok()) return out;
  for (const auto& trial : *trials) {
    const auto& given = trial.assignments();
    auto resolved = spec::ResolveTrial(file.spec, {given.begin(), given.end()});
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    if (resolved.ok()) out.push_back(*std::move(resolved));
  }
  return out;
}

spec::v1::Value ValueIn(const spec::v1::Spec& trial, const std::string& name) {
  for (const auto& one : trial.values()) {
    if (one.path() == name) return one.value();
  }
  return {};
}

constexpr const char* kWhole = R"(
command: [python3, train.py, "--lr={lr}", "--layers={layers}", "{optimizer.name}", 5, true]
workdir: /data/{model}
steps: 100
parameters:
  lr: {min: 1e-4, max: 1e-1, scale: log}
  layers: {min: 2, max: 8}
  optimizer.name: [adam, "12"]
  model: resnet
  bias: [true, false]
  momenta: [[0.9, 0.95], [0.8, 0.9]]
  decay: [0, 0.1]
  resources.gpus: 2
include: [{lr: 0.01, layers: 3, optimizer.name: adam, model: resnet, bias: true,
           momenta: [0.9, 0.95], decay: 0, resources.gpus: 2}]
exclude: [{bias: false, optimizer.name: adam}]
resources: {env: {OMP_NUM_THREADS: 1}}
search: {method: random, max_trials: 20, metric: accuracy}
stop: {patience: 5}
retries: {max: 2}
checkpoint: {keep_latest: 2, keep_best: 1}
)";

TEST(ProgramFileTest, EveryWordOfAProgramIsRead) {
  const ExperimentFile file = ReadProgram(kWhole);
  ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
  const std::vector<spec::v1::Spec> trials = Trials(file);
  ASSERT_EQ(trials.size(), 20);
  const spec::v1::Spec& first = trials.front();
  EXPECT_EQ(spec::FieldText(first, "command"),
            "[python3, train.py, \"--lr=0.01\", \"--layers=3\", adam, \"5\", \"true\"]");
  EXPECT_EQ(first.workdir(), "/data/resnet");
  EXPECT_EQ(first.steps(), 100);
  EXPECT_EQ(first.resources().gpus(), 2);
  EXPECT_EQ(first.values_size(), 8);
  EXPECT_EQ(spec::GoalOf(file.spec.search()), "maximize");
  for (const spec::v1::Spec& trial : trials) {
    EXPECT_TRUE(ValueIn(trial, "layers").has_integer());
    EXPECT_TRUE(ValueIn(trial, "optimizer.name").has_text());
    EXPECT_TRUE(ValueIn(trial, "bias").has_flag());
    EXPECT_EQ(ValueIn(trial, "momenta").numbers().values_size(), 2);
    EXPECT_TRUE(ValueIn(trial, "decay").has_number());
    EXPECT_EQ(ValueIn(trial, "model").text(), "resnet");
  }
}

TEST(ProgramFileTest, PrintedAndReadAgainItHasTheSameTrials) {
  for (const std::string& text :
       {std::string(kWhole),
        std::string("run: |\n  cd x\n  ./go {a} ${B} \"{{}}\"\nparameters:\n"
                    "  a: [1.0, 2.0]\n  c: {min: 0.0, max: 4.0, count: 2}\n"),
        absl::StrCat(kCommand,
                     "parameters: {lr: {min: 0.0, max: 8.0}, n: {min: 1, max: 64, "
                     "scale: log}}\nsearch: {method: bayes, max_trials: 4}\n")}) {
    ExperimentFile file = ReadProgram(text);
    ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
    spec::Freeze(file.spec, "cpu", 9);
    for (const spec::v1::ExperimentSpec& one : {file.spec, spec::FilledIn(file.spec)}) {
      const std::string printed = spec::ToYaml(one);
      const ExperimentFile again = ReadExperimentFile(printed, "printed.yaml");
      ASSERT_TRUE(again.diagnostics.empty()) << RenderDiagnostics(again.diagnostics) << printed;
      EXPECT_EQ(spec::ToYaml(again.spec), printed);
      const auto before = Trials(file);
      const auto after = Trials(again);
      ASSERT_EQ(before.size(), after.size()) << printed;
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(before[i].SerializeAsString(), after[i].SerializeAsString()) << printed;
      }
    }
  }
}

TEST(ProgramFileTest, AShellTextKeepsItsOwnVariables) {
  const ExperimentFile file = ReadProgram(
      "run: |\n  for i in 1 2; do\n    ./go {name} ${HOME}\n  done\n"
      "parameters: {name: a b}\n");
  ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
  EXPECT_EQ(Trials(file).front().run(), "for i in 1 2; do\n  ./go 'a b' ${HOME}\ndone\n");
}

TEST(ProgramFileTest, AFolderOfCodeMayIncludeIgnoredFiles) {
  for (const char* text : {"code: {folder: src, include: [data/*.bin, w.pt]}\n",
                           "code: src\ncode_include: [data/*.bin, w.pt]\n"}) {
    const ExperimentFile file = ReadProgram(absl::StrCat("command: [./go]\n", text));
    ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
    EXPECT_EQ(file.spec.base().code(), "src");
    EXPECT_TRUE(IsExplicit(file.spec, "code"));
    ASSERT_EQ(file.spec.base().code_include_size(), 2) << text;
    EXPECT_EQ(file.spec.base().code_include(1), "w.pt");
    EXPECT_NE(ToYaml(file.spec).find("code_include: [\"data/*.bin\", w.pt]"), std::string::npos)
        << ToYaml(file.spec);
  }
}

struct ProgramRefusal {
  std::string text;
  std::string said;
};

TEST(ProgramFileTest, MetricsAreOnePatternOrAListAndFiles) {
  const ExperimentFile one = ReadProgram(
      absl::StrCat(kCommand, "parameters: {lr: [0.1, 0.2]}\n",
                   "metrics: {pattern: 'step {step}: loss {loss}', tensorboard: \"runs/{lr}\"}\n"));
  EXPECT_EQ(Said(one), "");
  ASSERT_EQ(one.spec.base().metrics().pattern_size(), 1);
  EXPECT_EQ(one.spec.base().metrics().pattern(0), "step {step}: loss {loss}");
  const auto trials = Trials(one);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[1].metrics().tensorboard(), "runs/0.2");
  EXPECT_EQ(trials[1].metrics().pattern(0), "step {step}: loss {loss}") << "not a parameter";
  const ExperimentFile again = ReadExperimentFile(ToYaml(one.spec), "again.yaml");
  EXPECT_EQ(Said(again), "") << ToYaml(one.spec);
  EXPECT_EQ(ToYaml(again.spec), ToYaml(one.spec));
  const ExperimentFile list =
      ReadProgram("run: ./go\nmetrics: {pattern: [tqdm, 'loss {loss}'], file: logs/*.csv}\n");
  EXPECT_EQ(Said(list), "");
  EXPECT_EQ(list.spec.base().metrics().pattern_size(), 2);
  EXPECT_EQ(ReadProgram("run: ./go\n", {"metrics.pattern=loss {loss}"}).diagnostics.size(), 0u);
}

TEST(ProgramFileTest, AProgramsOwnCheckpointsAreInAFolderThatMayNameParameters) {
  const ExperimentFile file =
      ReadProgram(absl::StrCat(kCommand, "parameters: {lr: [0.1, 0.2]}\n",
                               "checkpoint: {folder: \"out/{lr}/ckpt-*\", keep_latest: 2}\n"));
  EXPECT_EQ(Said(file), "");
  const auto trials = Trials(file);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[1].checkpoint().folder(), "out/0.2/ckpt-*");
  const ExperimentFile again = ReadExperimentFile(ToYaml(file.spec), "again.yaml");
  EXPECT_EQ(Said(again), "") << ToYaml(file.spec);
  EXPECT_EQ(ToYaml(again.spec), ToYaml(file.spec));
}

TEST(ProgramFileTest, AFolderOfCheckpointsElsewhereIsRefused) {
  for (const char* folder : {"/out", "..", "../out", "out/../..", "'--'"}) {
    const std::string said =
        Said(ReadProgram(absl::StrCat("run: ./go\ncheckpoint: {folder: ", folder, "}\n")));
    EXPECT_NE(said.find("is not below the folder in which the program starts"), std::string::npos)
        << folder << ": " << said;
  }
  const std::string of_a_client =
      Said(ReadProgram("command: ['dtrain:client']\ncheckpoint: {folder: out}\n"));
  EXPECT_NE(of_a_client.find("checkpoint.folder is for trials on workers"), std::string::npos)
      << of_a_client;
  EXPECT_NE(Said(ReadExperimentFile("version: 1\nname: a\ndata: {train: a.bin}\n"
                                    "checkpoint: {folder: out}\n",
                                    "a.yaml"))
                .find("checkpoint.folder is for a program"),
            std::string::npos);
}

TEST(ProgramFileTest, AWrongPatternIsReportedWithItsFix) {
  EXPECT_EQ(Said(ReadProgram("run: ./go\nmetrics: {pattern: [tqdm, loss]}\n")),
            "4:27 bad_text: metrics.pattern[1]: the pattern 'loss' has no {name}, so it finds no "
            "number; write text with {names}, such as 'step {step}: loss {loss}'");
  EXPECT_EQ(Said(ReadProgram("data: {train: a, val: b}\nmetrics: {file: m.csv}\n")),
            "4:17 conflict: metrics.file is for a program, and this experiment runs none; set "
            "command, or remove it");
}

TEST(ProgramFileTest, AnErrorIsReportedWithItsPlace) {
  for (const ProgramRefusal& refusal : std::vector<ProgramRefusal>{
           {"command: [./go]\ncode: {include: [a]}\n",
            "4:7 missing: code has no folder; write code: {folder: ., include: [data/*.bin]}"},
           {"command: [./go]\ncode: {folder: ., exclude: [a]}\n",
            "4:19 unknown_key: unknown key 'code.exclude'; write code: {folder: ., include: "
            "[data/*.bin]}"},
           {"command: [./go]\ncode: {folder: ., include: [../a]}\n",
            "4:29 out_of_range: code_include[0] '../a' is not below the folder; write a pattern "
            "relative to the folder of code, such as data/*.bin"},
           {"command: [./go]\ntrain: {max_steps: 5, seq_len: 8}\n",
            "4:1 conflict: train is for dtrain's own trainer; this experiment runs a command; pass "
            "it as a parameter, or remove it"},
           {"command: [./go]\nstop: {nonfinite: skip}\n",
            "4:19 conflict: stop.nonfinite is for dtrain's own trainer; this experiment runs a "
            "command; pass it as a parameter, or remove it"},
           {"command: python3 train.py\n",
            "3:10 wrong_type: 'command' is a single value; it must be a list of texts; write each "
            "word apart, or write run for a text of the shell"},
           {"command: []\n",
            "3:10 empty: command has no words; for example: command: [python3, train.py]"},
           {"command: [./go, {lr}]\nparameters: {lr: [1]}\n",
            "3:17 wrong_type: 'command[1]' is a map; it must be text; write words with braces in "
            "quotes"},
           {"command: [./go]\nparameters: {x: [1, auto]}\n",
            "4:17 wrong_type: 'parameters.x' mixes values of several types, such as texts and "
            "numbers; write all of them in quotes, as texts"},
           {"command: [./go]\nparameters: {2x: [1]}\n",
            "4:14 bad_name: parameters '2x' is not a name; a name has letters, digits, _, . and -, "
            "and a letter or _ first"},
           {"command: [./go]\nsearch: {metric: reward}\n",
            "4:1 missing: search.goal is missing; whether more reward is better is not known; add "
            "goal: maximize or goal: minimize"},
           {"data: {train: a.bin, val: b.bin}\nsearch: {metric: reward}\n",
            "4:18 unknown_choice: search.metric is 'reward'; it must be one of: val_loss, loss, "
            "hellaswag_acc, hellaswag_acc_norm"},
           {"data: {train: a.bin, val: b.bin}\nparameters: {lr: [1]}\n",
            "4:14 unknown_key: unknown field 'lr'; did you mean 'optimizer.lr'?"}}) {
    EXPECT_EQ(Said(ReadProgram(refusal.text)), refusal.said) << refusal.text;
  }
}

TEST(ProgramFileTest, OtherSystemsWordsGetOursAsSuggestion) {
  const auto hint = [](const char* word) {
    const ExperimentFile file =
        ReadProgram(absl::StrCat(kCommand, "parameters: {lr: [1]}\n", word, ": x\n"));
    return file.diagnostics.size() == 1 ? file.diagnostics[0].hint : Said(file);
  };
  EXPECT_EQ(hint("env"), "did you mean 'resources.env'?");
  EXPECT_EQ(hint("program"), "did you mean 'command'?");
  EXPECT_EQ(hint("entrypoint"), "did you mean 'command'?");
  EXPECT_EQ(hint("working_dir"), "did you mean 'workdir'?");
  EXPECT_EQ(hint("environment_variables"), "did you mean 'resources.env'?");
}

TEST(ProgramFileTest, AWordNearOneOfOursCausesOneErrorAlone) {
  for (const auto& [text, errors] :
       {std::pair("comand: [python3, train.py]\ncode: .\nparameters: {x: [1]}\n", "unknown_key"),
        std::pair("program: train.py\ncode: .\nparameters: {x: [1]}\n", "unknown_key"),
        std::pair("command: [./go]\nstep: 9\nsearch: {method: asha, max_trial: 5, metric: loss}\n"
                  "parameters: {x: [1, 2]}\n",
                  "unknown_key unknown_key")}) {
    std::vector<std::string> codes;
    for (const Diagnostic& one : ReadProgram(text).diagnostics) codes.push_back(one.code);
    EXPECT_EQ(absl::StrJoin(codes, " "), errors) << text;
  }
}

TEST(ProgramFileTest, AnUnknownKeyNearNoneGetsTheKeysOfItsSection) {
  const ExperimentFile file = ReadProgram("command: [./go]\ntimeout: {colour: 5m}\n");
  EXPECT_EQ(Said(file),
            "4:11 unknown_key: unknown key 'timeout.colour'; timeout may hold report, start, "
            "total, stop");
}

TEST(ProgramFileTest, AValueInPlaceOfASectionGetsTheFieldThatIsMeant) {
  EXPECT_EQ(Said(ReadProgram("command: [./go]\nretries: 3\n")),
            "4:10 wrong_type: 'retries' is a single value; it must be a map of fields; write "
            "retries: {max: 3}");
  EXPECT_EQ(Said(ReadProgram("command: [./go]\ncheckpoint: 3\n")),
            "4:13 wrong_type: 'checkpoint' is a single value; it must be a map of fields; "
            "checkpoint may hold every, keep_latest, keep_best, folder");
}

TEST(ProgramFileTest, AnOptionWithoutItsParameterOrAListWithoutBracketsIsWarnedOf) {
  const ExperimentFile file = ReadProgram(
      "command: [./go, \"--lr={lr}\", \"--mom={momentum}\", \"x={y}\", \"{b}\"]\n"
      "parameters:\n  lr: 0.1,0.2\n  b: x,y\n  c: 0.1:0.2\n");
  ASSERT_EQ(file.warnings.size(), 3u) << RenderDiagnostics(file.warnings);
  EXPECT_EQ(file.warnings[0].message,
            "command[2]: '{momentum}' names no parameter, and stays as it is");
  EXPECT_EQ(file.warnings[0].hint, "add momentum to parameters");
  EXPECT_EQ(file.warnings[1].message, "parameters.lr is the text '0.1,0.2', its only value");
  EXPECT_EQ(file.warnings[1].hint, "to try several, write {min: 0.1, max: 1}, or [1, 2, 3]");
  EXPECT_EQ(file.warnings[2].message, "parameters.c is the text '0.1:0.2', its only value");
}

TEST(ProgramFileTest, SetReachesAParameterByItsOwnName) {
  const ExperimentFile file =
      ReadProgram(absl::StrCat(kCommand, "parameters:\n  lr: [1, 2]  # rates\n"),
                  {"lr=0.5", "steps=7", "command=[./go, \"{lr}\"]"});
  ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
  ASSERT_EQ(Trials(file).size(), 1);
  EXPECT_EQ(spec::FieldText(Trials(file)[0], "command"), "[\"./go\", \"0.5\"]");
  EXPECT_NE(file.effective_text.find("lr: 0.5  # rates"), std::string::npos) << file.effective_text;
  EXPECT_NE(Said(ReadProgram(kCommand, {"nothing=1"})).find("unknown key 'nothing'"),
            std::string::npos);
}

TEST(ProgramFileTest, AFolderOfCodeMayHaveAWorkdirWithinIt) {
  const ExperimentFile file = ReadProgram("command: [./go]\ncode: .\nworkdir: runs\n");
  ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
  EXPECT_TRUE(file.warnings.empty());
  EXPECT_EQ(file.spec.base().code(), ".");
}

}  // namespace
}  // namespace dt::spec
