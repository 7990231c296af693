// store_test.cc: commits come back, from the journal and through the reader, in SQLite and in
// PostgreSQL.

#include <memory>
#include <string>
#include <vector>

#include "common/limits.h"
#include "coordinator/store/check_tables.h"
#include "coordinator/store/journal.h"
#include "gtest/gtest.h"
#include "tests/coordinator/store/databases.h"

namespace dt {
namespace {

constexpr uint64_t kExperiment = 7;

class StoreTest : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (GetParam() == Which::kPostgres && testing::PostgresServer::Missing()) {
      GTEST_SKIP() << testing::PostgresServer::kMissing;
    }
    database_ = MakeDatabase(GetParam());
    Reopen();
  }
  void TearDown() override { store_.reset(); }

  void Reopen(const std::string& version = "0.1.0") {
    store_.reset();
    auto store = database_->Open(version);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::move(*store);
  }
  std::unique_ptr<StoreReader> OpenReader() {
    auto reader = database_->OpenReader();
    EXPECT_TRUE(reader.ok()) << reader.status();
    return std::move(*reader);
  }

  void Commit(const std::vector<v1::Record>& records) {
    Batch batch;
    for (const v1::Record& record : records) batch.records.push_back(&record);
    ASSERT_TRUE(store_->Commit(batch).ok());
  }
  void Run(uint32_t trial, uint32_t attempt, uint64_t resumed_step) {
    v1::Record record;
    auto& running = *record.mutable_attempt_running();
    running.set_experiment(kExperiment);
    running.set_trial(trial);
    running.set_attempt(attempt);
    running.set_resumed_step(resumed_step);
    Commit({record});
  }
  static v1::ReadLogsRequest LogsOfTheFirst() {
    v1::ReadLogsRequest request;
    request.set_experiment(kExperiment);
    request.set_trial(1);
    request.set_rank(-1);
    return request;
  }
  // Stores rows of the steps `first` to `last`, with the step as their loss.
  void Rows(uint32_t trial, uint32_t attempt, uint64_t first, uint64_t last) {
    v1::StepRows rows;
    for (uint64_t step = first; step <= last; ++step) {
      v1::StepRow& row = *rows.add_rows();
      row.set_step(step);
      row.set_loss(static_cast<double>(step));
    }
    ChunkToStore chunk;
    chunk.attempt = {{kExperiment, trial}, attempt};
    chunk.first_step = first;
    chunk.last_step = last;
    chunk.count = static_cast<uint32_t>(last - first + 1);
    chunk.rows = rows.SerializeAsString();
    Batch batch;
    batch.chunks.push_back(&chunk);
    ASSERT_TRUE(store_->Commit(batch).ok());
  }
  void Evaluate(uint32_t trial, uint32_t attempt, uint64_t step, const std::string& sample = "") {
    v1::Record record;
    auto& recorded = *record.mutable_evaluation();
    recorded.set_experiment(kExperiment);
    recorded.set_trial(trial);
    recorded.set_attempt(attempt);
    recorded.mutable_evaluation()->set_step(step);
    if (!sample.empty()) recorded.mutable_evaluation()->add_samples(sample);
    Commit({record});
  }
  void Log(uint32_t trial, int32_t rank, const std::string& text) {
    LogToStore log;
    log.attempt = {{kExperiment, trial}, 1};
    log.rank = rank;
    log.text = text;
    Batch batch;
    batch.logs.push_back(&log);
    ASSERT_TRUE(store_->Commit(batch).ok());
  }

  // Returns every row, page by page, as "trial:step#attempt", with a * if superseded.
  std::vector<std::string> ReadRows(v1::ReadMetricsRequest request) {
    const auto reader = OpenReader();
    request.set_experiment(kExperiment);
    std::vector<std::string> rows;
    for (int page = 0; page < 1000; ++page) {
      auto response = reader->ReadMetrics(request);
      EXPECT_TRUE(response.ok()) << response.status();
      if (!response.ok()) return rows;
      for (const v1::EvaluationRow& row : response->evaluations()) {
        rows.push_back("e" + std::to_string(row.trial()) + ":" +
                       std::to_string(row.evaluation().step()) + "#" +
                       std::to_string(row.attempt()) + (row.superseded() ? "*" : ""));
      }
      for (const v1::MetricRow& row : response->rows()) {
        rows.push_back(std::to_string(row.trial()) + ":" + std::to_string(row.row().step()) + "#" +
                       std::to_string(row.attempt()) + (row.superseded() ? "*" : ""));
      }
      if (response->next_page_token().empty()) return rows;
      request.set_page_token(response->next_page_token());
    }
    ADD_FAILURE() << "paging does not end";
    return rows;
  }

  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<SqlStore> store_;
};

INSTANTIATE_TEST_SUITE_P(Both, StoreTest, ::testing::Values(Which::kSqlite, Which::kPostgres),
                         [](const auto& info) { return NameOf(info.param); });

std::vector<std::string> Reasons(Store& store) {
  std::vector<std::string> reasons;
  JournalPlace place;
  EXPECT_TRUE(store
                  .Replay(place,
                          [&](const v1::Record& record) {
                            reasons.push_back(record.cancel_requested().reason());
                            return absl::OkStatus();
                          })
                  .ok());
  return reasons;
}

TEST_P(StoreTest, RecordsComeBackInOrderAfterReopening) {
  Commit({Cancel("a"), Cancel("b")});
  Commit({Cancel("c")});
  Reopen();
  EXPECT_EQ(Reasons(*store_), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(store_->RecordCount(), 3);
  Commit({Cancel("d")});
  EXPECT_EQ(Reasons(*store_).back(), "d");
}

TEST_P(StoreTest, ReplayStopsAtTheFirstErrorOfTheVisitor) {
  Commit({Cancel("a"), Cancel("b")});
  int seen = 0;
  JournalPlace place;
  const absl::Status status = store_->Replay(place, [&](const v1::Record&) {
    ++seen;
    return absl::AbortedError("enough");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(seen, 1);
}

TEST_P(StoreTest, AnUnknownKindStopsReplayAndNamesTheVersionThatWroteIt) {
  Commit({Cancel("a")});
  Reopen("9.9.9");
  Commit({Cancel("b")});
  const auto database = database_->Connect();
  JournalPlace place;
  std::string record;
  ASSERT_TRUE(dt::ReadRows(*database, place, [&](const JournalRow& row) {
                record = row.record;
                return absl::OkStatus();
              }).ok());
  const JournalRow unknown{3, 4000, 1, record};
  database_->Sql("INSERT INTO journal SELECT 3, 4000, 1, record, '" +
                 HashAfter(place.hash, unknown) + "' FROM journal WHERE sequence = 2");
  place = {};
  const absl::Status status =
      store_->Replay(place, [](const v1::Record&) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("9.9.9"), absl::string_view::npos) << status;
}

TEST_P(StoreTest, AHoleInTheJournalIsDataLoss) {
  Commit({Cancel("a"), Cancel("b"), Cancel("c")});
  database_->Sql("DELETE FROM journal WHERE sequence = 2");
  JournalPlace place;
  EXPECT_EQ(store_->Replay(place, [](const v1::Record&) { return absl::OkStatus(); }).code(),
            absl::StatusCode::kDataLoss);
}

TEST_P(StoreTest, TheHighestAcknowledgementOfEachInstanceIsKept) {
  Batch batch;
  batch.acks = {{"a/0", 11, 5}, {"b/0", ~0ull, 9}};
  ASSERT_TRUE(store_->Commit(batch).ok());
  batch.acks = {{"a/0", 11, 8}, {"a/0", 12, 1}};
  ASSERT_TRUE(store_->Commit(batch).ok());
  auto acks = store_->ReadAcks();
  ASSERT_TRUE(acks.ok());
  std::vector<std::string> texts;
  for (const AckToStore& ack : *acks) {
    texts.push_back(ack.worker + " " + std::to_string(ack.instance) + " " +
                    std::to_string(ack.sequence));
  }
  EXPECT_EQ(texts,
            (std::vector<std::string>{"a/0 11 8", "a/0 12 1", "b/0 18446744073709551615 9"}));
}

TEST_P(StoreTest, OldLivesOfAWorkerAreForgottenAtStart) {
  for (uint64_t life = 1; life <= 20; ++life) {
    Commit({Cancel("time passes")});
    Batch batch;
    batch.acks = {{"a/0", life, 1}};
    ASSERT_TRUE(store_->Commit(batch).ok());
  }
  Reopen();
  auto acks = store_->ReadAcks();
  ASSERT_TRUE(acks.ok());
  ASSERT_EQ(acks->size(), limits::kInstancesPerWorker + 1);
  EXPECT_EQ(acks->front().instance, 16u);
}

TEST_P(StoreTest, AcknowledgementsAreReadInTheOrderInWhichTheyCame) {
  for (const uint64_t life : {9, 1, 8, 2}) {
    Commit({Cancel("time passes")});
    Batch batch;
    batch.acks = {{"a/0", life, 1}};
    ASSERT_TRUE(store_->Commit(batch).ok());
  }
  std::vector<uint64_t> lives;
  const auto acks = store_->ReadAcks();
  for (const AckToStore& ack : *acks) lives.push_back(ack.instance);
  EXPECT_EQ(lives, (std::vector<uint64_t>{9, 1, 8, 2}));
}

TEST_P(StoreTest, NamesBeyondAFleetsWorthAreForgottenAtStartTheOldestFirst) {
  if (GetParam() == Which::kPostgres) GTEST_SKIP() << "so many round trips take ten seconds";
  Batch old;
  old.acks = {{"oldest", 1, 1}};
  ASSERT_TRUE(store_->Commit(old).ok());
  Commit({Cancel("time passes")});
  Batch batch;
  for (size_t i = 0; i < limits::kAcknowledgementsOnDisk; ++i) {
    batch.acks.push_back({absl::StrCat("worker-", i), 1, 1});
  }
  ASSERT_TRUE(store_->Commit(batch).ok());
  Reopen();
  const auto acks = store_->ReadAcks();
  ASSERT_EQ(acks->size(), limits::kAcknowledgementsOnDisk);
  EXPECT_EQ(acks->front().worker, "worker-0");
}

TEST_P(StoreTest, RowsComeOrderedByTrialThenStepAcrossPages) {
  Run(2, 1, 0);
  Rows(2, 1, 1, 5);
  Run(1, 1, 0);
  Rows(1, 1, 1, 3);
  Rows(1, 1, 4, 4);
  Rows(2, 1, 6, 6);
  v1::ReadMetricsRequest request;
  const std::vector<std::string> expected = {"1:1#1", "1:2#1", "1:3#1", "1:4#1", "2:1#1",
                                             "2:2#1", "2:3#1", "2:4#1", "2:5#1", "2:6#1"};
  for (const int page_size : {0, 1, 2, 3, 4, 9, 10}) {
    request.set_page_size(page_size);
    EXPECT_EQ(ReadRows(request), expected) << "page size " << page_size;
  }
  request.set_trial(2);
  EXPECT_EQ(ReadRows(request).size(), 6u);
  request.set_trial(3);
  EXPECT_TRUE(ReadRows(request).empty());
}

TEST_P(StoreTest, TheNewestStepIsTheAttemptsOwn) {
  Rows(1, 1, 1, 6);
  Rows(1, 1, 7, 9);
  Rows(1, 2, 5, 6);  // resumed at 4
  Rows(2, 1, 1, 20);
  EXPECT_EQ(*store_->ReadNewestStep({{kExperiment, 1}, 1}), 9u);
  EXPECT_EQ(*store_->ReadNewestStep({{kExperiment, 1}, 2}), 6u);
  EXPECT_EQ(*store_->ReadNewestStep({{kExperiment, 1}, 3}), 0u);
}

TEST_P(StoreTest, RowsOfRolledBackStepsAreSupersededUnlessAskedFor) {
  Run(1, 1, 0);
  Rows(1, 1, 1, 6);
  Run(1, 2, 4);  // resumed at 4: steps 5 and 6 are made again
  Rows(1, 2, 5, 7);
  Run(1, 3, 2);  // lost the newest checkpoint: makes steps 3 to 7 again
  Rows(1, 3, 3, 4);
  v1::ReadMetricsRequest request;
  EXPECT_EQ(ReadRows(request), (std::vector<std::string>{"1:1#1", "1:2#1", "1:3#3", "1:4#3"}));
  request.set_all_attempts(true);
  for (const int page_size : {0, 1, 2, 5}) {
    request.set_page_size(page_size);
    EXPECT_EQ(ReadRows(request),
              (std::vector<std::string>{"1:1#1", "1:2#1", "1:3#1*", "1:3#3", "1:4#1*", "1:4#3",
                                        "1:5#1*", "1:5#2*", "1:6#1*", "1:6#2*", "1:7#2*"}))
        << "page size " << page_size;
  }
}

TEST_P(StoreTest, EvaluationsComeFirstAndOncePerRow) {
  Run(1, 1, 0);
  Rows(1, 1, 1, 2);
  for (uint64_t step = 1; step <= 5; ++step) Evaluate(1, 1, step);
  Run(1, 2, 3);
  v1::ReadMetricsRequest request;
  for (const int page_size : {0, 1, 2, 3, 5}) {
    request.set_page_size(page_size);
    EXPECT_EQ(ReadRows(request),
              (std::vector<std::string>{"e1:1#1", "e1:2#1", "e1:3#1", "1:1#1", "1:2#1"}))
        << "page size " << page_size;
  }
}

TEST_P(StoreTest, APageOfEvaluationsWithTextsIsBounded) {
  Run(1, 1, 0);
  // Far longer than a sample may be, so that few rows fill a page.
  for (uint64_t step = 1; step <= 6; ++step) Evaluate(1, 1, step, std::string(1 << 20, 'x'));
  const auto reader = OpenReader();
  v1::ReadMetricsRequest request;
  request.set_experiment(kExperiment);
  const auto response = reader->ReadMetrics(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->evaluations_size(), 4);
  EXPECT_EQ(ReadRows({}).size(), 6u);
}

TEST_P(StoreTest, AForeignPageTokenIsAnInvalidArgument) {
  const auto reader = OpenReader();
  v1::ReadMetricsRequest metrics;
  v1::ReadLogsRequest logs;
  logs.set_trial(1);
  for (const char* token : {"x", "e", "r1.2", "r1.2.3.4", "e5 ", "-", "e18446744073709551615",
                            "r4294967297.1.1", "r1.18446744073709551615.1"}) {
    metrics.set_page_token(token);
    logs.set_page_token(token);
    EXPECT_EQ(reader->ReadMetrics(metrics).status().code(), absl::StatusCode::kInvalidArgument)
        << token;
    EXPECT_EQ(reader->ReadLogs(logs).status().code(), absl::StatusCode::kInvalidArgument) << token;
  }
}

TEST_P(StoreTest, LogsAreFollowedThroughTheToken) {
  Log(1, 0, "one\n");
  Log(1, 1, "two\n");
  Log(2, 0, "other trial\n");
  const auto reader = OpenReader();
  v1::ReadLogsRequest request = LogsOfTheFirst();
  auto response = reader->ReadLogs(request);
  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->chunks_size(), 2);
  EXPECT_EQ(response->chunks(1).log().text(), "two\n");
  EXPECT_TRUE(response->at_end());
  request.set_page_token(response->next_page_token());
  response = reader->ReadLogs(request);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->chunks_size(), 0);
  Log(1, 0, "three\n");
  request.set_page_token(response->next_page_token());
  response = reader->ReadLogs(request);
  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->chunks_size(), 1);
  EXPECT_EQ(response->chunks(0).log().text(), "three\n");
  request.set_page_token("");
  request.set_rank(1);
  response = reader->ReadLogs(request);
  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->chunks_size(), 1);
  EXPECT_EQ(response->chunks(0).log().text(), "two\n");
}

TEST_P(StoreTest, LongLogsKeepTheirBeginningAndTheirEndAndCountTheGap) {
  const std::string chunk = std::string(limits::kLogChunkBytes - 2, 'x') + "\n\n";
  const size_t head = limits::kLogFirstBytes / (chunk.size() + limits::kLogRowBytes);
  const size_t tail = limits::kLogNewestBytes / (chunk.size() + limits::kLogRowBytes);
  const size_t removed = 5;
  for (size_t i = 0; i < head + tail + removed; ++i) {
    if (i == head + 20) Reopen();  // a restart must find the kept part again
    Log(1, static_cast<int32_t>(i), chunk);
  }
  const auto reader = OpenReader();
  v1::ReadLogsRequest request = LogsOfTheFirst();
  std::vector<int32_t> ranks;
  uint64_t dropped = 0;
  uint64_t at_the_gap = 0;
  for (int page = 0; page < 100; ++page) {
    auto response = reader->ReadLogs(request);
    ASSERT_TRUE(response.ok());
    for (const v1::LogLineChunk& kept : response->chunks()) {
      ranks.push_back(kept.log().rank());
      dropped += kept.log().dropped_lines();
      if (ranks.size() == head) at_the_gap = kept.log().dropped_lines();
    }
    if (response->at_end()) break;
    request.set_page_token(response->next_page_token());
  }
  ASSERT_EQ(ranks.size(), head + tail);
  EXPECT_EQ(ranks[head - 1], static_cast<int32_t>(head - 1));
  EXPECT_EQ(ranks[head], static_cast<int32_t>(head + removed));
  EXPECT_EQ(ranks.back(), static_cast<int32_t>(head + tail + removed - 1));
  EXPECT_EQ(dropped, 2 * removed);
  EXPECT_EQ(at_the_gap, dropped) << "a count is of the lines after its chunk";
}

TEST_P(StoreTest, ADeletedExperimentsRowsGoAFewWithEachCommit) {
  Run(1, 1, 0);
  for (uint64_t step = 1; step <= 600; ++step) Rows(1, 1, step, step);
  Log(1, 0, "line\n");
  Evaluate(1, 1, 3);
  Batch batch;
  batch.deletions.push_back(kExperiment);
  ASSERT_TRUE(store_->Commit(batch).ok());
  Reopen();  // the rest that must be cleared survives a restart
  for (int i = 0; i < 5; ++i) Commit({Cancel("later")});
  v1::ReadMetricsRequest request;
  request.set_all_attempts(true);
  EXPECT_TRUE(ReadRows(request).empty());
  const auto reader = OpenReader();
  auto response = reader->ReadLogs(LogsOfTheFirst());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->chunks_size(), 0);
}

TEST_P(StoreTest, SnapshotsComeBackTheNewestFirstAndTheOldestGo) {
  for (int64_t sequence = 1; sequence <= 4; ++sequence) {
    StoredSnapshot snapshot;
    snapshot.place = {sequence, std::string(32, 'a')};
    snapshot.parts = {"first", std::string("second\0part", 11)};
    store_->OfferSnapshot(snapshot);
    Commit({Cancel("later")});
  }
  Reopen();
  const auto newest = store_->ReadSnapshot(100);
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->place.sequence, 4);
  EXPECT_EQ(newest->parts, (std::vector<std::string>{"first", std::string("second\0part", 11)}));
  EXPECT_EQ(store_->ReadSnapshot(4)->place.sequence, 3);
  EXPECT_EQ(store_->ReadSnapshot(3)->place.sequence, 0) << "only two are kept";
  EXPECT_EQ(store_->RecordCount(), 0);
}

TEST_P(StoreTest, ADamagedRowOfEachTableIsFound) {
  Run(1, 1, 0);
  Rows(1, 1, 1, 3);
  Evaluate(1, 1, 3);
  Log(1, 0, "line\n");
  Batch batch;
  batch.acks = {{"a/0", 11, 5}};
  ASSERT_TRUE(store_->Commit(batch).ok());
  const auto damage = [this] {
    return CheckTables(*database_->Connect(), Thoroughness::kEverything)->damage.size();
  };
  EXPECT_EQ(damage(), 0u);
  size_t damaged = 0;
  for (const char* change :
       {"UPDATE chunks SET last_step = 4", "UPDATE logs SET rank = 1",
        "UPDATE runs SET resumed_step = 1", "DELETE FROM evaluations",
        "UPDATE acks SET sequence = 6", "UPDATE journal SET kind = 5 WHERE sequence = 1"}) {
    database_->Sql(change);
    EXPECT_EQ(damage(), ++damaged) << change;
  }
  database_->Sql("UPDATE head SET commits = 1");
  EXPECT_EQ(damage(), 1u) << "nothing else can be held against it";
}

TEST_P(StoreTest, AWorkersNameMayHoldAnyByte) {
  Batch batch;
  batch.acks = {{std::string("a\0b", 3), 1, 5}, {"\xff", 2, 6}};
  ASSERT_TRUE(store_->Commit(batch).ok());
  Reopen();
  const auto acks = store_->ReadAcks();
  ASSERT_TRUE(acks.ok());
  ASSERT_EQ(acks->size(), 2u);
  EXPECT_EQ(acks->front().worker, std::string("a\0b", 3));
}

}  // namespace
}  // namespace dt
