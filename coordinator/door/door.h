// door.h: identifies a caller by its token or certificate and checks which calls it may make. Makes
// and revokes tokens, and keeps the audit record.
//
// Role:      the shell around coordinator/access/: the clock, random bits, the store and a thread.
// Threads:   Admit, StillHolds and Record may be called from any thread; they never wait for the
//            disk. Work that reads or writes the store goes through Post and runs on the thread
//            that Door owns.
// Errors:    Unauthenticated without a valid token or certificate, PermissionDenied without the
//            right role. Both say how to get it. No message contains any part of a token.
// Invariant: creating or revoking a token is durable before the answer. An act is recorded after
//            its answer, so a power cut may lose the last records.
// Tests:     tests/coordinator/door/door_test.cc
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/access_limits.h"
#include "common/clock.h"
#include "common/mailbox.h"
#include "common/mutex.h"
#include "coordinator/access/rights.h"
#include "coordinator/door/access_store.h"

namespace dt {

// The credentials of a call.
struct Shown {
  std::string authorization;  // "Bearer dtr_…", or over HTTP "Basic …"; "": none
  std::vector<std::string> alternative_names;  // in its certificate
  std::string peer;
};

class Door {
 public:
  // Borrows the clock. If no admin's token is valid, makes one and writes it to
  // <state_dir>/admin.token, which only this user may read.
  static absl::StatusOr<std::unique_ptr<Door>> Open(const std::string& state_dir,
                                                    const Clock& clock);
  // Uses this store for tokens and the audit record.
  static absl::StatusOr<std::unique_ptr<Door>> OpenWith(AccessStore store,
                                                        const std::string& state_dir,
                                                        const Clock& clock);
  // Finishes the accepted work and ends the thread.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  absl::StatusOr<Caller> Admit(std::string_view method, const Shown& shown);
  // Returns false once the caller's token was revoked or has expired.
  bool StillHolds(const Caller& caller) const;
  // Records the outcome of an admitted call if the table of rights asks for it.
  void Record(const Caller& caller, std::string_view method, std::string_view subject,
              const absl::Status& end, const std::string& peer);

  using Work = std::function<void()>;
  // Returns false when too much work waits.
  [[nodiscard]] bool Post(Work work) { return works_.Post(std::move(work), PostClass::kControl); }
  // ---- within Post ----
  // Repeating a request with the same hash by the same caller returns the same answer and makes no
  // second token.
  absl::StatusOr<v1::CreateTokenResponse> Create(const v1::CreateTokenRequest& request,
                                                 const std::string& by);
  // Makes the token with this hash a worker's token. Works once for the holder of a joiner's token.
  absl::StatusOr<v1::JoinResponse> Join(const v1::JoinRequest& request, const Caller& joiner);
  v1::ListTokensResponse List() const;
  absl::StatusOr<v1::RevokeTokenResponse> Revoke(const v1::RevokeTokenRequest& request);
  absl::StatusOr<v1::ListAuditResponse> Audit(const v1::ListAuditRequest& request);

  // Writes a new admin's token to <state_dir>/admin.token. REQUIRES: no call is in progress.
  absl::Status LeaveAdminToken();

 private:
  Door(const std::string& state_dir, AccessStore store, const Clock& clock)
      : state_dir_(state_dir),
        clock_(clock),
        store_(std::move(store)),
        works_(limits::kAuditWaiting, 0) {}
  void Run();
  absl::StatusOr<Caller> Identify(const Shown& shown) const;
  bool Holds(const StoredToken& token) const;
  bool AnAdminRemains(const std::vector<std::string>& without) const;
  absl::Status Forget(const std::string& id);
  absl::Status ForgetJoiners();
  absl::Status CheckOneMore() const;
  // Returns the token with this hash if it was made before with the same properties.
  absl::StatusOr<std::optional<v1::TokenSummary>> FindMade(const StoredToken& token) const;
  void RecordRefusal(v1::AuditEntry entry);
  void Keep(v1::AuditEntry entry);

  const std::string state_dir_;
  const Clock& clock_;
  AccessStore store_;  // used by the thread alone once it runs
  Mailbox<Work> works_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, StoredToken> tokens_ ABSL_GUARDED_BY(mutex_);  // by hash
  absl::flat_hash_map<std::string, std::string> hashes_ ABSL_GUARDED_BY(mutex_);  // by id
  absl::Duration minute_began_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  int refusals_ ABSL_GUARDED_BY(mutex_) = 0;  // refused calls in that minute
  int left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // refusals that were not recorded
  std::thread thread_;
};

}  // namespace dt
