// sqlite.h: the few SQLite calls the store makes, with Status instead of result codes.
//
// Threads:   thread-compatible; a connection belongs to one thread at a time.
// Errors:    DataLoss for a damaged file or one that is no database, ResourceExhausted for a full
//            disk, Unavailable for the rest; the message names the file and SQLite's error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/sql.h"

struct sqlite3;

namespace dt {

// Returns whether a write-ahead log lies beside the file.
bool HasLog(const std::string& path);

enum class Access {
  kReadWrite,
  kReadOnly,
  kOffline,  // no other process has the file: nothing is created or changed, in its folder neither
};

class Database final : public Connection {
 public:
  // Opens the file (kReadWrite creates it) and hardens the connection: no code from the schema, no
  // writes past the API, lower limits.
  static absl::StatusOr<Database> Open(const std::string& path, Access access);

  absl::StatusOr<std::unique_ptr<PreparedSql>> Prepare(const std::string& sql) override;
  absl::Status Execute(const std::string& sql) override;
  absl::StatusOr<std::string> QueryText(const std::string& sql) override;
  absl::StatusOr<int64_t> QueryInteger(const std::string& sql) override;
  int ChangedRows() const override;
  absl::StatusOr<int64_t> LastRow() override;
  // Returns the message of the last failed call on this connection.
  absl::Status LastError(std::string_view doing) const;
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace dt
