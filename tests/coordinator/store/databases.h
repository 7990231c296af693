// databases.h: a journal in SQLite and one in PostgreSQL, for tests of their common behaviour.
#pragma once

#include <memory>
#include <string>

#include "coordinator/store/postgres_store.h"
#include "coordinator/store/sql_reader.h"
#include "coordinator/store/sqlite_store.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/temp_folder.h"

namespace dt {

enum class Which { kSqlite, kPostgres };
inline std::string NameOf(Which which) { return which == Which::kSqlite ? "Sqlite" : "PostgreSQL"; }

class TestDatabase {
 public:
  virtual ~TestDatabase() = default;
  virtual absl::StatusOr<std::unique_ptr<SqlStore>> Open(const std::string& version) = 0;
  virtual absl::StatusOr<std::unique_ptr<StoreReader>> OpenReader() = 0;
  // Opens a connection beside the store's.
  virtual std::unique_ptr<Connection> Connect() = 0;
  void Sql(const std::string& sql) { EXPECT_TRUE(Connect()->Execute(sql).ok()) << sql; }
};

class SqliteTestDatabase final : public TestDatabase {
 public:
  absl::StatusOr<std::unique_ptr<SqlStore>> Open(const std::string& version) override {
    return SqliteStore::Open(folder_.path(), version);
  }
  absl::StatusOr<std::unique_ptr<StoreReader>> OpenReader() override {
    return OpenSqliteReader(folder_.path());
  }
  std::unique_ptr<Connection> Connect() override {
    auto database = Database::Open(folder_ / "journal.db", Access::kReadWrite);
    EXPECT_TRUE(database.ok()) << database.status();
    return std::make_unique<Database>(std::move(*database));
  }

 private:
  const testing::TempFolder folder_;
};

// Returns the one server of this process.
inline testing::PostgresServer& TheServer() {
  static testing::PostgresServer server;
  return server;
}

class PostgresTestDatabase final : public TestDatabase {
 public:
  PostgresTestDatabase() { TheServer().Empty(); }
  absl::StatusOr<std::unique_ptr<SqlStore>> Open(const std::string& version) override {
    auto connection = Postgres::Connect(TheServer().conninfo(), Postgres::IfLost::kFail);
    if (!connection.ok()) return connection.status();
    return PostgresStore::Lead(DirectoryLock(), std::move(*connection),
                               {TheServer().conninfo(), version, "a test",
                                [](const absl::Status& why) { ADD_FAILURE() << why; }});
  }
  absl::StatusOr<std::unique_ptr<StoreReader>> OpenReader() override {
    return OpenPostgresReader(TheServer().conninfo());
  }
  std::unique_ptr<Connection> Connect() override {
    auto connection = Postgres::Connect(TheServer().conninfo(), Postgres::IfLost::kFail);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return std::move(*connection);
  }
};

// Returns a record that tests write.
inline v1::Record Cancel(const std::string& reason) {
  v1::Record record;
  record.mutable_cancel_requested()->set_experiment(7);
  record.mutable_cancel_requested()->set_reason(reason);
  return record;
}

inline std::unique_ptr<TestDatabase> MakeDatabase(Which which) {
  if (which == Which::kSqlite) return std::make_unique<SqliteTestDatabase>();
  return std::make_unique<PostgresTestDatabase>();
}

}  // namespace dt
