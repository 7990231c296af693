// access_store_test.cc: tokens and the access record, in a file and in PostgreSQL.
#include "coordinator/door/access_store.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/access_limits.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

enum class Which { kFile, kPostgres };

class AccessStoreTest : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (GetParam() == Which::kPostgres) {
      if (testing::PostgresServer::Missing()) GTEST_SKIP() << testing::PostgresServer::kMissing;
      Server().Empty();
      Server().Sql("CREATE SCHEMA dtrain");  // as the journal's first leader does
    }
    Reopen();
  }
  static testing::PostgresServer& Server() {
    static testing::PostgresServer server;
    return server;
  }
  void Reopen() {
    store_.reset();
    auto store = GetParam() == Which::kFile ? AccessStore::Open(folder_.path())
                                            : AccessStore::OpenPostgres(Server().conninfo());
    ASSERT_TRUE(store.ok()) << store.status();
    store_.emplace(std::move(*store));
  }
  static StoredToken Token(const std::string& id) {
    StoredToken token;
    token.summary.set_id(id);
    token.summary.set_role("submitter");
    token.summary.set_name("ann");
    token.summary.set_created_wall_ms(5);
    token.summary.set_expires_wall_ms(-1);
    token.hash = "hash of " + id;
    return token;
  }
  static v1::AuditEntry Entry(const std::string& subject) {
    v1::AuditEntry entry;
    entry.set_wall_ms(7);
    entry.set_who("ann");
    entry.set_subject(subject);
    return entry;
  }

  const testing::TempFolder folder_;
  std::optional<AccessStore> store_;
};

INSTANTIATE_TEST_SUITE_P(Both, AccessStoreTest, ::testing::Values(Which::kFile, Which::kPostgres),
                         [](const auto& info) {
                           return info.param == Which::kFile ? "File" : "PostgreSQL";
                         });

TEST_P(AccessStoreTest, TokensComeBackUntilTheyAreRemoved) {
  ASSERT_TRUE(store_->Put(Token("a")).ok());
  ASSERT_TRUE(store_->Put(Token("b")).ok());
  EXPECT_FALSE(store_->Put(Token("a")).ok());
  ASSERT_TRUE(store_->Remove("a").ok());
  Reopen();
  const auto tokens = store_->Tokens();
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  ASSERT_EQ(tokens->size(), 1u);
  EXPECT_EQ(tokens->front().hash, "hash of b");
  EXPECT_EQ(tokens->front().summary.SerializeAsString(), Token("b").summary.SerializeAsString());
}

TEST_P(AccessStoreTest, TheRecordKeepsItsOrderAndDropsTheOldest) {
  std::vector<v1::AuditEntry> entries;
  for (int i = 0; i < 5; ++i) entries.push_back(Entry(std::to_string(i)));
  ASSERT_TRUE(store_->Append(entries).ok());
  ASSERT_TRUE(store_->Append(std::vector<v1::AuditEntry>(limits::kAuditRows - 2, Entry("x"))).ok());
  Reopen();
  const auto newest = store_->Audit(limits::kAuditRows + 5);
  ASSERT_TRUE(newest.ok()) << newest.status();
  ASSERT_EQ(newest->size(), static_cast<size_t>(limits::kAuditRows));
  EXPECT_EQ(newest->at(0).subject(), "3");
  EXPECT_EQ(newest->at(1).subject(), "4");
  EXPECT_EQ(newest->back().subject(), "x");
}

}  // namespace
}  // namespace dt
