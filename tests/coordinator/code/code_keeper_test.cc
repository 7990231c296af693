// code_keeper_test.cc: code that experiments and submissions name stays; other code is deleted.
#include "coordinator/code/code_keeper.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "common/pack/pack.h"
#include "common/sha256.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

class CodeKeeperTest : public ::testing::Test {
 protected:
  CodeKeeperTest() : code_(*pack::Pack({{"a.py", pack::Kind::kFile, "1"}})) { Restart(); }

  void Restart() {
    keeper_.reset();
    auto started = CodeKeeper::Start(folder_ / "code");
    ASSERT_TRUE(started.ok()) << started.status();
    keeper_ = *std::move(started);
  }
  // Posts a call and waits for its answer.
  template <typename Result, typename Post>
  Result Answer(const Post& post) {
    auto promise = std::make_shared<std::promise<Result>>();
    std::future<Result> answer = promise->get_future();
    EXPECT_TRUE(post([promise](Result result) { promise->set_value(std::move(result)); }));
    if (answer.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
      return absl::DeadlineExceededError("no answer");
    }
    return answer.get();
  }
  absl::StatusOr<bool> Put(const std::string& data) {
    return Answer<absl::StatusOr<bool>>([&](auto done) {
      return keeper_->Put({digest_, 1, 0, data}, done);
    });
  }
  absl::StatusOr<CodePart> Get() {
    return Answer<absl::StatusOr<CodePart>>(
        [&](auto done) { return keeper_->Get(digest_, 0, done); });
  }
  absl::Status Hold() {
    return Answer<absl::Status>([&](auto done) { return keeper_->Hold(digest_, done); });
  }

  testing::TempFolder folder_;
  const std::string code_;
  const std::string digest_ = Sha256Hex(code_);
  std::unique_ptr<CodeKeeper> keeper_;
};

TEST_F(CodeKeeperTest, CodeIsGivenOutOnlyWhileAnExperimentNamesIt) {
  EXPECT_TRUE(*Put(code_));
  EXPECT_TRUE(absl::IsNotFound(Get().status()));
  keeper_->Name(3, digest_);
  keeper_->Name(4, digest_);
  keeper_->Name(4, digest_);
  ASSERT_TRUE(Get().ok());
  EXPECT_EQ(Get()->data, code_);
  keeper_->Forget(3);
  EXPECT_TRUE(Get().ok());
  keeper_->Forget(4);
  keeper_->Forget(4);
  EXPECT_TRUE(absl::IsNotFound(Get().status()));
  EXPECT_FALSE(*Put("")) << "the last experiment that named it is deleted";
}

TEST_F(CodeKeeperTest, ASubmissionHoldsItsCodeAndIsRefusedIfTheCodeIsMissing) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Hold()));
  EXPECT_TRUE(*Put(code_));
  ASSERT_TRUE(Hold().ok());
  keeper_->Name(3, digest_);
  keeper_->Forget(3);
  EXPECT_TRUE(*Put("")) << "a submission under way needs it";
  keeper_->LetGo(digest_);
  EXPECT_TRUE(*Put("")) << "known until its room is wanted";
}

TEST_F(CodeKeeperTest, AStartReportsExperimentsWithoutTheirCode) {
  EXPECT_TRUE(*Put(code_));
  Restart();
  keeper_->Name(1, digest_);
  keeper_->Name(2, Sha256Hex("lost"));
  EXPECT_EQ(keeper_->Missing(), std::vector<ExperimentId>{2});
}

TEST_F(CodeKeeperTest, AfterItsStopNothingIsAccepted) {
  keeper_->Stop();
  EXPECT_FALSE(keeper_->Put({digest_, 1, 0, code_}, [](absl::StatusOr<bool>) { FAIL(); }));
}

}  // namespace
}  // namespace dt
