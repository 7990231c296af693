// restore_test.cc: a start from a snapshot gives the same state as a start from the first record.
#include "coordinator/loop/restore.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/loop/snapshotter.h"
#include "coordinator/store/check.h"
#include "coordinator/store/sql_journal.h"
#include "coordinator/store/sqlite_store.h"
#include "tests/testing/await.h"
#include "tests/testing/full_disk.h"
#include "tests/testing/loop_fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNewest = std::numeric_limits<int64_t>::max();

class RestoreTest : public testing::LoopFixture {
 protected:
  // Makes some of everything: one trial runs and one waits.
  void Train() {
    Connect();
    Call(1, Grid("a", 3));
    TurnOk();
    Run(Token());
    AddRows(Token(), 1, 2.5);
    v1::Evaluation& evaluation = *AddItem(Token()).mutable_evaluation();
    evaluation.set_step(1);
    evaluation.set_split("val");
    evaluation.set_loss(1.25);
    Report();
    TurnOk();
  }
  void PutSnapshot() {
    auto snapshot = MakeSnapshot(store_);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    store_.PutSnapshot(*std::move(snapshot));
  }
  std::string Hash() const { return HashOf(loop_->state().durable); }
  double ValidationLoss() {
    return model_->TakeScrape(loop_->state(), clock_.Now())->trials.at(0).val_loss;
  }
};

TEST_F(RestoreTest, ASnapshotStandsForTheRecordsBeforeIt) {
  Train();
  PutSnapshot();
  Call(2, Grid("later"));
  TurnOk();
  const std::string hash = Hash();
  int visited = 0;
  MetricsModel metrics(1);
  const auto folded = FoldJournal(store_, metrics, [&] { ++visited; });
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(visited, 1);
  EXPECT_EQ(HashOf(folded->state.durable), hash);
  Restart();
  EXPECT_EQ(Hash(), hash);
  // Counted from records before the snapshot.
  EXPECT_EQ(ValidationLoss(), 1.25);
  const auto shown = model_->TakeScrape(loop_->state(), clock_.Now());
  EXPECT_EQ(shown->queue_wait.sample_count, 1u);
  EXPECT_EQ(shown->rendezvous.sample_count, 1u);
}

TEST_F(RestoreTest, ASnapshotThatCannotBeReadIsLeftAsideForTheOneBeforeIt) {
  Train();
  PutSnapshot();
  Call(2, Grid("later"));
  TurnOk();
  const std::string hash = Hash();
  store_.PutSnapshot({{static_cast<int64_t>(store_.records()), ""}, {"not a snapshot"}});
  Restart();
  EXPECT_EQ(Hash(), hash);
}

TEST_F(RestoreTest, RowsThatWereTakenBeforeAStartAreNotTakenAgain) {
  Train();
  const std::string token = Token();
  Restart();
  Connect();
  AddRows(token, 1, 99);  // a new item, not a repeated one
  AddRows(token, 2, 2.25);
  Hold(token, v1::AttemptStatus::TRAINING);
  Report();
  TurnOk();
  ASSERT_EQ(store_.chunks().size(), 2u);
  EXPECT_EQ(store_.chunks()[1].first_step, 2u);
  EXPECT_EQ(loop_->state().live.doubted, 1u);
}

// The same with the real store.
class StoredSnapshotTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    store_.reset();
    auto store = SqliteStore::Open(folder_.path(), "test");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    MetricsModel metrics(1);
    auto state = Restore(*store_, SystemClock(), metrics, [this] { ++visited_; });
    ASSERT_TRUE(state.ok()) << state.status();
    state_ = *std::move(state);
  }
  void Keep(v1::Record record) {
    ASSERT_TRUE(Apply(state_.durable, record).ok());
    Batch batch;
    batch.records.push_back(&record);
    ASSERT_TRUE(store_->Commit(batch).ok());
  }
  void Submit(uint64_t experiment) {
    v1::Record record;
    record.mutable_experiment_submitted()->set_experiment(experiment);
    record.mutable_experiment_submitted()->add_trials()->set_trial(1);
    Keep(record);
  }
  void EndAndDelete(uint64_t experiment) {
    v1::Record cancel;
    cancel.mutable_cancel_requested()->set_experiment(experiment);
    Keep(cancel);
    v1::Record end;
    end.mutable_trial_ended()->set_experiment(experiment);
    end.mutable_trial_ended()->set_trial(1);
    end.mutable_trial_ended()->set_state(v1::TRIAL_CANCELLED);
    end.mutable_trial_ended()->set_cause(v1::CAUSE_CANCELLED);
    Keep(end);
    v1::Record gone;
    gone.mutable_experiment_deleted()->set_experiment(experiment);
    Keep(gone);
  }
  // Makes a snapshot as the snapshotter does, and stores it with a commit of experiment `next`.
  void Snapshot(uint64_t next) {
    auto journal = OpenSqliteJournal(folder_.path());
    auto snapshot = MakeSnapshot(**journal);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    store_->OfferSnapshot(*std::move(snapshot));
    Submit(next);
  }
  int64_t Oldest() {
    auto database = Database::Open(folder_ / "journal.db", Access::kReadOnly);
    return database->QueryInteger("SELECT min(sequence) FROM journal").value_or(-1);
  }
  // Restarts. Returns the number of replayed records.
  int Replayed() {
    const std::string hash = HashOf(state_.durable);
    EXPECT_TRUE(store_->Close().ok());
    store_.reset();
    const auto report = CheckJournal(folder_ / "journal.db", std::numeric_limits<uint64_t>::max());
    EXPECT_TRUE(report.ok() && WrongOf(*report).empty());
    visited_ = 0;
    Open();
    EXPECT_EQ(HashOf(state_.durable), hash);
    return visited_;
  }
  void Sql(const std::string& sql) {
    auto database = Database::Open(folder_ / "journal.db", Access::kReadWrite);
    ASSERT_TRUE(database->Execute(sql).ok());
  }

  testing::TempFolder folder_;
  std::unique_ptr<SqliteStore> store_;
  State state_;
  int visited_ = 0;
};

TEST_F(StoredSnapshotTest, AStartReplaysTheRecordsAfterTheNewestSnapshot) {
  for (uint64_t i = 1; i <= 5; ++i) Submit(i);
  EXPECT_EQ(Replayed(), 6);
  Snapshot(6);
  Submit(7);
  EXPECT_EQ(Replayed(), 2);
}

TEST_F(StoredSnapshotTest, ADamagedSnapshotFallsBackToThePreviousOneAndThenToAllRecords) {
  Submit(1);
  Snapshot(2);
  Snapshot(3);
  Snapshot(4);
  EXPECT_EQ(Replayed(), 1);
  Sql("UPDATE snapshot_parts SET content = content || x'00' WHERE sequence = "
      "(SELECT max(sequence) FROM snapshots)");
  EXPECT_EQ(Replayed(), 2);
  EXPECT_EQ(store_->ReadSnapshot(kNewest)->damaged, 1);
  Sql("UPDATE snapshots SET checksum = checksum + 1");
  EXPECT_EQ(Replayed(), 5);
  EXPECT_EQ(store_->ReadSnapshot(kNewest)->damaged, 2);
}

TEST_F(StoredSnapshotTest, RecordsStayUntilADeletionIsOlderThanTwoSnapshots) {
  Submit(1);
  Snapshot(2);
  Snapshot(3);
  Submit(4);
  EXPECT_EQ(Oldest(), 1);
  EndAndDelete(1);
  Snapshot(5);
  EXPECT_EQ(Oldest(), 1);  // only one snapshot is newer than the deletion
  Snapshot(6);
  Submit(7);
  EXPECT_EQ(Oldest(), 9);
  EXPECT_EQ(Replayed(), 2);
  // The older one is enough.
  Sql("DELETE FROM snapshots WHERE sequence = (SELECT max(sequence) FROM snapshots)");
  EXPECT_EQ(Replayed(), 3);
}

TEST_F(StoredSnapshotTest, ADamagedRecordBeforeASnapshotLosesNothing) {
  for (uint64_t i = 1; i <= 5; ++i) Submit(i);
  Snapshot(6);
  const std::string hash = HashOf(state_.durable);
  ASSERT_TRUE(store_->Close().ok());
  store_.reset();
  Sql("UPDATE journal SET record = x'00' WHERE sequence = 3");
  EXPECT_FALSE(SqliteStore::Open(folder_.path(), "test").ok());
  { ASSERT_TRUE(SqliteStore::Open(folder_.path(), "test", DataLossPolicy::kGoOn).ok()); }
  Open();
  EXPECT_EQ(HashOf(state_.durable), hash);
}

TEST_F(StoredSnapshotTest, AnExperimentNumberLostWithTheJournalsEndIsNotReused) {
  for (uint64_t i = 1; i <= 5; ++i) Submit(i);
  for (const char* damage : {"UPDATE journal SET record = x'00' WHERE sequence = 4",  // record 3
                             "DELETE FROM journal", "UPDATE head SET checksum = 0"}) {
    SCOPED_TRACE(damage);
    ASSERT_TRUE(store_->Close().ok());
    store_.reset();
    Sql(damage);
    EXPECT_FALSE(SqliteStore::Open(folder_.path(), "test").ok());
    { ASSERT_TRUE(SqliteStore::Open(folder_.path(), "test", DataLossPolicy::kGoOn).ok()); }
    Open();
    EXPECT_EQ(state_.durable.next_experiment, 6u);
    Replayed();
  }
}

// The state after a kill at each commit of a compaction, also between a commit and its mark.
TEST_F(StoredSnapshotTest, AKillAtAnyCommitOfACompactionLosesNothing) {
  for (uint64_t i = 1; i <= 3; ++i) Submit(i);
  EndAndDelete(1);
  const testing::TempFolder killed;
  const auto copy = [&](const std::string& name) {
    fs::copy_file(folder_ / name, killed / name, fs::copy_options::overwrite_existing);
  };
  for (uint64_t next = 4; next <= 12; ++next) {
    copy("journal.mark");  // as the last commit left it
    if (next % 3 == 0) {
      Snapshot(next);
    } else {
      Submit(next);
    }
    for (const bool marked : {false, true}) {
      SCOPED_TRACE(absl::StrCat(next, marked ? ", marked" : ", not marked"));
      if (marked) copy("journal.mark");
      copy("journal.db");
      copy("journal.db-wal");
      auto store = SqliteStore::Open(killed.path(), "test");
      ASSERT_TRUE(store.ok()) << store.status();
      MetricsModel metrics(1);
      const auto state = Restore(**store, SystemClock(), metrics, [] {});
      ASSERT_TRUE(state.ok()) << state.status();
      EXPECT_EQ(HashOf(state->durable), HashOf(state_.durable));
      store->reset();
      fs::remove(killed / "journal.db-shm");
    }
  }
  EXPECT_GT(Oldest(), 1);
}

TEST_F(StoredSnapshotTest, ADiskThatIsFullAtAnyWriteLosesNothingThatWasAcknowledged) {
  const testing::FullDisk disk;  // no file grows beyond the allowed size
  for (uint64_t i = 1; i <= 3; ++i) Submit(i);
  EndAndDelete(1);
  int refused = 0;
  for (uint64_t next = 4, room = 0; next <= 7;) {
    auto snapshot = MakeSnapshot(**OpenSqliteJournal(folder_.path()));
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    store_->OfferSnapshot(*std::move(snapshot));
    v1::Record record;
    record.mutable_experiment_submitted()->set_experiment(next);
    record.mutable_experiment_submitted()->add_trials()->set_trial(1);
    record.mutable_experiment_submitted()->set_file_text(std::string(20000, 'f'));
    Batch batch;
    batch.records.push_back(&record);
    const std::string before = HashOf(state_.durable);
    ASSERT_TRUE(Apply(state_.durable, record).ok());
    const std::string after = HashOf(state_.durable);
    disk.Allow(fs::file_size(folder_ / "journal.db-wal") + room);
    const absl::Status committed = store_->Commit(batch);
    disk.AllowAll();
    if (!committed.ok()) {
      ++refused;
      Open();  // with the same options as the process that ended
    }
    const std::string found = HashOf(state_.durable);
    ASSERT_TRUE(found == after || (!committed.ok() && found == before)) << room << " bytes left";
    room = found == before ? room + 3 * 8192 : 0;
    next += found == before ? 0 : 1;
  }
  EXPECT_GE(refused, 4);
}

TEST_F(StoredSnapshotTest, ATrialWhoseEndIsCutOffEndsAtTheNextStart) {
  Submit(1);
  v1::Record started;
  v1::AttemptStarted& attempt = *started.mutable_attempt_started();
  attempt.set_experiment(1);
  attempt.set_trial(1);
  attempt.set_attempt(1);
  attempt.set_token(std::string(16, 't'));
  attempt.add_members()->set_worker("host/0");
  Keep(started);
  v1::Record ended;
  ended.mutable_attempt_ended()->set_experiment(1);
  ended.mutable_attempt_ended()->set_trial(1);
  ended.mutable_attempt_ended()->set_attempt(1);
  ended.mutable_attempt_ended()->set_cause(v1::CAUSE_DATA);
  ended.mutable_attempt_ended()->set_message("no such file");
  ended.mutable_attempt_ended()->set_retry_after_ms(-1);
  Keep(ended);
  ASSERT_TRUE(store_->Close().ok());
  for (int starts = 0; starts < 2; ++starts) {
    Open();
    const Trial& trial = GetTrial(state_.durable, {1, 1});
    EXPECT_EQ(trial.state, v1::TRIAL_FAILED);
    EXPECT_EQ(trial.message, "no such file");
    EXPECT_TRUE(state_.live.attempts.empty());
  }
}

TEST_F(StoredSnapshotTest, AWaitingTrialOfACancelledExperimentIsNotTrainedAfterALoss) {
  Submit(1);
  v1::Record cancel;
  cancel.mutable_cancel_requested()->set_experiment(1);
  Keep(cancel);
  ASSERT_TRUE(store_->Close().ok());
  Open();
  EXPECT_EQ(GetTrial(state_.durable, {1, 1}).state, v1::TRIAL_CANCELLED);
}

TEST_F(StoredSnapshotTest, AJournalOfASnapshotAloneOpensAgain) {
  for (uint64_t i = 1; i <= 3; ++i) Submit(i);
  auto journal = OpenSqliteJournal(folder_.path());
  store_->OfferSnapshot(*MakeSnapshot(**journal));
  ASSERT_TRUE(store_->Commit(Batch{}).ok());
  ASSERT_TRUE(store_->Close().ok());
  store_.reset();
  Sql("UPDATE journal SET record = x'00' WHERE sequence = 2");
  ASSERT_TRUE(SqliteStore::Open(folder_.path(), "test", DataLossPolicy::kGoOn).ok());
  Open();
  EXPECT_EQ(state_.durable.experiments.size(), 3u);
}

TEST_F(StoredSnapshotTest, TheSnapshotterMakesOneAfterAFixedNumberOfRecords) {
  auto snapshotter = std::make_unique<Snapshotter>(
      [this] { return OpenSqliteJournal(folder_.path()); },
      [this](StoredSnapshot made) { store_->OfferSnapshot(std::move(made)); });
  store_->AskForSnapshots(4, [&] { snapshotter->Wake(); });
  uint64_t next = 0;
  // Commits go on meanwhile; one of them takes the snapshot along.
  EXPECT_TRUE(testing::Await([&] {
    Submit(++next);
    return (*store_->ReadSnapshot(kNewest)).place.sequence >= 4;
  }));
  store_->AskForSnapshots(0, nullptr);
  snapshotter.reset();
  EXPECT_LT(Replayed(), static_cast<int>(next) + 1);
}

}  // namespace
}  // namespace dt
