// page_test.cc: the page in a real browser, and /api/v1, against real programs (page_browser.py).
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/e2e/fleet_fixture.h"
#include "tests/testing/experiments.h"
#ifdef DTTRAIN
#include "tests/e2e/training_fixture.h"
#endif

namespace dt {
namespace {

constexpr int kNoBrowser = 77;
constexpr std::chrono::seconds kBrowserPatience{240};

// Runs a browser against a fixture's cluster. Screenshots are kept for people to look at. gRPC is
// on loopback without TLS, as `dtctl up` has it, so that every user of the page may act.
template <typename Fixture>
class SeenTest : public Fixture {
 protected:
  SeenTest() : Fixture(testing::Transport::kClearTcp) {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    shots_ = std::filesystem::path(PAGE_SHOTS) / test;
    std::filesystem::remove_all(shots_);
    std::filesystem::create_directories(shots_);
  }

  testing::ChildProcess Look(const std::string& view, const std::string& more = "") {
    const std::string script = std::string(DTRAIN_SOURCE_DIR) + "/tests/e2e/page_browser.py";
    return testing::ChildProcess({PYTHON, "-B", script, view,
                                  "http://" + this->cluster_.http_address(), shots_.string(), more},
                                 Log());
  }
  // Waits for the browser, or for a script in its place, and checks its result.
  void ExpectSeen(testing::ChildProcess& browser) {
    const std::optional<int> status = browser.AwaitExit(kBrowserPatience);
    ASSERT_TRUE(status.has_value()) << "the browser is not done";
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == kNoBrowser) {
      GTEST_SKIP() << testing::Slurp(Log());
    }
    EXPECT_EQ(*status, 0) << testing::Slurp(Log());
  }
  void ExpectSeen(const std::string& view, const std::string& more = "") {
    testing::ChildProcess browser = Look(view, more);
    ExpectSeen(browser);
  }
  bool AwaitFile(const std::string& name, testing::ChildProcess& browser) {
    return Await([&] { return std::filesystem::exists(shots_ / name) || !browser.Running(); },
                 kBrowserPatience) &&
           std::filesystem::exists(shots_ / name);
  }
  std::string Log() const { return this->cluster_.folder() / "browser.log"; }

  std::filesystem::path shots_;
};

class PageTest : public SeenTest<FleetTest> {
 protected:
  // Trains four trials of one experiment and one of another.
  void TrainSome() {
    Start({"w0", "w1"});
    const uint64_t four = cluster_.Submit(
        Training(300, "step_ms=1 eval_every=50 checkpoint_every=100 spew=3 by_rate=1")
            .Sweep("optimizer.lr", {"0.0001", "0.0003", "0.001", "0.003"})
            .spec());
    const uint64_t one = cluster_.Submit(Training(20).spec());
    ASSERT_TRUE(cluster_.AwaitEnd(four));
    ASSERT_TRUE(cluster_.AwaitEnd(one));
  }
  static v1::ExperimentSpec Labelled(const std::string& name, const std::string& team,
                                     spec::ExperimentBuilder builder) {
    builder.spec().set_name(name);
    v1::Label& label = *builder.spec().add_labels();
    label.set_key("team");
    label.set_value(team);
    return builder.spec();
  }
  // Trains sixteen trials that differ only in the learning rate, and two of another experiment, one
  // of which ends before it is evaluated.
  void TrainMany() {
    Start({"w0", "w1"});
    spec::ExperimentBuilder wide = Training(300, "step_ms=0 eval_every=50 by_rate=1");
    wide.spec().set_name("wide");
    const uint64_t many =
        cluster_.Submit(wide.Sweep("optimizer.lr", {"0.0001", "0.0003", "0.001", "0.002"})
                            .Sweep("optimizer.weight_decay", {"0", "0.1", "0.2", "0.3"})
                            .spec());
    spec::ExperimentBuilder narrow = Training(150, "step_ms=0 eval_every=75");
    narrow.spec().set_name("narrow");
    narrow.Set("optimizer.lr", "0.005");
    const uint64_t two = cluster_.Submit(
        Sweep(narrow.spec(), "train.max_steps", {IntegerValue(150), IntegerValue(40)}));
    ASSERT_TRUE(cluster_.AwaitEnd(many));
    ASSERT_TRUE(cluster_.AwaitEnd(two));
  }
  // Runs `dtctl ARGUMENTS` and returns the path of a file with its output.
  std::string Told(const std::string& arguments) {
    std::string path = cluster_.folder() / "told";
    testing::ChildProcess dtctl(
        {"/bin/sh", "-c",
         std::string(DTCTL) + " --address " + cluster_.address() + " " + arguments + " > " + path},
        Log());
    EXPECT_EQ(dtctl.AwaitExit(), 0) << testing::Slurp(Log());
    return path;
  }
};

TEST_F(PageTest, EachViewShowsItsContentsAndTheBrowserReportsNoErrors) {
  TrainSome();
  ExpectSeen("views");
}

TEST_F(PageTest, EachCallOfTheApiIsAnsweredByALiveCoordinator) {
  TrainSome();
  testing::ChildProcess calls({PYTHON, "-B", DTRAIN_SOURCE_DIR "/tests/e2e/api_calls.py",
                               "http://" + cluster_.http_address()},
                              Log());
  ExpectSeen(calls);
}

TEST_F(PageTest, NothingIsWiderThanTheWindowFromATelephoneToAWall) {
  TrainSome();
  ExpectSeen("sizes");
}

TEST_F(PageTest, SettingsAreInTheAddressAndKeysDoTheSameAsTheMouse) {
  TrainSome();
  ExpectSeen("settings");
}

TEST_F(PageTest, DrawingsTipsAndComparisonsAgreeWithTheApi) {
  TrainMany();
  ExpectSeen("charts");
}

TEST_F(PageTest, ChartsHandleProgramsOnePointManyCurvesAndOutliers) {
  Start({});
  ExpectSeen("pictures");
}

TEST_F(PageTest, TheViewOfASearchShowsTheMetricAndTheBestTrialFirst) {
  Start({});
  ExpectSeen("searches");
}

TEST_F(PageTest, SlicesContoursAndTheParetoFrontShowEachTrialWhereItIs) {
  Start({});
  ExpectSeen("parameters");
}

TEST_F(PageTest, RunningTrialsMoveLogsAreSearchedAndListsFilteredAndSorted) {
  Start({"w0"});
  const uint64_t running = cluster_.Submit(
      Labelled("beech", "vision", Training(1000000, "step_ms=5 eval_every=100 say_every=25")));
  ASSERT_TRUE(cluster_.AwaitStep(running, 1, 30));
  cluster_.Submit(Training(20).spec());
  cluster_.SetQuota("team=vision", 1, "ann");
  ExpectSeen("live");
  ExpectSeen("log");
  cluster_.Submit(Labelled("ash", "text", Training(20)));
  cluster_.Cancel(cluster_.Submit(Labelled("cedar", "vision", Training(20))));
  ExpectSeen("listed");
}

TEST_F(PageTest, TheFocusStaysWhileAPageChanges) {
  Start({"w0"});
  const uint64_t running = cluster_.Submit(Training(1000000, "step_ms=5 eval_every=100").spec());
  ASSERT_TRUE(cluster_.AwaitStep(running, 1, 200));
  ExpectSeen("focus");
}

TEST_F(PageTest, AFingerPointsZoomsAndChoosesAsAMouseDoes) {
  TrainSome();
  ExpectSeen("touch");
}

TEST_F(PageTest, AMissingThingIsReportedOnceAndNotRequestedAgain) {
  TrainSome();
  ExpectSeen("missing");
}

TEST_F(PageTest, TheRungsOfASearchAndReasonsOfStopsAreShown) {
  Start({"w0", "w1"});
  for (const int brackets : {1, 2}) {
    spec::ExperimentBuilder builder = Training(90, "step_ms=0 by_rate=1");
    builder.Set("schedule.warmup_steps", "1");
    v1::ExperimentSpec& spec = builder.spec();
    v1::Parameter& rate = *spec.add_parameters();
    rate.set_path("optimizer.lr");
    rate.mutable_range()->set_min(1e-5);
    rate.mutable_range()->set_max(0.1);
    rate.mutable_range()->set_scale("log");
    spec.mutable_search()->set_method("asha");
    spec.mutable_search()->set_max_trials(18);
    spec.mutable_search()->mutable_asha()->set_rungs(2);
    spec.mutable_search()->mutable_asha()->set_brackets(brackets);
    ASSERT_TRUE(cluster_.AwaitEnd(cluster_.Submit(spec)));
  }
  ExpectSeen("rungs");
}

TEST_F(PageTest, TheTableHasEveryMetricAndATrialsViewAgreesWithDescribe) {
  Start({"w0", "w1"});
  const uint64_t experiment = cluster_.Submit(Training(60, "step_ms=1 eval_every=20 measures=1", 2)
                                                  .Set("parallel.pipeline", "2")
                                                  .Set("parallel.microbatches", "3")
                                                  .spec());
  ASSERT_TRUE(cluster_.AwaitEnd(experiment));
  ExpectSeen("columns", Told("describe " + std::to_string(experiment) + "/1"));
  ExpectSeen("phases");
}

TEST_F(PageTest, HostileNamesAreTextAndReverseNoLine) {
  Start({});
  auto training = Training(20);
  v1::ExperimentSpec& spec = training.spec();
  const std::string script =
      "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>";
  spec.set_name(script + "\xe2\x80\xae" + std::string(100, 'x'));
  spec.set_description(script + std::string(3000, 'y'));
  for (int i = 0; i < 3; ++i) {  // 12 kB of labels
    v1::Label& label = *spec.add_labels();
    label.set_key("k" + std::to_string(i));
    label.set_value(script + "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d" + std::string(4000 - 120, 'z'));
  }
  cluster_.Submit(spec);
  ExpectSeen("hostile");
}

TEST_F(PageTest, ARestartOfTheCoordinatorKeepsThePagesContents) {
  TrainSome();
  testing::ChildProcess browser = Look("restart");
  if (!AwaitFile("open", browser)) return ExpectSeen(browser);
  cluster_.KillCoordinator();
  ASSERT_TRUE(AwaitFile("lost", browser)) << testing::Slurp(Log());
  cluster_.StartCoordinator(cluster_.http_address());
  cluster_.Submit(Training(20).spec());
  ExpectSeen(browser);
}

TEST_F(PageTest, AnActOnThePageHappensAfterItsConfirmation) {
  Start({"w0"});
  const uint64_t experiment = cluster_.Submit(Training(100000, "step_ms=2").spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 30));
  testing::ChildProcess browser = Look("acts");
  ExpectSeen(browser);
  if (IsSkipped()) return;
  const v1::ExperimentSummary summary = cluster_.Experiment(experiment);
  EXPECT_EQ(summary.state(), v1::EXPERIMENT_CANCELLED);
  EXPECT_EQ(summary.priority(), 7);
  EXPECT_EQ(summary.note(), "too <b>hot</b>");
  ASSERT_EQ(summary.labels_size(), 1);
  EXPECT_EQ(summary.labels(0).key(), "team");
}

TEST_F(PageTest, ANewExperimentIsMadeFromTheFileOfAnotherWithItsCode) {
  Start({});
  const std::filesystem::path folder = cluster_.folder() / "mine";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "train.py") << "print(1)\n";
  std::ofstream(folder / "mine.yaml") << "version: 1\nname: mine\n"
                                         "command: [python3, train.py, \"--lr={lr}\"]\ncode: .\n"
                                         "parameters: {lr: [0.1, 0.01]}\nsearch: {metric: score}\n";
  Told("submit " + (folder / "mine.yaml").string());
  ExpectSeen("copies");
  if (IsSkipped()) return;
  EXPECT_EQ(cluster_.Experiment(2).name(), "other");
  EXPECT_EQ(cluster_.Experiment(2).trials(), 3u);
}

TEST_F(PageTest, APageOfAnotherSiteThatTheBrowserHasOpenChangesNothing) {
  Start({});
  const uint64_t experiment = cluster_.Submit(Training(20).spec());
  ExpectSeen("foreign");
  if (IsSkipped()) return;
  const v1::ExperimentSummary summary = cluster_.Experiment(experiment);
  EXPECT_FALSE(summary.paused());
  EXPECT_EQ(summary.note(), "");
  EXPECT_EQ(summary.cancelled(), 0u);
}

TEST_F(PageTest, WithTokensOnlySignedInUsersActAndTheRecordNamesThem) {
  Start({});
  cluster_.Submit(Training(20).spec());
  cluster_.coordinator().Signal(SIGTERM);
  ASSERT_TRUE(cluster_.coordinator().AwaitExit().has_value());
  cluster_.SetCoordinatorFlags({"--auth=tokens"});
  cluster_.StartCoordinator();
  const std::string token = cluster_.folder() / "state/admin.token";
  ExpectSeen("tokens", token);
  if (IsSkipped()) return;
  const std::string text = testing::Slurp(Told("--token-file " + token + " get audit -o csv"));
  EXPECT_NE(text.find("admin,admin,Change,experiment 1,OK"), std::string::npos) << text;
}

#ifdef DTTRAIN
class RealPageTest : public SeenTest<TrainingTest> {};

TEST_F(RealPageTest, TheLossOfARealModelFallsWhileThePageIsOpenAndItsSamplesAreShown) {
  Start({"w0"});
  MakeData("text");
  // Slow enough for a browser that starts late to see the loss fall.
  const FileOf file{.steps = 100000, .checkpoint = "{every: 1000}"};
  MustDtctl({"submit", WriteFile(file), "--set", "optimizer.lr=3.0e-5", "--set", "eval.samples=1",
             "--set", "eval.sample_prompt=The "});
  ExpectSeen("learns");
}
#else
TEST(RealPageTest, TheLossOfARealModelFallsWhileThePageIsOpenAndItsSamplesAreShown) {
  GTEST_SKIP() << "dttrain is not built here: it takes the component worker, and LibTorch";
}
#endif

}  // namespace
}  // namespace dt
