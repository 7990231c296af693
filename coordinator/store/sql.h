// sql.h: the store's interface to any database.
//
// Role:      statements that SQLite and PostgreSQL both understand, with `?` or `?2` for bound
//            values. The tables' code above this is the same for both.
// Ownership: a Statement borrows its Connection, which must outlive it. Bound text and blobs are
//            borrowed until Reset or Run.
// Threads:   thread-compatible; a connection belongs to one thread at a time.
// Errors:    DataLoss for a damaged database, ResourceExhausted for a full disk, Unavailable for
//            the rest; the message names the database and its error.
// Tests:     tests/coordinator/store/store_test.cc, on both
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dt {

enum class ColumnKind { kInteger, kText, kBlob };

// A prepared statement of a connection. Positions count from 1, columns from 0.
class PreparedSql {
 public:
  virtual ~PreparedSql() = default;
  virtual void Bind(int position, int64_t value) = 0;
  virtual void BindText(int position, std::string_view value) = 0;
  virtual void BindBlob(int position, std::string_view value) = 0;
  // Returns true if there is a row, false at the end.
  virtual absl::StatusOr<bool> Step() = 0;
  virtual void Reset() = 0;
  virtual int64_t Integer(int column) const = 0;  // 0 for NULL
  virtual std::string_view Blob(int column) const = 0;
  virtual ColumnKind Kind(int column) const = 0;
};

class Connection {
 public:
  virtual ~Connection() = default;
  virtual absl::StatusOr<std::unique_ptr<PreparedSql>> Prepare(const std::string& sql) = 0;
  virtual absl::Status Execute(const std::string& sql) = 0;
  // Returns the first column of the first row; NotFound if there is none.
  virtual absl::StatusOr<std::string> QueryText(const std::string& sql) = 0;
  virtual absl::StatusOr<int64_t> QueryInteger(const std::string& sql) = 0;
  // Returns the number of rows changed by the last Execute that changed any.
  virtual int ChangedRows() const = 0;
  // Returns the number of the row inserted last.
  virtual absl::StatusOr<int64_t> LastRow() = 0;
};

// A prepared statement, kept for reuse.
class Statement {
 public:
  Statement() = default;
  static absl::StatusOr<Statement> Prepare(Connection& connection, const std::string& sql);

  Statement& Bind(int position, int64_t value) {
    prepared_->Bind(position, value);
    return *this;
  }
  Statement& BindText(int position, std::string_view value) {
    prepared_->BindText(position, value);
    return *this;
  }
  Statement& BindBlob(int position, std::string_view value) {
    prepared_->BindBlob(position, value);
    return *this;
  }
  // Binds the value of another statement's column, valid until that statement's next Step or Reset.
  Statement& BindColumn(int position, const Statement& from, int column);

  absl::StatusOr<bool> Step() { return prepared_->Step(); }
  // Runs a statement without rows, and resets it.
  absl::Status Run();
  void Reset() { prepared_->Reset(); }

  // Views are valid until the next Step or Reset.
  int64_t Integer(int column) const { return prepared_->Integer(column); }
  std::string Text(int column) const { return std::string(Blob(column)); }
  std::string_view Blob(int column) const { return prepared_->Blob(column); }
  // Returns the Checksum of `count` columns, starting at `first`.
  int64_t ChecksumOf(int first, int count) const;

 private:
  std::unique_ptr<PreparedSql> prepared_;
};

}  // namespace dt
