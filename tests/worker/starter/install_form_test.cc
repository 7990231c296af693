// install_form_test.cc: the fix for a trainer without LibTorch fits how dtrain was installed.
#include "worker/starter/install_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const InstallFacts kVenv = {.prefix = "/srv/ann/env", .wheel = true, .pip = true};
const InstallFacts kUvTool = {
    .prefix = "/srv/ann/.local/share/uv/tools/dtrain", .wheel = true, .uv_tool = true};
const InstallFacts kDebian = {.prefix = "/usr"};
const InstallFacts kArchive = {.prefix = "/srv/ann/.local"};
const InstallFacts kTree = {.prefix = "/src/dtrain/build/release", .build = true};

TEST(InstallFormTest, TheFormFollowsFromTheFacts) {
  EXPECT_EQ(FormOf(kVenv), InstallForm::kWheel);
  EXPECT_EQ(FormOf(kUvTool), InstallForm::kWheel);
  EXPECT_EQ(FormOf({.prefix = "/usr", .wheel = true}), InstallForm::kWheel)
      << "pip as root, beside Debian's Python";
  EXPECT_EQ(FormOf(kDebian), InstallForm::kDebian);
  EXPECT_EQ(FormOf(kArchive), InstallForm::kArchive);
  EXPECT_EQ(FormOf({.prefix = "/usr/local"}), InstallForm::kArchive);
  EXPECT_EQ(FormOf(kTree), InstallForm::kBuild);
}

// Compares the fix of each form with words that it has, and words of others that would not help.
TEST(InstallFormTest, OnlyTheFixesOfItsFormAreNamed) {
  const std::vector<std::string> minors = {"2.11", "2.12"};
  EXPECT_THAT(TorchFix(kVenv, minors),
              AllOf(HasSubstr("/srv/ann/env/bin/pip install \"dtrain[train]\""),
                    HasSubstr("\"dtrain[cpu]\""), HasSubstr("DTRAIN_LIBTORCH")));
  EXPECT_THAT(TorchFix({.prefix = "/target", .wheel = true}, minors),
              AllOf(HasSubstr("pip install \"dtrain[train]\""), Not(HasSubstr("/target"))));
  EXPECT_THAT(TorchFix(kUvTool, minors),
              AllOf(HasSubstr("uv tool install --force --with \"torch==2.12.*\" dtrain"),
                    HasSubstr("DTRAIN_LIBTORCH"), Not(HasSubstr("dtrain["))));
  EXPECT_THAT(TorchFix(kDebian, minors), AllOf(HasSubstr("apt install --reinstall dtrain-trainer"),
                                               HasSubstr(".deb"), Not(HasSubstr("pip"))));
  EXPECT_THAT(TorchFix(kArchive, minors),
              AllOf(HasSubstr("pip install \"torch==2.12.*\""), HasSubstr("DTRAIN_LIBTORCH"),
                    Not(HasSubstr("dtrain["))));
  EXPECT_THAT(TorchFix(kArchive, {}), HasSubstr("pip install \"torch\""));
  EXPECT_THAT(TorchFix(kTree, minors),
              AllOf(HasSubstr("./dev setup"), HasSubstr("./dev build"), Not(HasSubstr("pip"))));
}

TEST(InstallFormTest, AMissingTrainerAndAMissingGpuHaveFixesToo) {
  const std::map<std::string, InstallFacts> of_trainer = {{"./dev package --wheel makes", kVenv},
                                                          {"apt install dtrain-trainer", kDebian},
                                                          {"in /srv/ann/.local", kArchive},
                                                          {"./dev build", kTree}};
  for (const auto& [words, facts] : of_trainer) EXPECT_THAT(TrainerFix(facts), HasSubstr(words));
  const std::map<std::string, InstallFacts> of_gpu = {{"./dev package --wheel --cuda", kVenv},
                                                      {"./dev package --cuda", kDebian},
                                                      {"./dev package --static --cuda", kArchive},
                                                      {"./dev setup --cuda", kTree}};
  for (const auto& [words, facts] : of_gpu) EXPECT_THAT(CudaFix(facts), HasSubstr(words));
}

TEST(InstallFormTest, FilesAroundTheProgramShowItsForm) {
  const testing::TempFolder folder;
  for (const char* file :
       {"venv/lib/python3.11/site-packages/dtrain-0.2.0.dist-info/METADATA", "venv/bin/pip",
        "user/lib/python3.9/site-packages/other-1.dist-info/METADATA",
        "user/lib/python3.12/site-packages/dtrain-0.2.0.dist-info/METADATA",
        "root/lib/python3/dist-packages/dtrain-0.2.0.dist-info/METADATA",
        "target/dtrain-0.2.0.dist-info/METADATA",
        "tool/lib/python3.13/site-packages/dtrain-0.2.0.dist-info/METADATA", "tool/uv-receipt.toml",
        "tree/CMakeCache.txt",
        "archive/lib/python3.11/site-packages/dtrain_libtorch-2.11.0.dist-info/METADATA"}) {
    folder.Write(file, "");
  }
  for (const auto& [place, form] :
       std::map<std::string, InstallForm>{{"venv", InstallForm::kWheel},
                                          {"user", InstallForm::kWheel},
                                          {"root", InstallForm::kWheel},
                                          {"target", InstallForm::kWheel},
                                          {"tool", InstallForm::kWheel},
                                          {"tree", InstallForm::kBuild},
                                          {"archive", InstallForm::kArchive},
                                          {"absent", InstallForm::kArchive}}) {
    const InstallFacts facts = FactsOf(folder / (place + "/bin/dttrain"));
    EXPECT_EQ(FormOf(facts), form) << place;
    EXPECT_EQ(facts.prefix, folder / place);
    EXPECT_EQ(facts.pip, place == "venv") << place;
    EXPECT_EQ(facts.uv_tool, place == "tool") << place;
  }
}

}  // namespace
}  // namespace dt
