// access_store.h: tokens, as hashes, and the audit record, in access.db beside the journal, or in
// the journal's PostgreSQL, so that whoever leads knows them.
//
// Role:    a database or a connection of its own: neither is a fact that the core decides by, and
//          the journal's commits need not wait for them.
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
  std::string hash;  // SHA-256 of the token, hex: it has 256 random bits, so that needs no salt
};

// Where a state folder keeps it.
std::string AccessPathOf(const std::string& state_dir);

class AccessStore {
 public:
  // Makes the file, for this user alone.
  static absl::StatusOr<AccessStore> Open(const std::string& state_dir);
  // Makes its tables beside the journal's. `conninfo` is libpq's.
  static absl::StatusOr<AccessStore> OpenPostgres(const std::string& conninfo);

  absl::StatusOr<std::vector<StoredToken>> Tokens();
  // Durable once they return.
  absl::Status Put(const StoredToken& token);
  // And that the joiner's token of this id was used for it: both or neither.
  absl::Status PutJoined(const StoredToken& token, const std::string& joiner);
  absl::Status Remove(const std::string& id);
  // In one transaction; what is more than limits::kAuditRows goes, the oldest first.
  absl::Status Append(const std::vector<v1::AuditEntry>& entries);
  // The newest, the oldest of them first.
  absl::StatusOr<std::vector<v1::AuditEntry>> Audit(uint32_t newest);

 private:
  explicit AccessStore(std::unique_ptr<Connection> sql) : sql_(std::move(sql)) {}
  template <typename Act>
  absl::Status InOneTransaction(Act act);

  std::unique_ptr<Connection> sql_;
};

}  // namespace dt
