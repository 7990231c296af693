// environment_file_test.cc: environments in files: what is read, and each refusal.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "spec/file/experiment_file.h"
#include "spec/program.h"

namespace dt::spec {
namespace {

// Reads a file whose environment section is this text.
ExperimentFile WithEnvironment(const std::string& environment, const std::string& code = ".") {
  return ReadExperimentFile(
      absl::StrCat("version: 1\nname: p\nrun: python3 train.py\n",
                   code.empty() ? "" : "code: " + code + "\n", "environment: ", environment, "\n"),
      "p.yaml", {});
}

// Returns the codes of its diagnostics with their paths' texts: "conflict missing".
std::string Codes(const ExperimentFile& file) {
  std::string codes;
  for (const Diagnostic& one : file.diagnostics) {
    absl::StrAppend(&codes, codes.empty() ? "" : " ", one.code);
  }
  return codes;
}

TEST(EnvironmentFileTest, AFileAndAListAreTwoFormsOfOneField) {
  const ExperimentFile file = WithEnvironment("{uv: uv.lock, python: \"3.11\"}");
  EXPECT_EQ(Codes(file), "");
  EXPECT_EQ(EnvironmentFile(file.spec.base().environment()), "uv.lock");
  EXPECT_EQ(file.spec.base().environment().python(), "3.11");
  const ExperimentFile list = WithEnvironment("{uv: [numpy, torch==2.5.1]}", "");
  EXPECT_EQ(Codes(list), "");
  EXPECT_EQ(list.spec.base().environment().uv_size(), 2);
  EXPECT_EQ(EnvironmentFile(list.spec.base().environment()), "");
}

TEST(EnvironmentFileTest, TheKindSaysWhatAWorkerMustMake) {
  for (const auto& [text, kind] :
       {std::pair("{uv: [numpy]}", "uv"), std::pair("{python: \"3.11\"}", "uv"),
        std::pair("{python: /opt/py/bin/python3}", ""), std::pair("{image: a/b:1}", "image"),
        std::pair("{conda: environment.yml}", "conda"), std::pair("{module: [cuda]}", "module")}) {
    EXPECT_EQ(EnvironmentKind(WithEnvironment(text).spec.base().environment()), kind) << text;
  }
}

TEST(EnvironmentFileTest, ATrialKeepsTheEnvironmentOfItsFile) {
  const ExperimentFile file = WithEnvironment("{uv: [numpy]}");
  const auto trial = ResolveTrial(file.spec, {});
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->environment().uv(0), "numpy");
}

TEST(EnvironmentFileTest, MistakesAreRefused) {
  for (const auto& [text, code] :
       {std::pair("{uv: [numpy], image: a/b:1}", "conflict"),
        std::pair("{image: a/b:1, python: \"3.11\"}", "conflict"),
        std::pair("{conda: environment.yml, python: \"3.11\"}", "conflict"),
        std::pair("{module: [cuda], python: /opt/py/bin/python3}", "conflict"),
        std::pair("{image: a/b:1, index: \"https://index.example/simple\"}", "conflict"),
        std::pair("{image: \"-v=/:/x\"}", "bad_text"),
        std::pair("{image: \" a/b:1\"}", "bad_text"),
        std::pair("{image: \"docker://a/b:1\"}", "bad_text"),
        std::pair("{image: \"a/b:1 --privileged\"}", "bad_text"),
        std::pair("{image: a/B}", "bad_text"),
        std::pair("{image: a..b}", "bad_text"),
        std::pair("{image: \"localhost:99999999999/x\"}", "bad_text"),
        std::pair("{conda: ../environment.yml}", "out_of_range"),
        std::pair("{module: [-x]}", "bad_text"),
        std::pair("{uv: ../requirements.txt}", "out_of_range"),
        std::pair("{uv: [numpy], index: \"https://me:secret@index.example/simple\"}", "bad_text"),
        std::pair("{uv: [numpy], index: index.example}", "bad_text"),
        std::pair("{index: \"https://index.example/simple\"}", "conflict"),
        std::pair("{uv: [--index-url=x]}", "bad_text"),
        std::pair("{uv: [' --index-url=x']}", "bad_text"),
        std::pair("{python: venv/bin/python3}", "bad_text")}) {
    EXPECT_EQ(Codes(WithEnvironment(text)), code) << text;
  }
}

TEST(EnvironmentFileTest, ANameIsOneLineWithinItsFolderAndItsLimit) {
  const std::string longest(limits::kCodePathBytes, 'x'), longer = longest + "x";
  for (const std::string& name :
       {std::string("cuda/13.0"), std::string("gcc@13"), std::string("/opt/modules/own/1.0"),
        std::string("own/1..2"), longest}) {
    EXPECT_EQ(Codes(WithEnvironment("{module: [\"" + name + "\"]}")), "") << name;
  }
  for (const std::string& name :
       {std::string("../own"), std::string("own/../../x"), std::string(".."), std::string("./own"),
        std::string("/opt/../x"), std::string("a\\nb"), std::string("a\\0b"), longer}) {
    EXPECT_EQ(Codes(WithEnvironment("{module: [\"" + name + "\"]}")), "bad_text") << name;
  }
  for (const auto& [name, codes] :
       {std::pair(std::string("envs/a.yml"), ""), std::pair(std::string("a/.."), "out_of_range"),
        std::pair(std::string("./../a.yml"), "out_of_range"),
        std::pair(std::string("/etc/a.yml"), "out_of_range"),
        std::pair(std::string("a\\n.yml"), "bad_text"), std::pair(longer, "bad_text")}) {
    EXPECT_EQ(Codes(WithEnvironment("{conda: \"" + name + "\"}")), codes) << name;
  }
}

TEST(EnvironmentFileTest, AUrlOfAPackageHoldsNoSecret) {
  const auto codes = [](const std::string& url) {
    return Codes(WithEnvironment(absl::StrCat("{uv: [\"aa @ ", url, "\"]}")));
  };
  for (const char* url :
       {"https://me:secret@host/aa.whl", "git+https://token@host/aa.git",
        "https://host/x https://me:secret@host/aa.whl", "git+ssh://git:secret@host/aa.git"}) {
    EXPECT_EQ(codes(url), "bad_text") << url;
  }
  for (const char* url : {"https://host/aa@1.whl", "git+https://host/aa.git@v1",
                          "git+ssh://git@host/aa.git", "https://${TOKEN}@host/aa.whl"}) {
    EXPECT_EQ(codes(url), "") << url;
  }
}

TEST(EnvironmentFileTest, AFileNeedsTheFolderThatItTravelsWith) {
  EXPECT_EQ(Codes(WithEnvironment("{uv: requirements.txt}", "")), "missing");
}

TEST(EnvironmentFileTest, TrialsThatRunInClientsHaveNoEnvironment) {
  const ExperimentFile file = ReadExperimentFile(
      absl::StrCat("version: 1\nname: p\ncommand: [", std::string(kClientTrialWord),
                   "]\nparameters: {lr: [0.1, 0.2]}\nsearch: {metric: loss}\n"
                   "environment: {uv: [numpy]}\n"),
      "p.yaml", {});
  EXPECT_EQ(Codes(file), "conflict");
}

TEST(EnvironmentFileTest, DtrainsOwnTrainerHasNoEnvironment) {
  const ExperimentFile file = ReadExperimentFile(
      "version: 1\nname: p\ndata: {train: a, val: b}\ntrain: {max_steps: 1}\n"
      "environment: {uv: [numpy]}\n",
      "p.yaml", {});
  EXPECT_NE(Codes(file).find("conflict"), std::string::npos) << Codes(file);
}

}  // namespace
}  // namespace dt::spec
