// postgres_test.cc: which process leads, that no other writes, and the meaning of a lost
// connection.
#include "coordinator/store/postgres.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/lead_limits.h"
#include "coordinator/store/candidate.h"
#include "coordinator/store/check_tables.h"
#include "coordinator/store/directory_lock.h"
#include "coordinator/store/postgres_store.h"
#include "gtest/gtest.h"
#include "tests/coordinator/store/databases.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using testing::Await;

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::PostgresServer::Missing()) GTEST_SKIP() << testing::PostgresServer::kMissing;
    // The server notices a moment later that the leader of the test before has left.
    ASSERT_TRUE(Await([] {
      return TheServer().Ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0;
    }));
    TheServer().Empty();
  }
  static std::string conninfo() { return TheServer().conninfo(); }
  std::unique_ptr<PostgresStore> Lead(std::unique_ptr<Postgres> connection) {
    auto store = PostgresStore::Lead(
        DirectoryLock(), std::move(connection),
        {conninfo(), "test", "a test", [this](const absl::Status&) { ++lost_; }});
    EXPECT_TRUE(store.ok()) << store.status();
    return std::move(*store);
  }
  static std::unique_ptr<Postgres> Connect() {
    auto connection = Postgres::Connect(conninfo(), Postgres::IfLost::kFail);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return std::move(*connection);
  }
  static absl::Status Commit(Store& store, const std::string& reason) {
    const v1::Record record = Cancel(reason);
    Batch batch;
    batch.records.push_back(&record);
    return store.Commit(batch);
  }
  static bool Leads(Candidate& candidate, absl::Duration now) {
    const auto looked = candidate.Look(now);
    EXPECT_TRUE(looked.ok()) << looked.status();
    return looked.ok() && *looked;
  }
  // Ends every connection of coordinators, as an administrator could.
  static void EndConnections() {
    TheServer().Sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client "
        "backend' AND pid <> pg_backend_pid()");
  }

  std::atomic<int> lost_ = 0;
};

TEST_F(PostgresTest, TheSecondProcessLeadsOnceTheFirstLosesItsConnection) {
  Candidate first(conninfo(), "first"), second(conninfo(), "second");
  ASSERT_TRUE(Leads(first, absl::ZeroDuration()));
  EXPECT_FALSE(Leads(second, absl::ZeroDuration()));
  EXPECT_EQ(second.leader(), "first");
  first.Take().reset();
  EXPECT_TRUE(Await([&] { return Leads(second, absl::ZeroDuration()); }));
}

TEST_F(PostgresTest, ACleanStopLetsTheOtherLeadAtOnce) {
  Candidate first(conninfo(), "first"), second(conninfo(), "second");
  ASSERT_TRUE(Leads(first, absl::ZeroDuration()));
  const auto store = Lead(first.Take());
  EXPECT_FALSE(Leads(second, absl::ZeroDuration()));
  EXPECT_TRUE(store->Close().ok());
  EXPECT_TRUE(Leads(second, absl::ZeroDuration()));
  EXPECT_EQ(lost_, 0);
}

TEST_F(PostgresTest, ALeaderThatSaysNothingForTooLongIsReplaced) {
  Candidate stopped(conninfo(), "stopped"), standby(conninfo(), "standby");
  ASSERT_TRUE(Leads(stopped, absl::ZeroDuration()));
  EXPECT_FALSE(Leads(standby, absl::ZeroDuration()));
  EXPECT_FALSE(Leads(standby, limits::kLeaderSilence - absl::Milliseconds(1)));
  EXPECT_EQ(TheServer().Ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 1);
  EXPECT_FALSE(Leads(standby, limits::kLeaderSilence)) << "it only ends the connection now";
  EXPECT_TRUE(Await([&] { return Leads(standby, limits::kLeaderSilence); }));
  EXPECT_FALSE(stopped.Take()->Execute("SELECT 1").ok());
}

TEST_F(PostgresTest, ALeaderThatHasNothingToWriteStillSaysThatItLives) {
  Candidate first(conninfo(), "first"), second(conninfo(), "second");
  ASSERT_TRUE(Leads(first, absl::ZeroDuration()));
  const auto store = Lead(first.Take());
  absl::Duration now;
  for (int beats = 0; beats < 2; ++beats) {
    const std::string of_leader = " FROM pg_stat_activity WHERE application_name = 'first'";
    const int64_t before =
        TheServer().Ask("SELECT extract(epoch FROM state_change)::bigint" + of_leader);
    ASSERT_TRUE(Await([&] {
      return TheServer().Ask("SELECT extract(epoch FROM state_change)::bigint" + of_leader) !=
             before;
    }));
    now += limits::kLeaderSilence;
    EXPECT_FALSE(Leads(second, now));
  }
  EXPECT_TRUE(Commit(*store, "a").ok());
  EXPECT_EQ(lost_, 0);
}

// The database does not answer: another session has locked the row with the term.
TEST_F(PostgresTest, ALeaderThatHearsNothingIsNotCertainBeforeAnotherMayLead) {
  static_assert(limits::kLeadDoubt < limits::kLeaderSilence);
  const auto store = Lead(Connect());
  EXPECT_TRUE(store->LeadIsCertain());
  EXPECT_TRUE(store->ConfirmLead().ok());
  auto other = Connect();
  ASSERT_TRUE(other->Execute("BEGIN; LOCK TABLE leader IN ACCESS EXCLUSIVE MODE").ok());
  const absl::Time held = absl::Now();
  ASSERT_TRUE(Await([&] { return !store->LeadIsCertain(); }));
  // The last answered beat may have been late, and so may this look.
  EXPECT_GT(absl::Now() - held, limits::kLeadDoubt / 4);
  ASSERT_TRUE(other->Execute("COMMIT").ok());
  EXPECT_TRUE(Await([&] { return store->LeadIsCertain(); })) << "it hears again";
  EXPECT_EQ(lost_, 0);
}

TEST_F(PostgresTest, ADeposedLeaderLearnsItWhenItConfirms) {
  const auto old = Lead(Connect());
  auto other = Connect();
  ASSERT_TRUE(other->Execute("BEGIN; LOCK TABLE leader IN ACCESS EXCLUSIVE MODE").ok());
  ASSERT_TRUE(Await([&] { return !old->LeadIsCertain(); }));
  ASSERT_TRUE(other->Execute("UPDATE leader SET term = term + 1; COMMIT").ok());
  EXPECT_TRUE(Await([&] { return lost_ == 1; }));
  EXPECT_EQ(old->ConfirmLead().code(), absl::StatusCode::kAborted);
}

TEST_F(PostgresTest, ADeposedLeaderWritesNothing) {
  const auto old = Lead(Connect());
  ASSERT_TRUE(Commit(*old, "of the first").ok());
  // As if both processes believed that they lead: this one without the lock.
  const auto next = Lead(Connect());
  EXPECT_EQ(next->term(), old->term() + 1);
  EXPECT_EQ(Commit(*old, "too late").code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(Commit(*next, "of the second").ok());
  std::vector<std::string> reasons;
  JournalPlace place;
  ASSERT_TRUE(next->Replay(place,
                           [&](const v1::Record& record) {
                             reasons.push_back(record.cancel_requested().reason());
                             return absl::OkStatus();
                           })
                  .ok());
  EXPECT_EQ(reasons, (std::vector<std::string>{"of the first", "of the second"}));
  EXPECT_TRUE(Await([&] { return lost_ == 1; })) << "it finds out by itself, too";
}

TEST_F(PostgresTest, ATakeoverWaitsForATransactionThatHasTheTermAndThenFencesIt) {
  const auto old = Lead(Connect());
  const auto writer = Connect();
  ASSERT_TRUE(
      writer->Execute("BEGIN; SELECT term FROM leader FOR UPDATE; UPDATE acks SET touched = 1")
          .ok());
  std::unique_ptr<PostgresStore> next;
  std::thread takeover([&] { next = Lead(Connect()); });
  EXPECT_TRUE(Await([] {
    return TheServer().Ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") >
           0;
  }));
  EXPECT_TRUE(writer->Execute("COMMIT").ok());
  takeover.join();
  EXPECT_EQ(Commit(*old, "too late").code(), absl::StatusCode::kAborted);
}

TEST_F(PostgresTest, ALostConnectionFailsTheCommitAndKeepsEarlierOnes) {
  auto store = Lead(Connect());
  ASSERT_TRUE(Commit(*store, "a").ok());
  EndConnections();
  EXPECT_FALSE(Commit(*store, "b").ok());
  EXPECT_TRUE(Await([&] { return lost_ == 1; }));
  store.reset();
  store = Lead(Connect());
  EXPECT_EQ(store->RecordCount(), 1);
  EXPECT_TRUE(CheckTables(*Connect(), Thoroughness::kEverything)->damage.empty());
}

// docs/administration/two-coordinators.md describes this backup.
TEST_F(PostgresTest, ADumpThatIsRestoredIsTheSameJournalAndGoesOn) {
  auto store = Lead(Connect());
  for (int record = 0; record < 20; ++record) ASSERT_TRUE(Commit(*store, "a reason").ok());
  store.reset();
  const testing::TempFolder folder;
  const auto run = [&folder](const std::string& program, std::vector<std::string> command) {
    command.insert(command.begin(), testing::PostgresServer::Programs() + "/" + program);
    testing::ChildProcess child(command, folder / "log");
    const auto status = child.AwaitExit();
    EXPECT_TRUE(status && *status == 0) << program << ": " << testing::Slurp(folder / "log");
  };
  const std::string dump = folder / "journal.dump";
  run("pg_dump", {"--format=custom", "--schema=dtrain", "--file", dump, "--dbname", conninfo()});
  TheServer().Empty();
  run("pg_restore", {"--dbname", conninfo(), dump});
  store = Lead(Connect());
  EXPECT_EQ(store->RecordCount(), 20);
  EXPECT_TRUE(CheckTables(*Connect(), Thoroughness::kEverything)->damage.empty());
  EXPECT_TRUE(Commit(*store, "another").ok());
}

TEST_F(PostgresTest, AReaderConnectsAgain) {
  const auto store = Lead(Connect());
  auto reader = OpenPostgresReader(conninfo());
  ASSERT_TRUE(reader.ok()) << reader.status();
  v1::ReadMetricsRequest request;
  request.set_experiment(7);
  EXPECT_TRUE((*reader)->ReadMetrics(request).ok());
  EndConnections();
  EXPECT_TRUE(Await([&] { return (*reader)->ReadMetrics(request).ok(); }));
}

TEST_F(PostgresTest, StatementsOfOneConnectionMayBeReadInTurns) {
  const auto connection = Connect();
  auto outer = Statement::Prepare(*connection, "SELECT generate_series(1, ?) AS n");
  auto inner = Statement::Prepare(*connection, "SELECT ?1 * ?1");
  outer->Bind(1, 100);
  int64_t sum = 0;
  for (auto row = outer->Step(); row.ok() && *row; row = outer->Step()) {
    inner->Bind(1, outer->Integer(0));
    ASSERT_TRUE(*inner->Step());
    sum += inner->Integer(0);
    inner->Reset();
  }
  EXPECT_EQ(sum, 338350);
}

TEST_F(PostgresTest, ALongAnswerThatIsLeftEarlyIsCutShort) {
  const auto connection = Connect();
  auto endless = Statement::Prepare(*connection, "SELECT generate_series(1, 1000000000000)");
  ASSERT_TRUE(*endless->Step());
  endless->Reset();
  EXPECT_EQ(*connection->QueryInteger("SELECT 42"), 42);
  ASSERT_TRUE(*endless->Step()) << "and may be asked again";
  EXPECT_EQ(endless->Integer(0), 1);
}

TEST_F(PostgresTest, ACommitThatBecameARollbackIsAnError) {
  const auto connection = Connect();
  ASSERT_TRUE(connection->Execute("BEGIN").ok());
  EXPECT_FALSE(connection->Execute("SELECT 1/0").ok());
  EXPECT_EQ(connection->Execute("COMMIT").code(), absl::StatusCode::kAborted);
}

TEST_F(PostgresTest, AnErrorNamesTheDatabaseAndNoPassword) {
  const auto refused =
      Postgres::Connect(absl::StrCat(conninfo(), "x password=secret"), Postgres::IfLost::kFail);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("postgresx"), absl::string_view::npos);
  EXPECT_EQ(refused.status().message().find("secret"), absl::string_view::npos);
}

}  // namespace
}  // namespace dt
