// door_test.cc: tokens are made, kept as hashes, revoked and expire; the access record.
#include "coordinator/door/door.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/net/token.h"
#include "common/sha256.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

class HandClock final : public Clock {
 public:
  Instant Now() const override {
    MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(&mutex_);
    now_.steady += by;
    now_.wall_ms += absl::ToInt64Milliseconds(by);
  }

 private:
  mutable Mutex mutex_;
  Instant now_ ABSL_GUARDED_BY(mutex_) = {absl::Seconds(1), 1'000'000};
};

class DoorTest : public ::testing::Test {
 protected:
  DoorTest() { Open(); }
  void Open() {
    door_.reset();
    auto door = Door::Open(folder_ / "state", clock_);
    ASSERT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
  }
  // Runs `act` on the door's thread, on which calls run.
  template <typename Act>
  auto Do(Act act) -> decltype(act()) {
    std::promise<decltype(act())> promise;
    EXPECT_TRUE(door_->Post([&] { promise.set_value(act()); }));
    return promise.get_future().get();
  }
  v1::CreateTokenResponse Make(const std::string& role, const std::string& name,
                               int64_t seconds = 0) {
    v1::CreateTokenRequest request;
    request.set_role(role);
    request.set_name(name);
    request.set_expires_seconds(seconds);
    const auto made = Do([&] { return door_->Create(request, "admin"); });
    EXPECT_TRUE(made.ok()) << made.status();
    return made.value_or(v1::CreateTokenResponse());
  }
  // Joins as a worker that made `secret`.
  absl::StatusOr<v1::JoinResponse> Join(const std::string& joiner, const std::string& secret) {
    const auto caller = Admit("Join", joiner);
    if (!caller.ok()) return caller.status();
    v1::JoinRequest request;
    request.set_hash(Sha256Hex(secret));
    return Do([&] { return door_->Join(request, *caller); });
  }
  absl::StatusOr<v1::RevokeTokenResponse> Revoke(const std::string& which) {
    v1::RevokeTokenRequest request;
    request.set_token(which);
    return Do([&] { return door_->Revoke(request); });
  }
  std::vector<v1::AuditEntry> Audit() {
    const auto page = Do([&] { return door_->Audit({}); });
    EXPECT_TRUE(page.ok()) << page.status();
    return {page->entries().begin(), page->entries().end()};
  }
  absl::StatusOr<Caller> Admit(const std::string& method, const std::string& token) {
    return door_->Admit(method, {"Bearer " + token, {}, "ipv4:10.0.0.7:1"});
  }

  testing::TempFolder folder_;
  HandClock clock_;
  std::unique_ptr<Door> door_;
};

TEST_F(DoorTest, TheFirstStartLeavesAnAdminsTokenThatItsUserAloneMayRead) {
  const std::string path = folder_ / "state/admin.token";
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto token = ReadTokenFile("--token-file", path);
  ASSERT_TRUE(token.ok()) << token.status();
  const auto caller = Admit("CreateToken", *token);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->role, Role::kAdmin);
  Open();
  EXPECT_EQ(door_->List().tokens_size(), 1) << "a second start makes no other";
}

TEST_F(DoorTest, ATokenHoldsAfterARestartAndItsTextIsOnNoDisk) {
  const v1::CreateTokenResponse made = Make("submitter", "ann");
  Open();
  const auto caller = Admit("Submit", made.token());
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->name, "ann");
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "state")) {
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(text.find(made.token().substr(4)), std::string::npos) << entry.path();
  }
}

TEST_F(DoorTest, InvalidTokensAreUnauthenticatedAndMissingRightsAreDenied) {
  const std::string token = Make("observer", "bob").token();
  EXPECT_TRUE(Admit("ListTrials", token).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Admit("Submit", token).status()));
  EXPECT_TRUE(absl::IsUnauthenticated(Admit("ListTrials", "").status()));
  EXPECT_TRUE(absl::IsUnauthenticated(Admit("ListTrials", "nonsense").status()));
  std::string other = token;
  other.back() = other.back() == '0' ? '1' : '0';
  const absl::Status refused = Admit("ListTrials", other).status();
  EXPECT_TRUE(absl::IsUnauthenticated(refused));
  EXPECT_EQ(refused.message().find(other.substr(4)), absl::string_view::npos);
  EXPECT_TRUE(absl::IsUnauthenticated(door_->Admit("ListTrials", {}).status()));
}

TEST_F(DoorTest, ABadTokenIsNotMadeGoodByACertificate) {
  const std::vector<std::string> names = {"dtrain://admin/ann"};
  EXPECT_TRUE(door_->Admit("MarkWorker", {"", names, ""}).ok());
  EXPECT_TRUE(
      absl::IsUnauthenticated(door_->Admit("MarkWorker", {"Bearer x", names, ""}).status()));
}

TEST_F(DoorTest, ABrowsersPasswordIsTheToken) {
  const std::string token = Make("observer", "bob").token();
  const std::string pair = absl::Base64Escape(absl::StrCat("anybody:", token));
  EXPECT_TRUE(door_->Admit("GET", {"Basic " + pair, {}, ""}).ok());
  EXPECT_FALSE(door_->Admit("GET", {"Basic ???", {}, ""}).ok());
}

TEST_F(DoorTest, AJoinersTokenBecomesOneWorkersTokenAndIsGoodForNothingElse) {
  const std::string joiner = Make("joiner", "gpu07").token();
  EXPECT_TRUE(absl::IsPermissionDenied(Admit("Session", joiner).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(Admit("ListTrials", joiner).status()));
  const std::string secret = FreshToken();
  const auto joined = Join(joiner, secret);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->summary().expires_wall_ms(), 0);
  const auto worker = Admit("Session", secret);
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_EQ(worker->role, Role::kWorker);
  EXPECT_EQ(worker->name, "gpu07");
}

TEST_F(DoorTest, AUsedJoinersTokenAnswersOnlyItsWorkerAgain) {
  const v1::CreateTokenResponse made = Make("joiner", "gpu07");
  const std::string secret = FreshToken();
  ASSERT_TRUE(Join(made.token(), secret).ok());
  for (int start = 0; start < 2; ++start) {
    const absl::Status again = Join(made.token(), FreshToken()).status();
    EXPECT_TRUE(absl::IsPermissionDenied(again)) << again;
    EXPECT_NE(again.message().find("already used"), absl::string_view::npos);
    // Its answer was lost, or it was killed before it wrote its file. It may repeat the call, even
    // much later.
    const auto same = Join(made.token(), secret);
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(same->summary().id(), Sha256Hex(secret).substr(0, 12));
    clock_.Advance(absl::Hours(24 * 30));
    Open();
  }
  EXPECT_EQ(door_->List().tokens_size(), 3) << "the admin's, the joiner's, one worker's";
  // A revoked token does not come back.
  ASSERT_TRUE(Revoke(Sha256Hex(secret).substr(0, 12)).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Join(made.token(), secret).status()));
  Make("observer", "eve");
  EXPECT_TRUE(absl::IsUnauthenticated(Join(made.token(), secret).status())) << "it is forgotten";
}

TEST_F(DoorTest, ARepeatedRequestForATokenGetsTheSameAnswer) {
  const std::string secret = FreshToken();
  v1::CreateTokenRequest request;
  request.set_role("submitter");
  request.set_name("ann");
  request.set_expires_seconds(60);
  request.set_hash(Sha256Hex(secret));
  const auto create = [&](const std::string& by) {
    return Do([&] { return door_->Create(request, by); });
  };
  const auto first = create("admin");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->token(), "") << "its worker already has it";
  clock_.Advance(absl::Seconds(1));
  Open();
  const auto again = create("admin");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->summary().SerializeAsString(), first->summary().SerializeAsString());
  EXPECT_EQ(door_->List().tokens_size(), 2) << "the admin's, and one";
  EXPECT_EQ(Admit("Submit", secret)->name, "ann");

  // A different request is refused, and changes nothing.
  EXPECT_TRUE(absl::IsAlreadyExists(create("eve").status()));
  request.set_role("admin");
  EXPECT_TRUE(absl::IsAlreadyExists(create("admin").status()));
  request.set_hash("1234");
  EXPECT_TRUE(absl::IsInvalidArgument(create("admin").status()));
  EXPECT_EQ(Admit("Submit", secret)->role, Role::kSubmitter);
}

TEST_F(DoorTest, AJoinersTokenRunsOutAfterFifteenMinutesOfTheCoordinatorsClock) {
  const v1::CreateTokenResponse made = Make("joiner", "gpu07");
  EXPECT_EQ(made.summary().expires_wall_ms() - made.summary().created_wall_ms(), 15 * 60 * 1000);
  const std::string other = Make("joiner", "gpu08", 24 * 3600).token();
  clock_.Advance(absl::Minutes(15) - absl::Seconds(1));
  EXPECT_TRUE(Admit("Join", made.token()).ok());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnauthenticated(Join(made.token(), FreshToken()).status()));
  Open();
  EXPECT_TRUE(absl::IsUnauthenticated(Join(made.token(), FreshToken()).status()));
  EXPECT_TRUE(Join(other, FreshToken()).ok());
  Make("observer", "eve");
  EXPECT_EQ(door_->List().tokens_size(), 4) << "the one that ran out unused is forgotten";
}

TEST_F(DoorTest, AJoinCannotTakeAnExistingToken) {
  const std::string ann = Make("submitter", "ann").token();
  EXPECT_TRUE(absl::IsAlreadyExists(Join(Make("joiner", "gpu07").token(), ann).status()));
  v1::JoinRequest request;
  for (const std::string& hash : {std::string(), std::string(64, 'G'), std::string(63, 'a')}) {
    request.set_hash(hash);
    const Caller joiner = *Admit("Join", Make("joiner", "gpu08").token());
    EXPECT_TRUE(absl::IsInvalidArgument(Do([&] { return door_->Join(request, joiner); }).status()));
  }
  v1::CreateTokenRequest any;
  any.set_role("joiner");
  any.set_name("*");
  EXPECT_FALSE(Do([&] { return door_->Create(any, "admin"); }).ok()) << "a joiner has a name";
  any.set_name("gpu09");
  any.set_expires_seconds(24 * 3600 + 1);
  EXPECT_FALSE(Do([&] { return door_->Create(any, "admin"); }).ok());
}

TEST_F(DoorTest, ExpiredAndRevokedTokensAreInvalid) {
  const v1::CreateTokenResponse made = Make("submitter", "ann", 60);
  const Caller ann = *Admit("Submit", made.token());
  clock_.Advance(absl::Seconds(59));
  EXPECT_TRUE(door_->StillHolds(ann));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(door_->StillHolds(ann));
  EXPECT_TRUE(absl::IsUnauthenticated(Admit("Submit", made.token()).status()));

  const v1::CreateTokenResponse other = Make("worker", "gpu07");
  const Caller worker = *Admit("Session", other.token());
  ASSERT_TRUE(Revoke("gpu07").ok());
  EXPECT_FALSE(door_->StillHolds(worker));
  Open();
  EXPECT_TRUE(absl::IsUnauthenticated(Admit("Session", other.token()).status()));
  EXPECT_TRUE(absl::IsNotFound(Revoke("gpu07").status()));
}

TEST_F(DoorTest, TheLastAdminCannotLockEverybodyOut) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Revoke("admin").status()));
  Make("admin", "ann");
  EXPECT_TRUE(Revoke("admin").ok());
}

TEST_F(DoorTest, ActsAreRecordedWithTheirUserAndReadsAreNot) {
  const Caller ann{Role::kSubmitter, "ann", "1"};
  door_->Record(ann, "Submit", "experiment 12", absl::OkStatus(), "ipv4:10.0.0.7:1");
  door_->Record(ann, "ListTrials", "experiment 12", absl::OkStatus(), "ipv4:10.0.0.7:1");
  const auto entries = Audit();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].who(), "ann");
  EXPECT_EQ(entries[0].role(), "submitter");
  EXPECT_EQ(entries[0].method(), "Submit");
  EXPECT_EQ(entries[0].subject(), "experiment 12");
  EXPECT_EQ(entries[0].outcome(), "OK");
}

TEST_F(DoorTest, AFloodOfRefusalsPushesNothingOutOfTheRecord) {
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(Admit("Submit", "wrong").ok());
  EXPECT_EQ(Audit().size(), static_cast<size_t>(limits::kRefusalsAMinute));
  clock_.Advance(absl::Minutes(1));
  EXPECT_FALSE(Admit("Submit", "wrong").ok());
  const auto entries = Audit();
  ASSERT_EQ(entries.size(), static_cast<size_t>(limits::kRefusalsAMinute) + 1);
  EXPECT_NE(entries.back().message().find("480 earlier refusals"), std::string::npos)
      << entries.back().message();
}

}  // namespace
}  // namespace dt
