// access_store.h: tokens, as hashes, and the audit record. They are in access.db beside the
// journal, or in the journal's PostgreSQL, so that every leader knows them.
//
// Role:    uses a database file or connection of its own. The core decides nothing by tokens or the
//          audit record, so the journal's commits do not wait for them.
// Threads: thread-compatible.
// Errors:  those of sql.h, which name the database.
// Tests:   tests/coordinator/door/door_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/sql.h"
#include "dtrain/v1/access.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

struct StoredToken {
  v1::TokenSummary summary;
  std::string hash;  // SHA-256 of the token, in hex; needs no salt, since a token has 256 random
                     // bits
};

// Returns the path of the database in a state folder.
std::string AccessPathOf(const std::string& state_dir);

class AccessStore {
 public:
  // Creates the file, readable by this user alone.
  static absl::StatusOr<AccessStore> Open(const std::string& state_dir);
  // Creates its tables beside the journal's. `conninfo` is a connection string of libpq.
  static absl::StatusOr<AccessStore> OpenPostgres(const std::string& conninfo);

  absl::StatusOr<std::vector<StoredToken>> Tokens();
  // Put, PutJoined, Remove and Append return once the change is durable.
  absl::Status Put(const StoredToken& token);
  // Stores the token and marks the token with id `joiner` as used for it, in one transaction.
  absl::Status PutJoined(const StoredToken& token, const std::string& joiner);
  absl::Status Remove(const std::string& id);
  // Appends in one transaction. Drops the oldest rows beyond limits::kAuditRows.
  absl::Status Append(const std::vector<v1::AuditEntry>& entries);
  // Returns the `newest` entries, oldest first.
  absl::StatusOr<std::vector<v1::AuditEntry>> Audit(uint32_t newest);

 private:
  explicit AccessStore(std::unique_ptr<Connection> sql) : sql_(std::move(sql)) {}
  template <typename Act>
  absl::Status InOneTransaction(Act act);

  std::unique_ptr<Connection> sql_;
};

}  // namespace dt
