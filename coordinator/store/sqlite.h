// sqlite.h: the few SQLite calls the store makes, with Status instead of result codes.
//
// Ownership: a Statement borrows its Database, which must outlive it. Bound text and blobs are
//            borrowed until Reset or Run.
// Threads:   thread-compatible; a connection belongs to one thread at a time.
// Errors:    DataLoss for a damaged file or one that is no database, ResourceExhausted for a full
//            disk, Unavailable for the rest; the message names the file and what SQLite says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dt {

// Whether a write-ahead log lies beside the file.
bool HasLog(const std::string& path);

enum class Access {
  kReadWrite,
  kReadOnly,
  kOffline,  // nobody else has the file: nothing is made or changed, in its folder neither
};

class Database {
 public:
  // Opens, or with kReadWrite creates, the file and hardens the connection: no code from the
  // schema, no writes past the API, lowered limits.
  static absl::StatusOr<Database> Open(const std::string& path, Access access);

  absl::Status Execute(const std::string& sql);
  // The first column of the first row; NotFound when there is none.
  absl::StatusOr<std::string> QueryText(const std::string& sql);
  absl::StatusOr<int64_t> QueryInteger(const std::string& sql);
  // What the last failing call on this connection says.
  absl::Status LastError(std::string_view doing) const;
  // By the last statement that changed something.
  int ChangedRows() const;
  int64_t LastRow() const;  // that was inserted
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// A prepared statement, kept for reuse.
class Statement {
 public:
  Statement() = default;
  static absl::StatusOr<Statement> Prepare(const Database& database, const std::string& sql);

  // Positions count from 1.
  Statement& Bind(int position, int64_t value);
  Statement& BindText(int position, std::string_view value);
  Statement& BindBlob(int position, std::string_view value);

  // True: a row is there. False: done.
  absl::StatusOr<bool> Step();
  // Runs a statement that yields no rows, and resets it.
  absl::Status Run();
  void Reset();

  // Columns count from 0; views hold until the next Step or Reset.
  int64_t Integer(int column) const;
  std::string Text(int column) const { return std::string(Blob(column)); }
  std::string_view Blob(int column) const;
  // The Checksum of `count` columns from `first` on.
  int64_t ChecksumOf(int first, int count) const;
  // Binds the value of another statement's column.
  Statement& BindColumn(int position, const Statement& from, int column);

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace dt
