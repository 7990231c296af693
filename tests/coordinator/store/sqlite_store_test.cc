// sqlite_store_test.cc: behaviour that only a journal in a file has.
#include "coordinator/store/sqlite_store.h"

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/coordinator/store/databases.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    store_.reset();
    auto store = SqliteStore::Open(directory_, "0.1.0");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::move(*store);
  }
  void Commit(const v1::Record& record) {
    Batch batch;
    batch.records.push_back(&record);
    ASSERT_TRUE(store_->Commit(batch).ok());
  }
  void Sql(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open((directory_ + "/journal.db").c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }

  const testing::TempFolder folder_;
  const std::string directory_ = folder_.path();
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteStoreTest, ASecondCoordinatorOnTheSameDirectoryIsRefused) {
  auto second = SqliteStore::Open(directory_, "0.1.0");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.status().message().find("in use"), absl::string_view::npos);
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  store_.reset();
  Sql("ALTER TABLE logs ADD COLUMN later; PRAGMA user_version = 99");
  EXPECT_EQ(SqliteStore::Open(directory_, "0.1.0").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(SqliteStoreTest, ADamagedFileIsFoundAfterAnUncleanStop) {
  for (int i = 0; i < 200; ++i) Commit(Cancel(std::string(1000, 'x')));
  ASSERT_TRUE(store_->Close().ok());
  Reopen();
  EXPECT_FALSE(store_->stopped_uncleanly());
  Sql("PRAGMA wal_checkpoint(TRUNCATE)");
  store_.reset();  // without Close, as after a crash
  {
    // Page 1 holds the schema; later ones the journal's tree.
    FILE* file = fopen((directory_ + "/journal.db").c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    const std::string noise(8192, '\x5a');
    ASSERT_EQ(fseek(file, 8192 * 12, SEEK_SET), 0);
    ASSERT_EQ(fwrite(noise.data(), 1, noise.size(), file), noise.size());
    ASSERT_EQ(fclose(file), 0);
  }
  EXPECT_EQ(SqliteStore::Open(directory_, "0.1.0").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SqliteStoreTest, AnUncleanStopIsNoticed) {
  Reopen();
  EXPECT_TRUE(store_->stopped_uncleanly());
}

TEST_F(SqliteStoreTest, TheWriteAheadLogStaysBoundedUnderWritesWithoutAPause) {
  for (int i = 0; i < 100; ++i) Commit(Cancel(std::string(1 << 20, 'x')));
  EXPECT_LT(std::filesystem::file_size(directory_ + "/journal.db-wal"), 64u << 20);
  EXPECT_EQ(store_->RecordCount(), 100);
}

}  // namespace
}  // namespace dt
