// postgres.h: the few libpq calls the store makes, with Status instead of result codes.
//
// Role:      one connection. Rows come one by one, so that a long journal needs no memory; numbers
//            and bytes as they are, in binary. Text is kept as bytes: no encoding can refuse it,
//            and no collation orders it.
// Ownership: statements borrow the connection.
// Threads:   thread-compatible; a connection belongs to one thread at a time.
// Errors:    Unavailable for a lost or refused connection and most of what the server says, Aborted
//            for a transaction that it gave up, DataLoss for damaged pages, ResourceExhausted for a
//            full disk. No message has the password.
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

// The definition of tables with this database's types in the place of SQLite's. What is text there
// is bytes here; a whole number that is a key is counted up where none is given.
std::string WithPostgresTypes(const std::string& sql);

struct FreeResult {
  void operator()(pg_result* result) const;
};
using PostgresResult = std::unique_ptr<pg_result, FreeResult>;

class PostgresStatement;

class Postgres final : public Connection {
 public:
  enum class IfLost {
    kFail,       // for good: whoever holds a lock through it has lost that
    kReconnect,  // with the next statement
  };
  // `conninfo` is libpq's connection string or URI. Only a server that takes writes will do: of
  // several in the string, the first such one.
  static absl::StatusOr<std::unique_ptr<Postgres>> Connect(const std::string& conninfo,
                                                           IfLost if_lost);
  ~Postgres() override;
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  absl::StatusOr<std::unique_ptr<PreparedSql>> Prepare(const std::string& sql) override;
  // May be several statements. A COMMIT that the server made a rollback of is an error.
  absl::Status Execute(const std::string& sql) override;
  // Likewise; the first row of the last one.
  absl::StatusOr<std::string> QueryText(const std::string& sql) override;
  absl::StatusOr<int64_t> QueryInteger(const std::string& sql) override;
  // What is read from here on is of one moment, whatever others write meanwhile.
  absl::Status BeginReading() {
    return Execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  }
  int ChangedRows() const override { return changed_rows_; }
  absl::StatusOr<int64_t> LastRow() override;

  // "database dtrain on db.example": without user and password.
  const std::string& name() const { return name_; }

 private:
  friend class PostgresStatement;
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  Postgres(pg_conn* connection, IfLost if_lost);

  // Connected, with no statement half read.
  absl::Status MakeReady();
  absl::Status SetUp();
  absl::Status Error(const pg_result* result, std::string_view doing) const;
  absl::StatusOr<PostgresResult> Run(const std::string& sql);
  absl::StatusOr<PostgresResult> Ask(const std::string& sql);  // REQUIRES: it is ready
  // Gives up what the statement that is being read still has.
  void CutShort();

  std::unique_ptr<pg_conn, Close> connection_;
  const IfLost if_lost_;
  std::string name_;
  int changed_rows_ = 0;
  PostgresStatement* reading_ = nullptr;      // its rows are on their way
  std::map<std::string, std::string> names_;  // of what the server has prepared, by its text
};

}  // namespace dt
