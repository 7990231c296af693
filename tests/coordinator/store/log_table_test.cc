// log_table_test.cc: the part of its log that a trial may keep, whatever its pieces look like.
#include <memory>
#include <string>

#include "common/limits.h"
#include "coordinator/store/check.h"
#include "coordinator/store/sqlite_store.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

TEST(LogTableTest, PiecesThatSayNextToNothingFillTheQuotaWithTheirRows) {
  const testing::TempFolder folder(testing::Medium::kMemory);
  auto store = SqliteStore::Open(folder.path(), "test");
  ASSERT_TRUE(store.ok()) << store.status();
  LogToStore log;
  log.attempt = {{7, 1}, 1};
  log.text = "\n";
  constexpr size_t kKept = limits::kLogFirstBytes / (1 + limits::kLogRowBytes) +
                           limits::kLogNewestBytes / (1 + limits::kLogRowBytes);
  constexpr size_t kTold = kKept + 10000;
  Batch batch;
  batch.logs.assign(kTold, &log);
  ASSERT_TRUE((*store)->Commit(batch).ok());
  ASSERT_TRUE((*store)->Close().ok());
  store->reset();
  const auto report = CheckJournal(folder / "journal.db", ~uint64_t{0});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(WrongOf(*report).empty());
  EXPECT_EQ(report->rows[kLogs], static_cast<int64_t>(kKept));
}

}  // namespace
}  // namespace dt
