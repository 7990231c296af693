// made_environment_test.cc: dtprogram makes the environment of its experiment before the program
// starts.
#include "tests/testing/offline_uv.h"
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

class MadeEnvironmentTest : public ProgramTest {
 protected:
  void SetUp() override {
    if (testing::PathOfUv().empty()) GTEST_SKIP() << "uv is not installed; ./dev setup installs it";
    uv_.AddWheel("aa", "1.0", {"bb"});
    uv_.AddWheel("bb", "1.0");
    uv_.AddWheel("bb", "1.2");
    ProgramTest::SetUp();
  }
  Environment Variables() const override { return uv_.Variables(); }
  frames::Start StartWith(const std::vector<std::string>& packages, int rank = 0) {
    return StartOf({{"run", "python3 -c 'import bb; print(\"bb\", bb.__version__)'"},
                    {"environment", {{"uv", packages}}}},
                   rank);
  }

  testing::OfflineUv uv_;
};

TEST_F(MadeEnvironmentTest, RankZeroResolvesAndTheProgramRunsWithWhatTheCoordinatorKeeps) {
  Say(StartWith({"aa"}));
  ASSERT_TRUE(AwaitFrame<frames::Resolved>());
  EXPECT_EQ(Find<frames::Resolved>()->lock, "# python: any\naa==1.0\nbb==1.2\n");
  EXPECT_EQ(Find<frames::Prepared>(), nullptr);
  // The coordinator has other packages from an earlier attempt.
  Say(frames::Environment{kToken, "# python: any\naa==1.0\nbb==1.0\n"});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_NE(Log().find("bb 1.0"), std::string::npos);
  EXPECT_NE(Log().find("dtrain: environment: 2 packages, "), std::string::npos);
}

TEST_F(MadeEnvironmentTest, AResolvedExperimentIsNotResolvedAgain) {
  frames::Start start = StartWith({"aa"});
  start.environment = "# python: any\nbb==1.0\n";
  Say(start);
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_EQ(Find<frames::Resolved>(), nullptr);
}

TEST_F(MadeEnvironmentTest, ItsMakingIsReportedAndEndsBeforeTheProgramRuns) {
  Say(StartWith({"aa"}));
  ASSERT_TRUE(AwaitFrame<frames::Resolved>());
  Say(frames::Environment{kToken, Find<frames::Resolved>()->lock});
  AwaitEnd();
  const auto all = All<frames::Progress>();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all.front().makes_environment);
  EXPECT_NE(all.front().hint.value_or("").find("environment: "), std::string::npos);
  const auto last = std::find_if(
      all.begin(), all.end(), [](const frames::Progress& each) { return !each.makes_environment; });
  ASSERT_NE(last, all.end());
  EXPECT_EQ(last->hint, "");
}

TEST_F(MadeEnvironmentTest, PackagesThatDoNotResolveAreAFaultOfTheExperiment) {
  Say(StartWith({"aa>=3"}));
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "config");
  EXPECT_TRUE(end.of_experiment);
  EXPECT_NE(end.message.find("only aa==1.0 is available"), std::string::npos) << end.message;
}

TEST_F(MadeEnvironmentTest, AStopEndsTheMaking) {
  Say(StartWith({"aa"}));
  ASSERT_TRUE(AwaitFrame<frames::Resolved>());
  Say(frames::Stop{kToken, false, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
}

TEST_F(MadeEnvironmentTest, AnotherRankWaitsForThePackages) {
  Say(StartWith({"aa"}, 1));
  ASSERT_TRUE(AwaitFrame<frames::Progress>());
  Say(frames::Environment{kToken, "# python: any\nbb==1.0\n"});
  ASSERT_TRUE(AwaitFrame<frames::Prepared>());
  EXPECT_EQ(Find<frames::Resolved>(), nullptr);
  Say(frames::Stop{kToken, false, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
}

TEST_F(ProgramTest, AnInterpreterByItsPathIsFoundFirst) {
  const std::string python = folder_ / "venv/bin/python3";
  fs::create_directories(folder_ / "venv/bin");
  std::ofstream(folder_ / "venv/pyvenv.cfg") << "\n";
  std::ofstream(python) << "#!/bin/sh\necho own python of $VIRTUAL_ENV\n";
  fs::permissions(python, fs::perms::owner_all);
  Run("python3 x.py", {{"environment", {{"python", python}}}});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_NE(Log().find("own python of " + (folder_ / "venv")), std::string::npos);
}

TEST_F(ProgramTest, AnInterpreterThatIsNotThereIsNamed) {
  Run("python3 x.py", {{"environment", {{"python", "/not/there/python3"}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "config");
  EXPECT_NE(end.message.find("/not/there/python3"), std::string::npos) << end.message;
}

}  // namespace
}  // namespace dt
