// sqlite.cc: opens and hardens connections; binds, steps and reads statements.
#include "coordinator/store/sqlite.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/status.h"

namespace dt {
namespace {

// Returns whether the file or its log has reached this process's limit on file sizes. SQLite
// reports a full disk, but not this limit.
bool IsAtSizeLimit(const std::string& path) {
  constexpr uint64_t kOneWrite = 64 << 10;  // a page and the bytes written with it
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  for (const char* suffix : {"", "-wal"}) {
    struct stat found {};
    if (stat((path + suffix).c_str(), &found) == 0 &&
        static_cast<uint64_t>(found.st_size) + kOneWrite > limit.rlim_cur) {
      return true;
    }
  }
  return false;
}

absl::Status MakeError(sqlite3* handle, const std::string& path, std::string_view doing) {
  const int code = handle == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: ", sqlite3_errmsg(handle)));
  }
  const std::string message =
      absl::StrCat(path, ": ", std::string(doing), ": ",
                   handle == nullptr ? "no memory" : sqlite3_errmsg(handle), " (SQLite ",
                   handle == nullptr ? code : sqlite3_extended_errcode(handle), ")");
  if (code == SQLITE_FULL) return absl::ResourceExhaustedError(message);
  if ((code & 0xff) == SQLITE_IOERR && IsAtSizeLimit(path)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(message,
                     ": the file has reached its size limit; raise the limit (ulimit -f, "
                     "LimitFSIZE), or use another file system"));
  }
  return absl::UnavailableError(message);
}

// Returns a URI that opens the file without writing anything, wherever it lies. Without a log
// beside it, the file is read as immutable; otherwise without locks, so that the log's index is in
// memory (KeepOutOfTheFolder).
std::string OfflineUri(const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    absl::StrAppend(&escaped, c == '%'   ? "%25"
                              : c == '?' ? "%3f"
                              : c == '#' ? "%23"
                                         : std::string(1, c));
  }
  return absl::StrCat("file:", escaped, HasLog(path) ? "?vfs=unix-none" : "?immutable=1");
}

// Keeps the log's index in memory instead of beside the file, and leaves the log unchanged at the
// end.
absl::Status KeepOutOfTheFolder(Database& database) {
  if (sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr) !=
      SQLITE_OK) {
    return database.LastError("configuring the connection");
  }
  return database.Execute("PRAGMA locking_mode = EXCLUSIVE;");
}

constexpr int kStatementBytesMax = 16 << 10;

absl::Status Harden(Database& database) {
  sqlite3* handle = database.handle();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, limits::kStoredValueBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, kStatementBytesMax);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  for (const auto& [option, value] :
       std::initializer_list<std::pair<int, int>>{{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                  {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                  {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
                                                  {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}}) {
    if (sqlite3_db_config(handle, option, value, nullptr) != SQLITE_OK) {
      return database.LastError("configuring the connection");
    }
  }
  return database.Execute("PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;");
}

class SqlitePrepared final : public PreparedSql {
 public:
  explicit SqlitePrepared(sqlite3_stmt* statement) : statement_(statement) {}
  ~SqlitePrepared() override { sqlite3_finalize(statement_); }
  SqlitePrepared(const SqlitePrepared&) = delete;
  SqlitePrepared& operator=(const SqlitePrepared&) = delete;

  void Bind(int position, int64_t value) override {
    DT_CHECK(sqlite3_bind_int64(statement_, position, value) == SQLITE_OK);
  }
  void BindText(int position, std::string_view value) override {
    DT_CHECK(sqlite3_bind_text64(statement_, position, value.data(), value.size(), SQLITE_STATIC,
                                 SQLITE_UTF8) == SQLITE_OK);
  }
  void BindBlob(int position, std::string_view value) override {
    // A null pointer would mean NULL; an empty blob is not NULL.
    const char* data = value.empty() ? "" : value.data();
    DT_CHECK(sqlite3_bind_blob64(statement_, position, data, value.size(), SQLITE_STATIC) ==
             SQLITE_OK);
  }
  absl::StatusOr<bool> Step() override {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    sqlite3* handle = sqlite3_db_handle(statement_);
    const char* path = sqlite3_db_filename(handle, "main");
    return MakeError(handle, path == nullptr ? "database" : path, sqlite3_sql(statement_));
  }
  void Reset() override {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  int64_t Integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  std::string_view Blob(int column) const override {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return {static_cast<const char*>(data == nullptr ? "" : data), static_cast<size_t>(size)};
  }
  ColumnKind Kind(int column) const override {
    const int type = sqlite3_column_type(statement_, column);
    if (type == SQLITE_INTEGER) return ColumnKind::kInteger;
    return type == SQLITE_TEXT ? ColumnKind::kText : ColumnKind::kBlob;
  }

 private:
  sqlite3_stmt* const statement_;
};

}  // namespace

bool HasLog(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path + "-wal", error);
  return !error && bytes > 0;
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

absl::StatusOr<Database> Database::Open(const std::string& path, Access access) {
  sqlite3* handle = nullptr;
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= access == Access::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                        : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  const std::string name = access == Access::kOffline ? OfflineUri(path) : path;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  Database database(path, handle);
  if (code != SQLITE_OK) return MakeError(handle, path, "opening");
  if (access == Access::kOffline) DT_RETURN_IF_ERROR(KeepOutOfTheFolder(database));
  DT_RETURN_IF_ERROR(Harden(database));
  return database;
}

absl::Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return LastError(sql);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Database::QueryText(const std::string& sql) {
  auto statement = Statement::Prepare(*this, sql);
  if (!statement.ok()) return statement.status();
  auto row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError(absl::StrCat(path_, ": no row for ", sql));
  return statement->Text(0);
}

absl::StatusOr<int64_t> Database::QueryInteger(const std::string& sql) {
  DT_ASSIGN_OR_RETURN(const std::string text, QueryText(sql));
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  return absl::DataLossError(
      absl::StrCat(path_, " is damaged: ", sql, " gives '", text, "', which is not a number"));
}

absl::Status Database::LastError(std::string_view doing) const {
  return MakeError(handle_.get(), path_, doing);
}

absl::StatusOr<std::unique_ptr<PreparedSql>> Database::Prepare(const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &prepared,
                         nullptr) != SQLITE_OK) {
    return LastError(sql);
  }
  return std::make_unique<SqlitePrepared>(prepared);
}

int Database::ChangedRows() const { return sqlite3_changes(handle_.get()); }

absl::StatusOr<int64_t> Database::LastRow() { return sqlite3_last_insert_rowid(handle_.get()); }

}  // namespace dt
