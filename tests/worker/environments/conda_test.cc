// conda_test.cc: conda environments are resolved to an explicit list and made from it, with fake
// tools.
#include "worker/environments/conda.h"

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/testing/fake_tools.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;

constexpr char kList[] =
    "@EXPLICIT\nhttps://conda.example/linux-64/python-3.11.conda#0123\n"
    "https://conda.example/noarch/tzdata-2024a.conda#4567\n";

class CondaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"code", "scratch"}) fs::create_directory(tools_ / folder);
  }
  // Puts a tool that makes prefixes and lists two packages.
  Conda With(const std::string& tool, const std::string& more = "") const {
    const std::string script = more + "\ncase \"$*\" in\n*--version*) echo 'mamba 1.5' ;;\n" +
                               "*--explicit*) printf '# platform: linux-64\\n" + Escaped() +
                               "' ;;\n*create*) while [ \"$1\" != --prefix ]; do shift; done; "
                               "mkdir -p \"$2\" ;;\nesac";
    return {.path = tools_.Put(tool, script),
            .cache = tools_ / "cache",
            .scratch = tools_ / "scratch",
            .environment = tools_.Variables()};
  }
  static std::string Escaped() {
    std::string text;
    for (const char c : std::string(kList)) text += c == '\n' ? "\\n" : std::string(1, c);
    return text;
  }
  absl::StatusOr<std::string> Resolved(const Conda& conda, const std::string& text,
                                       const std::string& file = "environment.yml") const {
    tools_.folder().Write("code/" + file, text);
    return ResolveConda({.code_folder = tools_ / "code", .conda = file}, conda);
  }

  testing::FakeTools tools_;
};

TEST_F(CondaTest, AFileIsResolvedToAnExplicitList) {
  for (const auto& [tool, create, list] :
       {std::tuple("micromamba", "micromamba create --yes", "env export --explicit"),
        std::tuple("mamba", "mamba env create", "list --explicit --md5"),
        std::tuple("conda", "conda env create", "list --explicit --md5")}) {
    const auto lock = Resolved(With(tool), "dependencies: [python]\n");
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(*lock, kList);
    const std::string calls = tools_.TakeCalls();
    EXPECT_NE(calls.find(create), std::string::npos) << calls;
    EXPECT_NE(calls.find(list), std::string::npos) << calls;
    EXPECT_FALSE(fs::exists(tools_ / "scratch/chosen"));
  }
  EXPECT_EQ(CondaPackagesIn(kList), 2u);
}

TEST_F(CondaTest, AnExplicitFileIsTheListItself) {
  const auto lock = Resolved(With("conda"), std::string("# made by me\n") + kList, "lock.txt");
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(*lock, kList);
  EXPECT_EQ(tools_.TakeCalls(), "");
}

TEST_F(CondaTest, AnEnvironmentIsMadeFromTheListInItsPlace) {
  ASSERT_TRUE(MakeConda(kList, With("micromamba", "echo packages in $CONDA_PKGS_DIRS >> $HOME/out"),
                        tools_ / "made", -1)
                  .ok());
  EXPECT_TRUE(fs::is_directory(tools_ / "made"));
  EXPECT_NE(tools_.TakeCalls().find("create --yes --quiet --prefix " + (tools_ / "made") +
                                    " --file " + (tools_ / "scratch/explicit.txt")),
            std::string::npos);
  EXPECT_EQ(testing::Slurp(tools_ / "scratch/explicit.txt"), kList);
  EXPECT_EQ(testing::Slurp(tools_ / "out"), "packages in " + (tools_ / "cache/packages") + "\n");
}

TEST_F(CondaTest, WhatTheListCannotHoldIsRefused) {
  const Conda conda = With("micromamba");
  for (const char* text :
       {"dependencies:\n  - python\n  - pip:\n    - numpy\n",
        "@EXPLICIT\nhttps://me:secret@conda.example/noarch/a.conda\n",
        "@EXPLICIT\nhttps://conda.example/t/tk-123/noarch/a.conda\n", "@EXPLICIT\n"}) {
    const auto lock = Resolved(conda, text);
    EXPECT_EQ(lock.status().code(), kConfigError) << text;
    EXPECT_EQ(lock.status().message().find("secret"), std::string::npos);
    EXPECT_EQ(lock.status().message().find("tk-123"), std::string::npos);
  }
  EXPECT_EQ(tools_.TakeCalls(), "");
  const std::string large(70000, 'x');
  EXPECT_NE(Resolved(conda, "@EXPLICIT\nhttps://c/" + large + "\n")
                .status()
                .message()
                .find("the limit is 65536"),
            std::string::npos);
}

TEST_F(CondaTest, AMissingFileAndAFailureAreTold) {
  const Conda conda = With("micromamba", "echo 'nothing provides nosuch' >&2; exit 1");
  EXPECT_EQ(ResolveConda({.code_folder = tools_ / "code", .conda = "no.yml"}, conda).status(),
            ConfigError("environment.conda: no.yml is not in the folder of code that was sent "
                        "along"));
  EXPECT_EQ(Resolved(conda, "dependencies: [nosuch]\n").status(),
            ConfigError("micromamba cannot resolve environment.yml: nothing provides nosuch"));
}

}  // namespace
}  // namespace dt::environments
