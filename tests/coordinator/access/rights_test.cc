// rights_test.cc: each method has its rights, the manual shows them, and verdicts follow them.
#include "coordinator/access/rights.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

const char* WordOf(Reach reach) {
  return reach == Reach::kAll ? "all" : reach == Reach::kOwn ? "own" : "–";
}

// Returns the row of the manual's table: "| `Cancel` | all | own | – | – | – | yes |".
std::string RowOf(const Right& right) {
  return absl::StrCat("| `", std::string(right.method), "` | ", WordOf(right.admin), " | ",
                      WordOf(right.submitter), " | ", WordOf(right.observer), " | ",
                      WordOf(right.worker), " | ", WordOf(right.joiner), " | ",
                      right.kept == Kept::kInAudit ? "yes" : "–", " |\n");
}

// The manual's table is the golden copy: a change of somebody's rights shows in its diff.
TEST(RightsTest, TheManualsTableHasTheRightsOfEachMethod) {
  const std::string manual = testing::Slurp(DTRAIN_SOURCE_DIR "/docs/administration/security.md");
  std::string table =
      "| method | admin | submitter | observer | worker | joiner | audited |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Right& right : Rights()) table += RowOf(right);
  EXPECT_NE(manual.find("\n\n" + table + "\n"), std::string::npos)
      << "docs/administration/security.md has another table than:\n"
      << table;
}

TEST(RightsTest, EachMethodHasANameOfItsOwnAndSomebodyMayCallIt) {
  std::set<std::string_view> names;
  for (const Right& right : Rights()) {
    EXPECT_TRUE(names.insert(right.method).second) << "two methods are named " << right.method;
    bool open = false;
    for (const Role role : kRoles) open = open || ReachOf(right, role) != Reach::kNone;
    EXPECT_TRUE(open) << right.method << " has no option (rights)";
  }
}

TEST(RightsTest, AnUnknownMethodIsRefusedToAll) {
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
