// keeper_test.cc: checkpoints that are written while training goes on, by a writer that the test
// holds up.
#include "worker/trainer/run/keeper.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <new>

#include "common/files.h"
#include "tests/testing/await.h"
#include "tests/testing/temp_folder.h"
#include "tests/worker/trainer/gpt2_trial.h"
#include "tests/worker/trainer/link/fake_conversation.h"
#include "worker/trainer/model/transformer.h"

namespace dt::trainer {
namespace {

using ::dt::testing::kPatience;
using ::dt::testing::TempFolder;

// A gate at which a writer waits until the test opens it.
class Gate {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Stops the writer here until the gate opens. Returns false if it never opens.
  bool Pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    return changed_.wait_for(lock, kPatience, [this] { return open_; });
  }
  bool AwaitArrivals(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return arrived_ >= count; });
  }
  int arrived() {
    std::lock_guard lock(mutex_);
    return arrived_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

class KeeperTest : public ::testing::Test {
 protected:
  KeeperTest() {
    spec_.model = SmallGpt2();
    spec_.checkpoint.every_steps = 1;
    spec_.checkpoint.every_seconds = 0;
    spec_.checkpoint.keep_latest = 10;
    model_.emplace(spec_.model, 1, home_);
    optimizer_.emplace(home_.pieces(), Gpt2Trial().optimizer);
    start_.token = "t";
    start_.experiment = 7;
    start_.trial = 2;
    start_.attempt = 1;
    start_.storage = folder_.path();
    start_.spec = nlohmann::json::object();
  }

  std::unique_ptr<CheckpointKeeper> Keeper(
      CheckpointKeeper::Write write, std::function<uint64_t()> spare = [] { return UINT64_MAX; }) {
    CheckpointKeeper::Parts parts{
        start_,           spec_,           plan_,   *device_, conversation_, home_.pieces(),
        *optimizer_,      nullptr,         &noise_, {},       std::nullopt,  {},
        std::move(write), std::move(spare)};
    return std::make_unique<CheckpointKeeper>(std::move(parts), 0);
  }
  CheckpointKeeper::Write HeldUp() {
    return [this](const std::string& storage, const checkpoint::CheckpointId& id,
                  const Snapshot& snapshot, checkpoint::Manifest manifest,
                  const std::atomic<bool>& leave) {
      if (!gate_.Pass())
        return absl::StatusOr<checkpoint::SavedCheckpoint>(IoError("nobody let it go"));
      return SaveSnapshot(storage, id, snapshot, std::move(manifest), leave);
    };
  }
  // Changes all state, as a step on the training thread does.
  void ChangeEverything(double by) {
    at::NoGradGuard no_grad;
    for (const Piece& piece : home_.pieces()) piece.value.detach().add_(by);
    for (const Piece& piece : optimizer_->State()) piece.value.add_(by);
  }
  std::vector<uint64_t> Told() const {
    std::vector<uint64_t> steps;
    for (const frames::FromTrainer& frame : conversation_.said) {
      if (const auto* done = std::get_if<frames::CheckpointDone>(&frame)) {
        steps.push_back(done->step);
      }
    }
    return steps;
  }
  std::string FileOf(const std::string& storage, const char* name) const {
    return ReadFile(storage + "/7/2/a1/step-1/" + name, 1 << 20).value_or("none");
  }

  TempFolder folder_;
  TrialSpec spec_ = Gpt2Trial();
  StepPlan plan_;
  WholeHome home_{at::kCPU};
  std::optional<Transformer> model_;
  std::optional<AdamW> optimizer_;
  NoiseScale noise_;
  FakeConversation conversation_;
  std::unique_ptr<Device> device_ = OpenCpu();
  frames::Start start_;
  Gate gate_;
};

TEST_F(KeeperTest, TrainingGoesOnWhileACheckpointIsWrittenAndItHoldsTheStateOfItsStep) {
  // Write the same state while training waits.
  const TempFolder at_once;
  start_.storage = at_once.path();
  {
    const auto keeper = Keeper(SaveSnapshot, [] { return 0; });
    ASSERT_TRUE(keeper->Save(1, {}).ok());
    EXPECT_EQ(Told(), (std::vector<uint64_t>{1})) << "there was no room for a copy";
  }
  conversation_.said.clear();
  start_.storage = folder_.path();
  const auto keeper = Keeper(HeldUp());
  ASSERT_TRUE(keeper->Save(1, {}).ok());
  ASSERT_TRUE(gate_.AwaitArrivals(1));
  ChangeEverything(0.5);  // steps 2 and on
  EXPECT_TRUE(keeper->Tend().ok());
  EXPECT_TRUE(Told().empty()) << "it is not durable";
  EXPECT_EQ(FileOf(folder_.path(), "manifest.json"), "none");
  gate_.Open();
  EXPECT_TRUE(keeper->Settle().ok());
  EXPECT_EQ(Told(), (std::vector<uint64_t>{1}));
  for (const char* name : {"manifest.json", "model.safetensors", "optimizer.safetensors"}) {
    EXPECT_EQ(FileOf(folder_.path(), name), FileOf(at_once.path(), name)) << name;
    EXPECT_NE(FileOf(folder_.path(), name), "none") << name;
  }
}

TEST_F(KeeperTest, ACheckpointThatFallsDueWhileAnotherIsWrittenWaitsForIt) {
  const auto keeper = Keeper(HeldUp());
  ASSERT_TRUE(keeper->Save(1, {}).ok());
  ASSERT_TRUE(gate_.AwaitArrivals(1));
  EXPECT_TRUE(keeper->Due(2));
  auto second = std::async(std::launch::async, [&] { return keeper->Save(2, {}); });
  EXPECT_EQ(gate_.arrived(), 1);
  gate_.Open();
  ASSERT_TRUE(second.get().ok());
  EXPECT_TRUE(keeper->Finish().ok());
  EXPECT_EQ(Told(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(KeeperTest, TheFirstOfAnAttemptMayFallDueBeforeTheOthers) {
  spec_.checkpoint.every_steps = 0;
  spec_.checkpoint.every_seconds = 3600;
  const auto others = Keeper(HeldUp());
  EXPECT_FALSE(others->Due(1));
  spec_.checkpoint.first_seconds = 1e-9;
  gate_.Open();
  const auto keeper = Keeper(HeldUp());
  EXPECT_TRUE(keeper->Due(1));
  ASSERT_TRUE(keeper->Save(1, {}).ok());
  EXPECT_TRUE(keeper->Settle().ok());
  EXPECT_FALSE(keeper->Due(2));
}

TEST_F(KeeperTest, NoneFallsDueByTimeWhileOneIsBeingWritten) {
  spec_.checkpoint.every_steps = 0;
  spec_.checkpoint.every_seconds = 1e-9;
  const auto keeper = Keeper(HeldUp());
  EXPECT_TRUE(keeper->Due(1));
  ASSERT_TRUE(keeper->Save(1, {}).ok());
  EXPECT_FALSE(keeper->Due(2));
  gate_.Open();
  EXPECT_TRUE(keeper->Settle().ok());
  EXPECT_TRUE(keeper->Due(2));
}

TEST_F(KeeperTest, AFailedWriteFailsTheNextStepAndNothingIsReported) {
  const std::pair<std::function<absl::StatusOr<checkpoint::SavedCheckpoint>()>, absl::StatusCode>
      failures[] = {
          {[] { return IoError("the disk is full"); }, kIoError},
          {[]() -> absl::StatusOr<checkpoint::SavedCheckpoint> { throw std::bad_alloc(); },
           kOutOfMemoryError}};
  for (const auto& [fail, code] : failures) {
    const auto keeper = Keeper([&fail = fail](const auto&...) { return fail(); });
    ASSERT_TRUE(keeper->Save(1, {}).ok());
    absl::Status status;
    testing::Await([&] { return !(status = keeper->Tend()).ok(); });
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(Told().empty());
  }
}

TEST_F(KeeperTest, ASurvivorMakesASaveAgainThatItsLostPeerMadeFail) {
  bool peer_is_lost = true;
  const auto keeper = Keeper(
      [&](const std::string& storage, const checkpoint::CheckpointId& id, const Snapshot& snapshot,
          checkpoint::Manifest manifest, const std::atomic<bool>& leave) {
        if (std::exchange(peer_is_lost, false)) {
          return absl::StatusOr<checkpoint::SavedCheckpoint>(CollectiveError("a peer is gone"));
        }
        return SaveSnapshot(storage, id, snapshot, std::move(manifest), leave);
      },
      /*spare=*/[] { return uint64_t{0}; });
  EXPECT_EQ(keeper->Save(1, {}).status().code(), kCollectiveError);
  EXPECT_FALSE(keeper->Writes(1));
  keeper->BecomeSurvivor(nullptr);
  ASSERT_TRUE(keeper->Save(1, {}).ok());
  EXPECT_EQ(Told(), std::vector<uint64_t>{1});
  keeper->BecomeSurvivor(nullptr);
  EXPECT_FALSE(keeper->Writes(1)) << "it is written";
}

TEST_F(KeeperTest, AnAttemptThatEndsLeavesAWriteThatDoesNotEnd) {
  auto keeper =
      Keeper([this](const auto&, const auto&, const auto&, const auto&,
                    const std::atomic<bool>& leave) -> absl::StatusOr<checkpoint::SavedCheckpoint> {
        gate_.Open();
        while (!leave) std::this_thread::yield();
        return CancelledError("left");
      });
  ASSERT_TRUE(keeper->Save(1, {}).ok());
  ASSERT_TRUE(gate_.Pass());
  keeper.reset();  // the keeper ends
  EXPECT_TRUE(Told().empty());
}

}  // namespace
}  // namespace dt::trainer
