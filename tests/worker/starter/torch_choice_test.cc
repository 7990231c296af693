// torch_choice_test.cc: which trainer goes with the PyTorch that is installed.
#include "worker/starter/torch_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const InstallFacts kWheel = {.prefix = "/env", .wheel = true, .pip = true};

std::string VersionFile(const std::string& version) {
  return "from typing import Optional\n\n__all__ = ['__version__', 'cuda']\n__version__ = '" +
         version + "'\ncuda: Optional[str] = '13.0'\n";
}

Torch Installed(const std::string& folder, const std::string& version) {
  return {.folder = folder, .version = version, .libraries = {folder + "/torch/lib"}};
}

TEST(TorchChoiceTest, TheVersionIsReadAsPythonWritesIt) {
  EXPECT_EQ(VersionIn(VersionFile("2.11.0+cu130")), "2.11.0+cu130");
  EXPECT_EQ(VersionIn("__version__=\"2.12.1\"\r\n"), "2.12.1");
  EXPECT_EQ(VersionIn(""), "");
  EXPECT_EQ(VersionIn("__version__ = read()\n"), "");
  EXPECT_EQ(VersionIn("__version__ = '"), "");
}

TEST(TorchChoiceTest, AMinorVersionIsItsFirstTwoNumbers) {
  for (const auto& [version, minor] : std::map<std::string, std::string>{{"2.11.0+cu130", "2.11"},
                                                                         {"2.9.1", "2.9"},
                                                                         {"2.12", "2.12"},
                                                                         {"2.13.0a0+git1", "2.13"},
                                                                         {"", ""},
                                                                         {"2", ""},
                                                                         {"x.y", ""},
                                                                         {"2.x.1", ""}}) {
    EXPECT_EQ(MinorOf(version), minor) << version;
  }
}

// For each list of trainers and of installed versions: the first version that has a trainer.
TEST(TorchChoiceTest, TheFirstPyTorchWithATrainerIsChosen) {
  const std::vector<std::string> versions = {"2.10.0", "2.11.0+cu130", "2.12.1", "2.13.0", ""};
  const std::vector<std::vector<std::string>> trainers = {{"2.11"}, {"2.11", "2.12"}, {"2.12"}};
  for (const std::vector<std::string>& minors : trainers) {
    for (const std::string& first : versions) {
      for (const std::string& second : versions) {
        const TrainerChoice choice = ChooseTrainer(
            "/env/bin/dttrain", minors, {Installed("/a", first), Installed("/b", second)}, {},
            [] { return kWheel; });
        std::string program, library_path;
        for (const auto& [folder, version] : {std::pair("/b", second), std::pair("/a", first)}) {
          if (std::count(minors.begin(), minors.end(), MinorOf(version)) == 0) continue;
          program = "/env/bin/dttrain-" + MinorOf(version);
          library_path = std::string(folder) + "/torch/lib";
        }
        EXPECT_EQ(choice.program, program) << first << ", " << second;
        EXPECT_EQ(choice.library_path, library_path) << first << ", " << second;
        EXPECT_EQ(choice.fault.empty(), !program.empty()) << choice.fault;
      }
    }
  }
}

TEST(TorchChoiceTest, AFaultNamesWhatIsThereWhatIsSupportedAndTheFix) {
  const TorchPlaces places{.prefixes = {"/env", "/conda"}};
  const auto fault = [&](const std::vector<std::string>& minors,
                         const std::vector<Torch>& installed, const TorchPlaces& searched,
                         const InstallFacts& facts) {
    return ChooseTrainer("/env/bin/dttrain", minors, installed, searched, [&] { return facts; })
        .fault;
  };
  EXPECT_THAT(
      fault({"2.11", "2.12"}, {Installed("/site", "2.9.1")}, places, kWheel),
      AllOf(HasSubstr("needs PyTorch 2.11 or 2.12"), HasSubstr("the host has 2.9.1 in /site"),
            HasSubstr("pip install \"dtrain[train]\""), HasSubstr("DTRAIN_LIBTORCH")));
  EXPECT_THAT(fault({"2.11"}, {}, places, kWheel),
              HasSubstr("needs PyTorch 2.11, and there is none in /env or /conda; /env/bin/pip "));
  EXPECT_THAT(fault({"2.11"}, {}, {.only = "/mine"}, kWheel),
              HasSubstr("there is none in DTRAIN_LIBTORCH=/mine"));
  EXPECT_THAT(fault({"2.11", "2.12"}, {}, places, {.prefix = "/srv/ann/.local"}),
              HasSubstr("; pip install \"torch==2.12.*\" into a virtual environment"));
}

TEST(TorchChoiceTest, TrainersBesideTheStarterAreListedInOrder) {
  const testing::TempFolder folder;
  for (const char* name : {"dttrain", "dttrain-2.9", "dttrain-2.12", "dttrain-2.12-cuda",
                           "dttrain-old", "dtworker-2.1"}) {
    folder.Write(std::string("bin/") + name, "");
  }
  EXPECT_THAT(TrainersBeside(folder / "bin/dttrain"), ElementsAre("2.9", "2.12"));
  EXPECT_THAT(TrainersBeside(folder / "nowhere/dttrain"), IsEmpty());
  EXPECT_FALSE(TrainerStartedBy(folder / "bin/dtworker-2.1").has_value());
}

// Debian's packages first, then each Python's packages with the newest Python first, PyTorch before
// dtrain-libtorch, and then the next prefix.
TEST(TorchChoiceTest, PlacesAreSearchedInOrder) {
  const testing::TempFolder folder;
  std::vector<std::string> versions;
  int number = 0;
  for (const char* place :
       {"own/lib/dtrain", "own", "own/lib/python3.12/site-packages",
        "own/lib/python3.12/site-packages/dtrain_libtorch", "own/lib/python3.9/site-packages",
        "own/lib/python3/dist-packages", "active/lib/python3.11/site-packages"}) {
    versions.push_back("2." + std::to_string(++number) + ".0");
    folder.Write(std::string(place) + "/torch/version.py", VersionFile(versions.back()));
  }
  std::vector<std::string> found;
  for (const Torch& torch :
       InstalledTorches({.prefixes = {folder / "own", folder / "active", folder / "absent"}})) {
    found.push_back(torch.version);
  }
  EXPECT_EQ(found, versions);
  const std::vector<Torch> only = InstalledTorches(
      {.only = folder / "own/lib/python3.9/site-packages", .prefixes = {folder / "own"}});
  ASSERT_EQ(only.size(), 1u);
  EXPECT_EQ(only[0].version, "2.5.0");
}

TEST(TorchChoiceTest, LibrariesOfCudaAreSearchedBesideThoseOfPyTorch) {
  const testing::TempFolder folder;
  folder.Write("torch/version.py", VersionFile("2.11.0"));
  for (const char* name : {"nvidia/cu13/lib/a", "nvidia/nccl/lib/b", "nvidia/headers/include/c"}) {
    folder.Write(name, "");
  }
  const std::vector<Torch> found = InstalledTorches({.only = folder.path()});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].libraries, ElementsAre(folder / "torch/lib", folder / "nvidia/cu13/lib",
                                              folder / "nvidia/nccl/lib"));
}

class StarterTest : public ::testing::Test {
 protected:
  StarterTest() {
    std::filesystem::create_directory(folder_ / "bin");
    // Copied, since a program looks for others beside its own file.
    std::filesystem::copy_file(STARTER, starter_);
    const std::string trainer = folder_.Write(
        "bin/dttrain-2.11", "#!/bin/sh\necho \"started with $* and $LD_LIBRARY_PATH\"\n");
    std::filesystem::permissions(trainer, std::filesystem::perms::owner_all);
  }

  // Returns the exit status and the output.
  std::pair<int, std::string> Run(const std::vector<std::string>& command,
                                  std::map<std::string, std::string> variables = {}) {
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX", "DTRAIN_LIBTORCH", "LD_LIBRARY_PATH"}) {
      variables.insert({name, ""});
    }
    const std::string log = folder_ / "log";
    testing::ChildProcess child(command, log, variables);
    const int status = child.AwaitExit(std::chrono::seconds(30)).value_or(-1);
    return {WEXITSTATUS(status), testing::Slurp(log)};
  }

  testing::TempFolder folder_;
  std::string starter_ = folder_ / "bin/dttrain";
};

TEST_F(StarterTest, StartsTheTrainerOfTheInstalledVersionWithTheSameArguments) {
  folder_.Write("lib/python3.11/site-packages/torch/version.py", VersionFile("2.11.0+cu130"));
  const auto [status, output] = Run({starter_, "--spec", "trial.json"});
  EXPECT_EQ(status, 0) << output;
  EXPECT_THAT(output, HasSubstr("started with --spec trial.json and " +
                                (folder_ / "lib/python3.11/site-packages/torch/lib")));
}

TEST_F(StarterTest, IsFoundThroughALinkAndInAnActiveEnvironment) {
  folder_.Write("mine/lib/python3.12/site-packages/torch/version.py", VersionFile("2.11.1"));
  std::filesystem::create_symlink(starter_, folder_ / "link");
  const auto [status, output] = Run({folder_ / "link"}, {{"VIRTUAL_ENV", folder_ / "mine"}});
  EXPECT_EQ(status, 0) << output;
  EXPECT_THAT(output, HasSubstr("mine/lib/python3.12/site-packages/torch/lib"));
}

TEST_F(StarterTest, EndsWithItsOwnStatusIfNoTrainerGoesWithThePyTorch) {
  folder_.Write("lib/python3.11/site-packages/torch/version.py", VersionFile("2.15.0"));
  const auto [status, output] = Run({starter_, "--version"});
  EXPECT_EQ(status, 69);
  EXPECT_THAT(output, HasSubstr("error: dttrain needs PyTorch 2.11, and the host has 2.15.0 in"));
}

}  // namespace
}  // namespace dt
