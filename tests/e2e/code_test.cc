// code_test.cc: a folder of code on its way from the user to the trainers.
#include "common/limits.h"
#include "common/pack/folder.h"
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

class CodeTest : public FleetTest {
 protected:
  CodeTest() {
    source_.Write("train.py", "print(1)");
    source_.Write("lib/deep.py", "answer = 42");
    packed_ = pack::PackFolder(source_.path());
  }

  void Send() {
    const std::string& bytes = packed_->bytes;
    v1::PutCodeResponse response;
    const size_t parts = (bytes.size() + limits::kCodePartBytes - 1) / limits::kCodePartBytes;
    for (size_t part = 0; part < parts; ++part) {
      v1::PutCodeRequest request;
      request.set_digest(packed_->digest);
      request.set_parts(static_cast<uint32_t>(parts));
      request.set_part(static_cast<uint32_t>(part));
      request.set_data(bytes.substr(part * limits::kCodePartBytes, limits::kCodePartBytes));
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
      const grpc::Status status = cluster_.control().PutCode(&context, request, &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
    }
    EXPECT_TRUE(response.complete());
  }
  v1::ExperimentSpec WithCode(v1::ExperimentSpec spec) {
    spec.mutable_code()->set_digest(packed_->digest);
    spec.mutable_code()->set_bytes(packed_->bytes.size());
    spec.mutable_code()->set_files(packed_->files);
    return spec;
  }
  // Counts the copies in the run folders of attempts that are under way.
  size_t FoldersOfAttempts() {
    size_t folders = 0;
    std::error_code code;
    for (const auto& slot : fs::directory_iterator(cluster_.folder() / "run/code", code)) {
      if (!slot.is_directory(code)) continue;
      for ([[maybe_unused]] const auto& entry : fs::directory_iterator(slot.path(), code))
        ++folders;
    }
    return folders;
  }
  static size_t CountOf(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  testing::TempFolder source_;
  absl::StatusOr<pack::PackedFolder> packed_;
};

TEST_F(CodeTest, EachRankGetsAFreshCopyWhichIsGoneAfterItsAttempt) {
  Start({"w0", "w1"});
  Send();
  const uint64_t experiment =
      cluster_.Submit(WithCode(Training(20, "step_ms=1", 2).Sweep("seed", {"1", "2", "3"}).spec()));
  ASSERT_TRUE(cluster_.AwaitEnd(experiment));
  EXPECT_EQ(cluster_.Experiment(experiment).finished(), 3u);
  for (uint32_t trial = 1; trial <= 3; ++trial) {
    const std::string log = cluster_.Logs(experiment, trial);
    EXPECT_EQ(CountOf(log, "file train.py: print(1)"), 2u) << log;
    EXPECT_EQ(CountOf(log, "file lib/deep.py: answer = 42"), 2u) << log;
    EXPECT_EQ(CountOf(log, "left-behind"), 0u) << "an attempt before wrote there: " << log;
  }
  EXPECT_TRUE(Await([&] { return FoldersOfAttempts() == 0; }));
  EXPECT_TRUE(fs::exists(cluster_.folder() / ("run/code/" + packed_->digest)));
}

TEST_F(CodeTest, CodeOutlivesARestartOfTheCoordinatorAndTheWorkersCache) {
  source_.Write("table.csv", std::string(3 * limits::kCodePartBytes + 1, ','));
  packed_ = pack::PackFolder(source_.path());
  cluster_.StartCoordinator();
  Send();
  const uint64_t experiment = cluster_.Submit(WithCode(Training(20).spec()));
  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  // Damage the worker's copy, so that it asks the coordinator.
  fs::create_directories(cluster_.folder() / "run/code");
  fs::permissions(cluster_.folder() / "run", fs::perms::owner_all);
  cluster_.folder().Write("run/code/" + packed_->digest, "damaged");
  cluster_.StartWorker("w0");
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  const std::string log = cluster_.Logs(experiment);
  EXPECT_NE(log.find("file lib/deep.py: answer = 42"), std::string::npos) << log;
  EXPECT_EQ(Sha256Hex(testing::Slurp(cluster_.folder() / ("run/code/" + packed_->digest))),
            packed_->digest);
}

TEST_F(CodeTest, CodeThatIsGoneFromTheCoordinatorEndsTheTrialWithASentence) {
  cluster_.StartCoordinator();
  Send();
  spec::ExperimentBuilder training = Training(20);
  const uint64_t experiment = cluster_.Submit(WithCode(training.Set("retries.max", "1").spec()));
  cluster_.KillCoordinator();
  fs::remove(cluster_.folder() / ("state/code/" + packed_->digest));
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0");
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED));
  const v1::ExplainTrialResponse why = cluster_.Explain(experiment);
  ASSERT_EQ(why.attempts_size(), 2) << why.ShortDebugString();
  EXPECT_NE(why.attempts(0).message().find("did not get the code"), std::string::npos)
      << why.ShortDebugString();
}

TEST_F(CodeTest, AWorkerKilledWhileItHeldACopyCleansUpWhenItComesBack) {
  Start({"w0"});
  Send();
  const uint64_t experiment = cluster_.Submit(WithCode(Training(1'000'000, "wait_at=5").spec()));
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 5));
  EXPECT_EQ(FoldersOfAttempts(), 1u);
  cluster_.worker("w0").KillAndReap();
  cluster_.Cancel(experiment);
  cluster_.StartWorker("w0");
  EXPECT_TRUE(Await([&] { return FoldersOfAttempts() == 0; }));
}

}  // namespace
}  // namespace dt
