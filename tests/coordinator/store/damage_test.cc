// damage_test.cc: whatever happens to the journal's files, a start notices it or finds everything
// unchanged.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/store/check.h"
#include "coordinator/store/checksum.h"
#include "coordinator/store/mark.h"
#include "coordinator/store/sql_reader.h"
#include "coordinator/store/sqlite_store.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

// Each bit costs two starts of a store, most of it waiting for the disk: one in three is tried, and
// with sanitizers fewer. Of neighbouring bytes other bits are.
#ifdef DTRAIN_SANITIZE
constexpr uint64_t kFewer = 7;
#else
constexpr uint64_t kFewer = 3;
#endif

namespace fs = std::filesystem;

constexpr uint64_t kExperiments = 3;
constexpr char kEndOfRecords[] = "end of records\n";
constexpr uint64_t kEverything = std::numeric_limits<uint64_t>::max();

void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

v1::Record Submitted(uint64_t experiment) {
  v1::Record record;
  record.mutable_experiment_submitted()->set_experiment(experiment);
  record.mutable_experiment_submitted()->set_file_text(std::string(300, 'f'));
  return record;
}

// Makes one commit with everything that a commit may hold.
void CommitAll(SqliteStore& store, uint64_t experiment, uint32_t attempt) {
  std::vector<v1::Record> records(3);
  records[0] = Submitted(experiment);
  auto& running = *records[1].mutable_attempt_running();
  running.set_experiment(experiment);
  running.set_trial(1);
  running.set_attempt(attempt);
  running.set_resumed_step(10 * (attempt - 1));
  auto& evaluation = *records[2].mutable_evaluation();
  evaluation.set_experiment(experiment);
  evaluation.set_trial(1);
  evaluation.set_attempt(attempt);
  evaluation.mutable_evaluation()->set_step(10 * attempt);
  v1::StepRows rows;
  for (uint64_t step = 10 * (attempt - 1) + 1; step <= 10 * attempt; ++step) {
    v1::StepRow& row = *rows.add_rows();
    row.set_step(step);
    row.set_loss(1.0 / static_cast<double>(step));
  }
  ChunkToStore chunk;
  chunk.attempt = {{experiment, 1}, attempt};
  chunk.first_step = 10 * (attempt - 1) + 1;
  chunk.last_step = 10 * attempt;
  chunk.rows = rows.SerializeAsString();
  LogToStore log;
  log.attempt = chunk.attempt;
  log.text = absl::StrCat("a line of attempt ", attempt, "\n");
  Batch batch;
  for (const v1::Record& record : records) batch.records.push_back(&record);
  batch.chunks.push_back(&chunk);
  batch.logs.push_back(&log);
  batch.acks.push_back({"host/0", 7, 100 * experiment + attempt});
  ASSERT_TRUE(store.Commit(batch).ok());
}

// Returns everything that a journal gives back, or the error.
absl::StatusOr<std::string> Contents(const std::string& folder) {
  auto store = SqliteStore::Open(folder, "test");
  if (!store.ok()) return store.status();
  std::string text;
  JournalPlace place;
  const absl::Status replayed = (*store)->Replay(place, [&](const v1::Record& record) {
    absl::StrAppend(&text, record.ShortDebugString(), "\n");
    return absl::OkStatus();
  });
  if (!replayed.ok()) return replayed;
  text += kEndOfRecords;
  auto acks = (*store)->ReadAcks();
  if (!acks.ok()) return acks.status();
  for (const AckToStore& ack : *acks) {
    absl::StrAppend(&text, ack.worker, " ", ack.instance, " ", ack.sequence, "\n");
  }
  auto reader = OpenSqliteReader(folder);
  if (!reader.ok()) return reader.status();
  for (uint64_t experiment = 1; experiment <= kExperiments; ++experiment) {
    v1::ReadMetricsRequest metrics;
    metrics.set_experiment(experiment);
    metrics.set_all_attempts(true);
    auto rows = (*reader)->ReadMetrics(metrics);
    if (!rows.ok()) return rows.status();
    v1::ReadLogsRequest logs;
    logs.set_experiment(experiment);
    logs.set_trial(1);
    logs.set_rank(-1);
    auto lines = (*reader)->ReadLogs(logs);
    if (!lines.ok()) return lines.status();
    absl::StrAppend(&text, rows->ShortDebugString(), "\n", lines->ShortDebugString(), "\n");
  }
  return text;
}

// Returns a check's findings about the journal in a folder; empty: undamaged.
std::string Found(const std::string& folder) {
  const auto report = CheckJournal(folder + "/journal.db", kEverything);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? absl::StrJoin(WrongOf(*report), "\n") : "";
}

class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = SqliteStore::Open(whole_.path(), "0.2.0");
    ASSERT_TRUE(store.ok()) << store.status();
    for (uint64_t experiment = 1; experiment <= kExperiments; ++experiment) {
      for (uint32_t attempt = 1; attempt <= 3; ++attempt) CommitAll(**store, experiment, attempt);
      if (experiment == 1) CopyAll(whole_.path(), early_.path());
    }
    // As a kill leaves it: with a log.
    CopyAll(whole_.path(), killed_.path());
    ASSERT_TRUE((*store)->Close().ok());
    store->reset();
    auto contents = Contents(Copied(whole_));
    ASSERT_TRUE(contents.ok()) << contents.status();
    contents_ = *contents;
    ASSERT_GT(fs::file_size(killed_ / "journal.db-wal"), 8192u);
  }

  static void CopyAll(const std::string& from, const std::string& to) {
    for (const char* name : {"journal.db", "journal.db-wal", "journal.mark"}) {
      std::error_code absent;
      fs::remove(fs::path(to) / name, absent);
      if (fs::exists(fs::path(from) / name))
        fs::copy_file(fs::path(from) / name, fs::path(to) / name);
    }
  }
  // Copies a folder and returns the copy, which the test may damage.
  const std::string& Copied(const testing::TempFolder& from) {
    CopyAll(from.path(), work_.path());
    std::error_code absent;
    fs::remove(work_ / "journal.db-shm", absent);
    return work_.path();
  }
  static void Flip(const std::string& path, uint64_t byte) { Flip(path, byte, byte % 8); }
  static void Flip(const std::string& path, uint64_t byte, uint64_t bit) {
    const int fd = open(path.c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    char value = 0;
    ASSERT_EQ(pread(fd, &value, 1, static_cast<off_t>(byte)), 1);
    value = static_cast<char>(value ^ (1 << bit));
    ASSERT_EQ(pwrite(fd, &value, 1, static_cast<off_t>(byte)), 1);
    close(fd);
  }
  // Expects that a start on the work folder is refused, or finds everything unchanged. Returns
  // whether it was refused.
  bool RefusedOrEqual() {
    const auto found = Contents(work_.path());
    if (!found.ok()) return true;
    EXPECT_EQ(*found, contents_);
    return false;
  }
  // Flips a bit of each of about `tries` bytes all over a file. Returns how many were noticed.
  int FlipThrough(const testing::TempFolder& from, const std::string& name, uint64_t tries) {
    const uint64_t bytes = fs::file_size(from / name);
    // odd, so that every bit of a byte comes
    const uint64_t stride = std::max<uint64_t>(1, bytes / tries) | 1;
    int noticed = 0;
    for (uint64_t at = 0; at < bytes; at += stride) {
      Copied(from);
      Flip(work_ / name, at);
      noticed += RefusedOrEqual() ? 1 : 0;
      if (HasFailure()) {
        ADD_FAILURE() << "a flipped bit at byte " << at << " of " << name << " went unnoticed";
        break;
      }
    }
    return noticed;
  }
  std::string Refused() {
    const auto store = SqliteStore::Open(work_.path(), "test");
    EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss) << store.status();
    return std::string(store.status().message());
  }
  // Starts with the loss accepted, and returns the contents.
  std::string GoOn() {
    {
      auto store = SqliteStore::Open(work_.path(), "test", DataLossPolicy::kGoOn);
      EXPECT_TRUE(store.ok()) << store.status();
      if (!store.ok()) return "";
      EXPECT_FALSE((*store)->losses().empty());
      EXPECT_TRUE((*store)->Close().ok());
    }
    EXPECT_TRUE(fs::exists(work_ / "damaged-1"));
    const auto report = CheckJournal(work_ / "journal.db", kEverything);
    EXPECT_TRUE(report.ok() && WrongOf(*report).empty());
    const auto contents = Contents(work_.path());
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.value_or("");
  }

  testing::TempFolder whole_{testing::Medium::kMemory}, killed_{testing::Medium::kMemory},
      early_{testing::Medium::kMemory}, work_{testing::Medium::kMemory};
  std::string contents_;
};

TEST_F(DamageTest, AnUndamagedJournalIsFoundSoAfterACleanStopAndAfterAKill) {
  for (const testing::TempFolder* folder : {&whole_, &killed_}) {
    const auto report = CheckJournal(Copied(*folder) + "/journal.db", kEverything);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(WrongOf(*report).empty());
    EXPECT_EQ(report->records, 27);
    EXPECT_EQ(report->rows[kChunks], 9);
    EXPECT_FALSE(RefusedOrEqual());
  }
}

TEST_F(DamageTest, AFlippedBitInTheLogIsNoticedOrHarmless) {
  EXPECT_GT(FlipThrough(killed_, "journal.db-wal", 120), 60);
}

TEST_F(DamageTest, AFlippedBitInTheDatabaseIsNoticedOrHarmless) {
  EXPECT_GT(FlipThrough(whole_, "journal.db", 150), 10);
}

TEST_F(DamageTest, AFlippedBitOfTheHeaderIsHarmlessOrNamedRefusedAndRepairedWithoutLoss) {
  for (const testing::TempFolder* folder : {&whole_, &killed_}) {
    int named = 0;
    // With a log, the file still has its first state, and most of the relevant data is in the log.
    const uint64_t stride = (folder == &whole_ ? 1 : 3) * kFewer;
    for (uint64_t bit = 0; bit < 8 * 100; bit += stride) {
      SCOPED_TRACE(absl::StrCat("byte ", bit / 8, ", bit ", bit % 8,
                                folder == &whole_ ? "" : ", with a log"));
      Flip(Copied(*folder) + "/journal.db", bit / 8, bit % 8);
      const std::string found = Found(work_.path());
      ASSERT_EQ(RefusedOrEqual(), !found.empty()) << found;
      if (found.empty()) continue;
      ++named;
      ExpectHas(Refused(), found.substr(0, found.find('\n')));
      ASSERT_EQ(GoOn(), contents_) << found;
      fs::remove_all(work_ / "damaged-1");
      ASSERT_FALSE(HasFailure()) << found;
    }
    EXPECT_GT(named, 30 * 8 / static_cast<int>(stride))
        << "about parts that are the same in every journal";
  }
}

TEST_F(DamageTest, ADamagedHeaderIsNamedByItsField) {
  const auto found = [&](uint64_t byte) {
    Flip(Copied(whole_) + "/journal.db", byte, 0);
    return Found(work_.path());
  };
  EXPECT_EQ(found(47),
            "the file's header: the schema's format, in bytes 44 to 47, is 00000005 and should be "
            "00000004");
  ExpectHas(found(3), "the format's name, in bytes 0 to 15, is 5351");
  ExpectHas(found(31), "the file's length in pages, in bytes 28 to 31");
  ExpectHas(found(63), "the schema's version, in bytes 60 to 63");
  ExpectHas(found(71), "the application's number, in bytes 68 to 71");
}

TEST_F(DamageTest, ACheckWritesNothingInAnyFolder) {
  const auto contents = [this] {
    std::map<std::string, std::string> files;
    for (const auto& file : fs::directory_iterator(work_.path())) {
      files[file.path().filename()] = testing::Slurp(file.path());
    }
    return files;
  };
  for (const testing::TempFolder* folder : {&whole_, &killed_}) {
    Copied(*folder);
    std::ofstream(work_ / "lock") << "123";
    const auto before = contents();
    fs::permissions(work_.path(), fs::perms::owner_read | fs::perms::owner_exec);
    {
      const auto lock = LockStateDirectoryToRead(work_.path());
      EXPECT_TRUE(lock.ok() && lock->file.valid()) << lock.status();
      EXPECT_EQ(Found(work_.path()), "");
      EXPECT_FALSE(LockStateDirectory(work_.path()).ok()) << "no coordinator starts meanwhile";
    }
    fs::permissions(work_.path(), fs::perms::owner_all);
    EXPECT_EQ(contents(), before);
    const auto lock = LockStateDirectory(work_.path());
    EXPECT_EQ(LockStateDirectoryToRead(work_.path()).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(DamageTest, AFlippedBitInTheMarkIsNoticedOrHarmless) {
  for (uint64_t at = 0; at < 200; at += 3) {
    Copied(whole_);
    Flip(work_ / "journal.mark", at);
    Flip(work_ / "journal.mark", 4096 + at);
    RefusedOrEqual();
  }
}

TEST_F(DamageTest, ALostTailIsNoticed) {
  const uint64_t log = fs::file_size(killed_ / "journal.db-wal");
  for (uint64_t left = 0; left < log; left += log / 16) {
    Copied(killed_);
    fs::resize_file(work_ / "journal.db-wal", left);
    EXPECT_TRUE(RefusedOrEqual()) << left << " bytes left of the log";
  }
  const uint64_t bytes = fs::file_size(whole_ / "journal.db");
  for (uint64_t left = 0; left < bytes; left += bytes / 12) {
    Copied(whole_);
    fs::resize_file(work_ / "journal.db", left);
    if (!RefusedOrEqual()) continue;  // the end of the last page is not always in use
    EXPECT_EQ(Refused().find("PRAGMA"), std::string::npos) << Refused();
  }
}

TEST_F(DamageTest, ALostTailIsNamedWithItsRecordsAndExperiments) {
  Copied(killed_);
  for (const char* name : {"journal.db", "journal.db-wal"}) {
    fs::remove(work_ / name);
    fs::copy_file(early_ / name, work_ / name);
  }
  const std::string message = Refused();
  ExpectHas(message, "records 10 to 27");
  ExpectHas(message, "experiments 2 to 3");
  ExpectHas(message, "--accept-loss");
  EXPECT_EQ(GoOn().find("experiment: 2"), std::string::npos);
}

TEST_F(DamageTest, ARebuildThatAKillCutShortIsFinishedByTheNext) {
  const std::string folder = Copied(killed_);
  fs::copy_file(whole_ / "journal.db", folder + "/journal.db.rebuilt");
  fs::remove(folder + "/journal.db-wal");  // as far as it had come
  ASSERT_TRUE(SqliteStore::Open(folder, "test", DataLossPolicy::kGoOn).ok());
  const auto contents = Contents(folder);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(*contents, contents_);
  EXPECT_FALSE(fs::exists(folder + "/journal.db.rebuilt"));
}

TEST_F(DamageTest, AnotherJournalInItsPlaceIsNoticed) {
  const testing::TempFolder other;
  {
    auto store = SqliteStore::Open(other.path(), "test");
    CommitAll(**store, 1, 1);
    ASSERT_TRUE((*store)->Close().ok());
  }
  Copied(whole_);
  fs::copy_file(other / "journal.db", work_ / "journal.db", fs::copy_options::overwrite_existing);
  ExpectHas(Refused(), "another journal");
  fs::remove(work_ / "journal.db");
  ExpectHas(Refused(), "is missing");
  EXPECT_FALSE(fs::exists(work_ / "journal.db"));
  fs::copy_file(std::string(JOURNALS) + "/0.1.0.db", work_ / "journal.db");
  ExpectHas(Refused(), "another journal");
}

TEST_F(DamageTest, ACopyThatWentOnElsewhereIsNoticed) {
  Copied(early_);
  {
    auto store = SqliteStore::Open(work_.path(), "test");
    ASSERT_TRUE(store.ok()) << store.status();
    for (uint32_t attempt = 4; attempt <= 9; ++attempt) CommitAll(**store, 9, attempt);
    ASSERT_TRUE((*store)->Close().ok());
  }
  fs::copy_file(whole_ / "journal.mark", work_ / "journal.mark",
                fs::copy_options::overwrite_existing);
  ExpectHas(Refused(), "another copy");
}

TEST_F(DamageTest, AnOldJournalGetsItsHashesIncludingItsLog) {
  const testing::TempFolder old(testing::Medium::kMemory);
  fs::copy_file(std::string(JOURNALS) + "/0.1.0.db", old / "journal.db");
  {
    auto database = Database::Open(old / "journal.db", Access::kReadWrite);
    ASSERT_TRUE(
        database->Execute("PRAGMA journal_mode = WAL; INSERT INTO acks VALUES ('late', 1, 2, 3)")
            .ok());
    CopyAll(old.path(), work_.path());  // as a kill leaves it
  }
  ASSERT_TRUE(fs::exists(work_ / "journal.db-wal"));
  auto store = SqliteStore::Open(work_.path(), "test");
  ASSERT_TRUE(store.ok()) << store.status();
  const auto acks = (*store)->ReadAcks();
  ASSERT_TRUE(acks.ok());
  EXPECT_TRUE(std::any_of(acks->begin(), acks->end(),
                          [](const AckToStore& ack) { return ack.worker == "late"; }));
}

TEST_F(DamageTest, AMissingMarkIsNoticedAndCanBeAccepted) {
  Copied(whole_);
  fs::remove(work_ / "journal.mark");
  ExpectHas(Refused(), "journal.mark is missing");
  EXPECT_EQ(GoOn(), contents_);
}

TEST_F(DamageTest, UndamagedPartsOfAJournalAreKeptAndTheRestIsNamed) {
  const uint64_t bytes = fs::file_size(whole_ / "journal.db");
  int refused = 0;
  for (uint64_t page = 1; page < bytes / 8192; ++page) {
    Copied(whole_);
    for (uint64_t at = 0; at < 8192; at += 512) Flip(work_ / "journal.db", page * 8192 + at);
    if (!RefusedOrEqual()) continue;
    ++refused;
    const std::string kept = GoOn();
    // Records are kept from the first on: those of the file's first half are a prefix.
    EXPECT_TRUE(kept.empty() || contents_.starts_with(kept.substr(0, kept.find(kEndOfRecords))));
    fs::remove_all(work_ / "damaged-1");
  }
  EXPECT_GT(refused, 5);
}

TEST_F(DamageTest, AChangedRecordIsNamedWithItsConsequences) {
  Copied(whole_);
  {
    auto database = Database::Open(work_ / "journal.db", Access::kReadWrite);
    ASSERT_TRUE(
        database->Execute("UPDATE journal SET record = x'00' || record WHERE sequence = 13").ok());
  }
  const std::string message = Refused();
  ExpectHas(message, "row 13 is damaged");
  ExpectHas(message, "records 13 to 27");
  ExpectHas(message, "experiments 2, 3");
  const std::string kept = GoOn();
  ExpectHas(kept, "experiment: 2");
  EXPECT_EQ(kept.find("experiment_submitted { experiment: 3"), std::string::npos);
}

TEST_F(DamageTest, RowsOfAttemptsThatWereLostGoWithThem) {
  Copied(whole_);
  auto store = SqliteStore::Open(work_.path(), "test");
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(
      (*store)->DropRowsUnless([](const AttemptId& id) { return id.trial.experiment != 2; }).ok());
  ASSERT_TRUE((*store)->Close().ok());
  store->reset();
  const auto report = CheckJournal(work_ / "journal.db", kEverything);
  EXPECT_TRUE(WrongOf(*report).empty());
  EXPECT_EQ(report->rows[kChunks], 6);
  EXPECT_EQ(report->rows[kLogs], 6);
}

TEST(MissingTest, AMarkPromisesNoMoreThanItsCommit) {
  StoreHead head = NewHead();
  head.mark.commits = 5;
  HighWaterMark mark = head.mark;
  EXPECT_EQ(MissingOf(head, mark), "");
  mark.commits = 4;  // its write was cut short: commit 5 was never acknowledged
  EXPECT_EQ(MissingOf(head, mark), "");
  mark.commits = 6;
  ExpectHas(MissingOf(head, mark), "commits 6");
  ExpectHas(MissingOf(head, std::nullopt), "missing");
  head.mark.commits = 1;
  EXPECT_EQ(MissingOf(head, std::nullopt), "");
}

TEST(ChecksumTest, EveryChangedBitAndEveryMovedBorderChangesIt) {
  const std::string text = "what was written, of some length that is no multiple of eight";
  const int64_t sum = Checksum().Add(text).Add(7).Sum();
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(Checksum().Add(flipped).Add(7).Sum(), sum);
  }
  EXPECT_NE(Checksum().Add("ab").Add("c").Sum(), Checksum().Add("a").Add("bc").Sum());
}

}  // namespace
}  // namespace dt
