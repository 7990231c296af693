// image_test.cc: experiments whose programs run in a container image, with a real podman.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/fleet_fixture.h"
#include "tests/testing/experiments.h"
#include "tests/testing/small_image.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

class ImageTest : public FleetTest {
 protected:
  void SetUp() override {
    if (const std::string why = image_.Make(); !why.empty()) GTEST_SKIP() << why;
    cluster_.StartCoordinator();
    fs::create_directories(cluster_.folder() / "data");
    StartWorkerOf("w0");
    ASSERT_TRUE(cluster_.AwaitWorkers(1));
  }
  void StartWorkerOf(const std::string& name) {
    const Environment variables = image_.Variables();
    cluster_.StartWorker(
        name,
        {"--program-runner", DTPROGRAM, "--environments-dir", cluster_.folder() / "environments"},
        {{"CONTAINERS_CONF", variables.at("CONTAINERS_CONF")},
         {"CONTAINERS_STORAGE_CONF", variables.at("CONTAINERS_STORAGE_CONF")}});
  }
  static v1::ExperimentSpec Program(const std::string& text, const std::string& image) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path :
         {"run", "resources.gpus", "resources.device", "seed", "environment.image"}) {
      spec.add_explicit_paths(path);
    }
    spec.mutable_base()->set_run(text);
    spec.mutable_base()->mutable_environment()->set_image(image);
    return spec;
  }

  testing::SmallImage image_;
};

TEST_F(ImageTest, AnExperimentKeepsTheDigestAndItsTrialsRunThatImage) {
  std::ofstream(cluster_.folder() / "data/words") << "of the data\n";
  v1::ExperimentSpec spec =
      Program("cat /etc/mark " + (cluster_.folder() / "data/words") +
                  "\n"
                  "mkdir $DTRAIN_CHECKPOINT_DIR/c; echo w > $DTRAIN_CHECKPOINT_DIR/c/w\n"
                  "echo '{\"step\": 2, \"val_loss\": 0.5}' > $DTRAIN_REPORT\n"
                  "echo '{\"checkpoint\": \"c\"}' > $DTRAIN_REPORT",
              testing::SmallImage::kName);
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED)) << cluster_.Logs(experiment);
  EXPECT_EQ(cluster_.Trial(experiment).val_loss(), 0.5);
  EXPECT_EQ(cluster_.Checkpoints(experiment).size(), 1u);
  EXPECT_TRUE(Await([&] {
    const std::string log = cluster_.Logs(experiment);
    return log.find("within the image\nof the data\n") != std::string::npos;
  })) << cluster_.Logs(experiment);
  const std::string lock = cluster_.Described(experiment).environment_lock();
  EXPECT_EQ(lock.rfind("# image: localhost/small:1\nlocalhost/small@sha256:", 0), 0u) << lock;
  EXPECT_EQ(image_.Containers(), "");
}

TEST_F(ImageTest, AnImageThatIsNotThereIsOneErrorOfTheExperiment) {
  const uint64_t experiment = cluster_.Submit(Program("true", "localhost/nothing:1"));
  ASSERT_TRUE(cluster_.AwaitEnd(experiment));
  const std::string explained = cluster_.Explain(experiment).ShortDebugString();
  EXPECT_NE(explained.find("localhost/nothing:1 is not on this host"), std::string::npos)
      << explained;
}

TEST_F(ImageTest, AProgramThatTheImageLacksIsOneErrorOfTheExperiment) {
  v1::ExperimentSpec spec = Program("python9 train.py", testing::SmallImage::kName);
  v1::Parameter& lr = *spec.add_parameters();
  lr.set_path("lr");
  for (const double value : {0.1, 0.2, 0.3}) lr.add_values()->set_number(value);
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitEnd(experiment));
  for (uint32_t trial = 1; trial <= 3; ++trial) {
    EXPECT_LE(cluster_.Trial(experiment, trial).attempts(), 1) << trial;
  }
  const std::string explained = cluster_.Explain(experiment).ShortDebugString();
  EXPECT_NE(explained.find("localhost/small:1 has no program \\'python9\\' in its PATH"),
            std::string::npos)
      << explained;
}

TEST_F(ImageTest, AKilledWorkerAndRunnerLeaveNoContainerOnceTheWorkerIsBack) {
  const uint64_t experiment =
      cluster_.Submit(Program("echo '{\"step\": 1, \"val_loss\": 1}' > $DTRAIN_REPORT\n"
                              "while :; do sleep 0.1; done",
                              testing::SmallImage::kName));
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 1));
  const std::string first = image_.Containers();
  EXPECT_NE(first, "");
  const pid_t runner = cluster_.TrainerOf("w0");
  cluster_.worker("w0").KillAndReap();
  kill(runner, SIGKILL);
  StartWorkerOf("w0");
  EXPECT_TRUE(Await([&] { return image_.Containers().find(first) == std::string::npos; }));
  cluster_.Cancel(experiment);
  ASSERT_TRUE(cluster_.AwaitEnd(experiment));
  EXPECT_TRUE(Await([&] { return image_.Containers().empty(); })) << image_.Containers();
}

}  // namespace
}  // namespace dt
