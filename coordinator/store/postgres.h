// postgres.h: the few libpq calls the store makes, with Status instead of result codes.
//
// Role:      one connection. Rows arrive one by one, so that a long journal needs no memory;
//            numbers and bytes arrive in binary. Text is stored as bytes: no encoding can refuse
//            it, and no collation orders it.
// Ownership: statements borrow the connection.
// Threads:   thread-compatible; a connection belongs to one thread at a time.
// Errors:    Unavailable for a lost or refused connection and most errors of the server, Aborted
//            for a transaction that the server gave up, DataLoss for damaged pages,
//            ResourceExhausted for a full disk, FailedPrecondition without libpq (libpq.h). No
//            message contains the password.
// Source:    https://www.postgresql.org/docs/15/libpq.html
// Tests:     tests/coordinator/store/store_test.cc, postgres_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/sql.h"

struct pg_conn;
struct pg_result;

namespace dt {

// Returns the definition of tables with this database's types instead of SQLite's. Text becomes
// bytes; an integer key counts up if no value is given.
std::string WithPostgresTypes(const std::string& sql);

struct FreeResult {
  void operator()(pg_result* result) const;
};
using PostgresResult = std::unique_ptr<pg_result, FreeResult>;

class PostgresStatement;

class Postgres final : public Connection {
 public:
  enum class IfLost {
    kFail,       // fails for good: a lock held through the connection is lost
    kReconnect,  // reconnects at the next statement
  };
  // `conninfo` is libpq's connection string or URI. Connects to the first server in it that accepts
  // writes.
  static absl::StatusOr<std::unique_ptr<Postgres>> Connect(const std::string& conninfo,
                                                           IfLost if_lost);
  ~Postgres() override;
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  absl::StatusOr<std::unique_ptr<PreparedSql>> Prepare(const std::string& sql) override;
  // Runs one or more statements. A COMMIT that the server turned into a rollback is an error.
  absl::Status Execute(const std::string& sql) override;
  // Run one or more statements and return the first row of the last one.
  absl::StatusOr<std::string> QueryText(const std::string& sql) override;
  absl::StatusOr<int64_t> QueryInteger(const std::string& sql) override;
  // Makes all later reads see one moment, whatever others write meanwhile.
  absl::Status BeginReading() {
    return Execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  }
  int ChangedRows() const override { return changed_rows_; }
  absl::StatusOr<int64_t> LastRow() override;

  // Returns "database dtrain on db.example", without user and password.
  const std::string& name() const { return name_; }

 private:
  friend class PostgresStatement;
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  Postgres(pg_conn* connection, IfLost if_lost);

  // Connects if needed, and finishes a statement that is half read.
  absl::Status MakeReady();
  absl::Status SetUp();
  absl::Status Error(const pg_result* result, std::string_view doing) const;
  absl::StatusOr<PostgresResult> Run(const std::string& sql);
  absl::StatusOr<PostgresResult> Ask(const std::string& sql);  // REQUIRES: no statement half read
  // Drops the remaining rows of the statement being read.
  void CutShort();

  std::unique_ptr<pg_conn, Close> connection_;
  const IfLost if_lost_;
  std::string name_;
  int changed_rows_ = 0;
  PostgresStatement* reading_ = nullptr;      // the statement whose rows are arriving
  std::map<std::string, std::string> names_;  // names of the server's prepared statements, by their
                                              // text
};

}  // namespace dt
