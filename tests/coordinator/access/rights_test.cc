// rights_test.cc: the table has a row for each method, and verdicts follow the table.
#include "coordinator/access/rights.h"

#include <set>
#include <string>

#include "dtrain/v1/access.pb.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/fleet.pb.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

std::set<std::string> DescribedMethods() {
  std::set<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {::dtrain::v1::SubmitRequest::descriptor()->file(),
        ::dtrain::v1::WorkerReport::descriptor()->file(),
        ::dtrain::v1::AuditEntry::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const auto& service = *file->service(i);
      for (int k = 0; k < service.method_count(); ++k) {
        methods.insert(std::string(service.name()) + "." + std::string(service.method(k)->name()));
      }
    }
  }
  return methods;
}

TEST(RightsTest, EachMethodOfEachServiceHasOneRowAndNoOtherRowIsThere) {
  std::set<std::string> rows;
  std::set<std::string_view> names;
  for (const Right& right : Rights()) {
    EXPECT_TRUE(names.insert(right.method).second) << right.method << " has two rows";
    if (right.service == "HTTP") continue;
    rows.insert(std::string(right.service) + "." + std::string(right.method));
  }
  EXPECT_EQ(rows, DescribedMethods());
}

TEST(RightsTest, AMethodWithoutARowIsRefusedToAll) {
  for (const Role role : kRoles) {
    EXPECT_TRUE(absl::IsPermissionDenied(CheckMayCall({role, "ann", ""}, "NoSuchMethod")));
  }
}

TEST(RightsTest, OnlyAnAdminChangesOthersExperiments) {
  for (const Right& right : Rights()) {
    const bool reads = right.kept == Kept::kNo;
    EXPECT_NE(right.observer, Reach::kOwn) << right.method;
    if (!reads) {
      EXPECT_EQ(right.observer, Reach::kNone) << right.method;
      EXPECT_NE(right.submitter, Reach::kAll) << right.method;
      EXPECT_EQ(right.worker, Reach::kNone) << right.method;
    }
    EXPECT_NE(right.worker, Reach::kAll) << right.method;
    EXPECT_EQ(right.joiner == Reach::kNone, right.method != "Join")
        << right.method << ": a joiner may only join";
  }
}

TEST(RightsTest, ARefusalNamesTheRoleThatIsMissingAndHowToGetIt) {
  const absl::Status status = CheckMayCall({Role::kObserver, "bob", "1"}, "Submit");
  ASSERT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_EQ(status.message(),
            "Submit needs the role admin or submitter, but 'bob' has the role observer; an admin "
            "makes a token with 'dtctl token create --role submitter --name bob'");
}

TEST(RightsTest, ACertificateHasItsRoleInAUri) {
  const auto caller = CallerOfCertificate({"localhost", "dtrain://submitter/ann"});
  ASSERT_TRUE(caller.has_value());
  EXPECT_EQ(caller->role, Role::kSubmitter);
  EXPECT_EQ(caller->name, "ann");
  EXPECT_FALSE(CallerOfCertificate({"localhost", "dtrain://submitter/", "http://admin/x"}));
}

TEST(RightsTest, ATokensNameIsPlainTextAndAStarIsForWorkersAlone) {
  EXPECT_TRUE(CheckTokenName(Role::kAdmin, "ann@lab-1").ok());
  EXPECT_TRUE(CheckTokenName(Role::kWorker, "gpu07/cuda:0").ok());
  EXPECT_TRUE(CheckTokenName(Role::kWorker, "*").ok());
  for (const Role role : {Role::kWorker, Role::kJoiner}) {
    EXPECT_TRUE(CheckTokenName(role, "gpu07.lab-1/cuda:0").ok());
    for (const char* name :
         {"beta/../gamma", "..", ".", "/", "beta/", "/beta", "beta//0", "a/./b"}) {
      EXPECT_FALSE(CheckTokenName(role, name).ok()) << name;
    }
  }
  EXPECT_FALSE(CheckTokenName(Role::kAdmin, "*").ok());
  EXPECT_FALSE(CheckTokenName(Role::kSubmitter, "").ok());
  EXPECT_FALSE(CheckTokenName(Role::kSubmitter, "a\nb").ok());
  EXPECT_FALSE(CheckTokenName(Role::kSubmitter, std::string(65, 'a')).ok());
}

}  // namespace
}  // namespace dt
