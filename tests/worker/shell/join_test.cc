// join_test.cc: joining, with a coordinator whose answers are lost or refused.
#include "worker/shell/join.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "common/files.h"
#include "common/net/token.h"
#include "common/sha256.h"
#include "dtrain/v1/access.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

namespace v1 = ::dtrain::v1;

// Takes one hash, as the real service does, and answers as the test asks.
class FakeAccess final : public v1::Access::Service {
 public:
  explicit FakeAccess(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeAccess() override { server_->Shutdown(std::chrono::system_clock::now()); }
  grpc::Status Join(grpc::ServerContext*, const v1::JoinRequest* request,
                    v1::JoinResponse*) override {
    std::lock_guard lock(mutex_);
    hashes_.insert(request->hash());
    if (hashes_.size() > 1) return {grpc::StatusCode::PERMISSION_DENIED, "was already used"};
    if (lost_ > 0) return --lost_, grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost");
    return grpc::Status::OK;
  }
  void LoseAnswers(int count) {
    std::lock_guard lock(mutex_);
    lost_ = count;
  }
  std::set<std::string> hashes() {
    std::lock_guard lock(mutex_);
    return hashes_;
  }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::set<std::string> hashes_;
  int lost_ = 0;
};

class JoinTest : public ::testing::Test {
 protected:
  JoinTest() { EXPECT_TRUE(WriteFileAtomically(folder_ / "join", FreshToken() + "\n").ok()); }
  // Joins with pauses that are over at once.
  absl::Status Join() {
    return JoinFleet(options_, [this](absl::Duration) { return ++pauses_ < 100; });
  }
  std::string Token() const { return ReadTokenFile("t", folder_ / "token").value_or(""); }

  testing::TempFolder folder_;
  JoinOptions options_{{"unix:" + (folder_ / "socket")},
                       grpc::InsecureChannelCredentials(),
                       folder_ / "join",
                       folder_ / "token",
                       "host"};
  FakeAccess access_{options_.coordinators[0]};
  std::atomic<int> pauses_{0};
};

TEST_F(JoinTest, TheTokenIsMadeHereAndItsFileIsThisUsersAlone) {
  ASSERT_TRUE(Join().ok());
  EXPECT_EQ(access_.hashes(), std::set<std::string>{Sha256Hex(Token())});
  struct stat info {};
  ASSERT_EQ(stat((folder_ / "token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_TRUE(Join().ok()) << "a worker with a token does not join again";
}

TEST_F(JoinTest, AnswersThatAreLostAndKillsInBetweenChangeNothing) {
  access_.LoseAnswers(3);
  // A kill after the exchange and before the token file: only the draft is on disk.
  EXPECT_TRUE(absl::IsCancelled(JoinFleet(options_, [](absl::Duration) { return false; })));
  EXPECT_EQ(Token(), "");
  ASSERT_TRUE(Join().ok());
  EXPECT_EQ(pauses_, 2);
  EXPECT_EQ(access_.hashes(), std::set<std::string>{Sha256Hex(Token())});
}

TEST_F(JoinTest, ARefusalIsReportedAndLeavesNoToken) {
  JoinOptions other = options_;
  other.token_file = folder_ / "other";
  ASSERT_TRUE(JoinFleet(other, [](absl::Duration) { return false; }).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Join()));
  EXPECT_EQ(Token(), "");
  options_.join_token_file = folder_ / "none";
  EXPECT_TRUE(absl::IsInvalidArgument(Join()));
}

TEST_F(JoinTest, WorkersOfOneTokenFileJoinAtOnceAndHaveOneToken) {
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([this] {
      const absl::Status joined = JoinFleet(options_, [](absl::Duration) {
        std::this_thread::yield();
        return true;
      });
      EXPECT_TRUE(joined.ok()) << joined;
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(access_.hashes(), std::set<std::string>{Sha256Hex(Token())});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "token.joining"));
}

}  // namespace
}  // namespace dt
