#include "coordinator/door/access_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/access_limits.h"
#include "common/files.h"
#include "common/status.h"
#include "coordinator/store/postgres.h"
#include "coordinator/store/sqlite.h"

namespace dt {
namespace {

constexpr int64_t kVersion = 1;
constexpr char kSchema[] =
    "CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, role TEXT "
    "NOT NULL, name TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, "
    "created_by TEXT NOT NULL);"
    // Separate from tokens: an older version that does not know joiners refuses their tokens and
    // keeps working.
    "CREATE TABLE IF NOT EXISTS joins (joiner TEXT PRIMARY KEY, token TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL, who "
    "TEXT NOT NULL, role TEXT NOT NULL, method TEXT NOT NULL, subject TEXT NOT NULL, outcome TEXT "
    "NOT NULL, message TEXT NOT NULL, peer TEXT NOT NULL);";

}  // namespace

std::string AccessPathOf(const std::string& state_dir) { return state_dir + "/access.db"; }

absl::StatusOr<AccessStore> AccessStore::Open(const std::string& state_dir) {
  DT_RETURN_IF_ERROR(MakeFolders(state_dir));
  const std::string path = AccessPathOf(state_dir);
  DT_ASSIGN_OR_RETURN(Database database, Database::Open(path, Access::kReadWrite));
  DT_RETURN_IF_ERROR(database.Execute("PRAGMA synchronous = FULL"));
  DT_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  if (version > kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " was written by a later version of dtcoord; start that one"));
  }
  DT_RETURN_IF_ERROR(database.Execute(kSchema));
  DT_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA user_version = ", kVersion)));
  if (chmod(path.c_str(), 0600) != 0) return SystemError("restrict", path);
  return AccessStore(std::make_unique<Database>(std::move(database)));
}

absl::StatusOr<AccessStore> AccessStore::OpenPostgres(const std::string& conninfo) {
  DT_ASSIGN_OR_RETURN(auto connection, Postgres::Connect(conninfo, Postgres::IfLost::kReconnect));
  DT_RETURN_IF_ERROR(connection->Execute(WithPostgresTypes(kSchema)));
  return AccessStore(std::move(connection));
}

absl::StatusOr<std::vector<StoredToken>> AccessStore::Tokens() {
  DT_ASSIGN_OR_RETURN(
      Statement select,
      Statement::Prepare(*sql_,
                         "SELECT id, hash, role, name, created_ms, expires_ms, created_by, "
                         "COALESCE(joins.token, '') FROM tokens LEFT JOIN joins ON joiner = id "
                         "ORDER BY created_ms, id"));
  std::vector<StoredToken> tokens;
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return tokens;
    StoredToken token;
    token.hash = select.Text(1);
    token.summary.set_id(select.Text(0));
    token.summary.set_role(select.Text(2));
    token.summary.set_name(select.Text(3));
    token.summary.set_created_wall_ms(select.Integer(4));
    token.summary.set_expires_wall_ms(select.Integer(5));
    token.summary.set_created_by(select.Text(6));
    token.summary.set_used_for(select.Text(7));
    tokens.push_back(std::move(token));
  }
}

template <typename Act>
absl::Status AccessStore::InOneTransaction(Act act) {
  DT_RETURN_IF_ERROR(sql_->Execute("BEGIN"));
  absl::Status status = act();
  if (status.ok()) status = sql_->Execute("COMMIT");
  if (!status.ok()) sql_->Execute("ROLLBACK").IgnoreError();
  return status;
}

absl::Status AccessStore::Put(const StoredToken& token) {
  DT_ASSIGN_OR_RETURN(Statement insert,
                      Statement::Prepare(*sql_, "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)"));
  const v1::TokenSummary& of = token.summary;
  insert.BindText(1, of.id()).BindText(2, token.hash).BindText(3, of.role()).BindText(4, of.name());
  insert.Bind(5, of.created_wall_ms()).Bind(6, of.expires_wall_ms()).BindText(7, of.created_by());
  return insert.Run();
}

absl::Status AccessStore::PutJoined(const StoredToken& token, const std::string& joiner) {
  return InOneTransaction([&]() -> absl::Status {
    DT_RETURN_IF_ERROR(Put(token));
    DT_ASSIGN_OR_RETURN(Statement insert,
                        Statement::Prepare(*sql_, "INSERT INTO joins VALUES (?, ?)"));
    return insert.BindText(1, joiner).BindText(2, token.summary.id()).Run();
  });
}

absl::Status AccessStore::Remove(const std::string& id) {
  return InOneTransaction([&]() -> absl::Status {
    for (const char* from :
         {"DELETE FROM tokens WHERE id = ?", "DELETE FROM joins WHERE joiner = ?"}) {
      DT_ASSIGN_OR_RETURN(Statement remove, Statement::Prepare(*sql_, from));
      DT_RETURN_IF_ERROR(remove.BindText(1, id).Run());
    }
    return absl::OkStatus();
  });
}

absl::Status AccessStore::Append(const std::vector<v1::AuditEntry>& entries) {
  DT_ASSIGN_OR_RETURN(
      Statement insert,
      Statement::Prepare(*sql_,
                         "INSERT INTO audit (wall_ms, who, role, method, subject, outcome, "
                         "message, peer) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  return InOneTransaction([&]() -> absl::Status {
    for (const v1::AuditEntry& one : entries) {
      insert.Bind(1, one.wall_ms()).BindText(2, one.who()).BindText(3, one.role());
      insert.BindText(4, one.method()).BindText(5, one.subject()).BindText(6, one.outcome());
      insert.BindText(7, one.message()).BindText(8, one.peer());
      DT_RETURN_IF_ERROR(insert.Run());
    }
    return sql_->Execute(
        absl::StrCat("DELETE FROM audit WHERE number <= (SELECT MAX(number) FROM audit) - ",
                     limits::kAuditRows));
  });
}

absl::StatusOr<std::vector<v1::AuditEntry>> AccessStore::Audit(uint32_t newest) {
  DT_ASSIGN_OR_RETURN(
      Statement select,
      Statement::Prepare(*sql_,
                         "SELECT wall_ms, who, role, method, subject, outcome, message, peer FROM "
                         "audit ORDER BY number DESC LIMIT ?"));
  select.Bind(1, static_cast<int64_t>(newest));
  std::vector<v1::AuditEntry> entries;
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) break;
    v1::AuditEntry entry;
    entry.set_wall_ms(select.Integer(0));
    entry.set_who(select.Text(1));
    entry.set_role(select.Text(2));
    entry.set_method(select.Text(3));
    entry.set_subject(select.Text(4));
    entry.set_outcome(select.Text(5));
    entry.set_message(select.Text(6));
    entry.set_peer(select.Text(7));
    entries.push_back(std::move(entry));
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

}  // namespace dt
