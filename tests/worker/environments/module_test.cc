// module_test.cc: modules change variables, or are named when they do not load; with a login shell
// that has a command `module` of the test, and with a real one where it is installed.
#include "worker/environments/module.h"

#include <unistd.h>

#include "gtest/gtest.h"
#include "tests/testing/fake_tools.h"

namespace dt::environments {
namespace {

class ModuleTest : public ::testing::Test {
 protected:
  // Makes a login shell that begins with this script.
  void Begin(const std::string& script) const { tools_.folder().Write(".bash_profile", script); }
  absl::StatusOr<Loaded> Load(const std::vector<std::string>& modules) const {
    return LoadModules(modules, tools_ / "scratch", tools_.Variables());
  }

  testing::FakeTools tools_;
};

constexpr char kModule[] = R"(
echo the startup files print this
module() {
  case "$2" in
    cuda) export PATH="/opt/cuda/bin:$PATH" CUDA_HOME=/opt/cuda ;;
    quiet) unset WITHOUT ;;
    old) echo 'ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile' >&2 ;;
    *) echo "ERROR: Unable to locate a modulefile for '$2'" >&2; return 1 ;;
  esac
}
export WITHOUT=1 LINES_OF='a
b'
)";

TEST_F(ModuleTest, TheChangeOfAModuleIsThatOfTheProgram) {
  Begin(kModule);
  const auto loaded = Load({"cuda", "quiet"});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Environment with =
      WithModules({{"PATH", "/mine/bin:/usr/bin"}, {"WITHOUT", "0"}, {"X", "1"}}, *loaded);
  EXPECT_EQ(with, (Environment{{"PATH", "/opt/cuda/bin:/mine/bin:/usr/bin"},
                               {"CUDA_HOME", "/opt/cuda"},
                               {"X", "1"}}));
}

TEST_F(ModuleTest, AModuleThatDoesNotLoadIsNamed) {
  Begin(kModule);
  EXPECT_EQ(Load({"cuda", "nosuch/1.0"}).status(),
            ConfigError("environment.module: module nosuch/1.0 does not load: ERROR: Unable to "
                        "locate a modulefile for 'nosuch/1.0'"));
  EXPECT_EQ(Load({"old"}).status().code(), kConfigError);
}

TEST_F(ModuleTest, ANameIsNeverPartOfTheScript) {
  Begin(kModule);
  EXPECT_EQ(Load({"x; touch " + (tools_ / "made")}).status().code(), kConfigError);
  EXPECT_NE(access((tools_ / "made").c_str(), F_OK), 0);
}

TEST_F(ModuleTest, AShellWithoutTheCommandAndOneThatLeavesAreTold) {
  Begin("unset -f module\nPATH=/usr/bin:/bin\n");
  EXPECT_EQ(Load({"cuda"}).status().message(),
            "environment.module: the login shell of this host has no command module");
  Begin("exit 0\n");
  EXPECT_EQ(Load({"cuda"}).status().code(), kIoError);
}

TEST_F(ModuleTest, AModuleThatEndsTheShellIsNamedAndNotTheHost) {
  Begin(std::string(kModule) +
        "leaves() { eval \"$1\"; }\n"
        "module() { case $2 in fine) ;; *) leaves \"$2\" ;; esac; }\n");
  for (const char* code : {"exit 0", "exit 3", "echo words; exit 1"}) {
    const auto loaded = Load({"fine", code, "never"});
    EXPECT_EQ(loaded.status(),
              ConfigError(std::string("environment.module: module ") + code +
                          " ends the login shell that loads it, as exit does; remove that from "
                          "the module, or load another one"));
  }
  EXPECT_EQ(Load({"kill -9 $$"}).status().code(), kIoError) << "of the host";
  EXPECT_TRUE(Load({"fine"}).ok());
}

TEST_F(ModuleTest, FoldersOfAListKeepTheirSide) {
  const auto path = [](const std::string& own, const std::string& before,
                       const std::string& after) {
    const Environment with =
        WithModules({{"P", own}}, {.before = {{"P", before}}, .after = {{"P", after}}});
    return with.at("P");
  };
  EXPECT_EQ(path("/m:/u", "/u", "/new:/u"), "/new:/m:/u");
  EXPECT_EQ(path("/m:/u", "/u", "/u:/new"), "/m:/u:/new");
  EXPECT_EQ(path("/m", "/u", "/a:/b:/u:/c"), "/a:/b:/m:/c");
  EXPECT_EQ(path("mine", "old", "new"), "new");
  EXPECT_EQ(path("", "", "new"), "new");
}

TEST_F(ModuleTest, ARealModuleLoads) {
  constexpr char kProfile[] = "/etc/profile.d/modules.sh";
  if (access(kProfile, R_OK) != 0) {
    GTEST_SKIP() << "environment-modules is not installed; ./dev setup --programs installs it";
  }
  tools_.folder().Write("files/own/1.0",
                        "#%Module1.0\nsetenv OWN_HOME /opt/own\n"
                        "prepend-path PATH /opt/own/bin\n");
  tools_.folder().Write("files/leaves/1.0", "#%Module1.0\nputs stdout {exit 0;}\n");
  Begin(std::string(". ") + kProfile + "\nmodule use " + (tools_ / "files") + "\n");
  const auto loaded = Load({"own/1.0"});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Environment with = WithModules({{"PATH", "/mine/bin"}}, *loaded);
  EXPECT_EQ(with.at("PATH"), "/opt/own/bin:/mine/bin");
  EXPECT_EQ(with.at("OWN_HOME"), "/opt/own");
  const auto missing = Load({"own/1.0", "own/2.0"});
  EXPECT_EQ(missing.status().code(), kConfigError);
  EXPECT_NE(missing.status().message().find("module own/2.0 does not load"), std::string::npos)
      << missing.status();
  const auto left = Load({"own/1.0", "leaves/1.0"});
  EXPECT_EQ(left.status().code(), kConfigError);
  EXPECT_NE(left.status().message().find("module leaves/1.0 ends the login shell"),
            std::string::npos)
      << left.status();
}

}  // namespace
}  // namespace dt::environments
