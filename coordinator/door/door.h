// door.h: who a caller is, by the token or the certificate that it shows, and what they may call;
// makes and takes back tokens, and keeps the record of who did what.
//
// Role:      the shell around coordinator/access/: the clock, random bits, the store and a thread.
// Threads:   Admit, StillHolds and Record from any thread, and they wait for no disk. What reads or
//            writes the store is handed to Post, and runs on the thread that this owns.
// Errors:    Unauthenticated where nothing that holds is shown, PermissionDenied where the role is
//            missing; both say how to get it. Nothing of a token is in any message.
// Invariant: a token that is made or taken back is durable before the answer. An act is recorded
//            once it was answered: a power cut may take the last of them.
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

// What a call brings along.
struct Shown {
  std::string authorization;  // "Bearer dtr_…", or over HTTP "Basic …"; "": none
  std::vector<std::string> alternative_names;  // of its certificate
  std::string peer;
};

class Door {
 public:
  // Borrows the clock. Where no admin's token holds, makes one and leaves it in the file
  // <state_dir>/admin.token, which this user alone may read.
  static absl::StatusOr<std::unique_ptr<Door>> Open(const std::string& state_dir,
                                                    const Clock& clock);
  // With tokens and record in this store.
  static absl::StatusOr<std::unique_ptr<Door>> OpenWith(AccessStore store,
                                                        const std::string& state_dir,
                                                        const Clock& clock);
  // Does what was accepted and ends.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  absl::StatusOr<Caller> Admit(std::string_view method, const Shown& shown);
  // False once the token that the caller came in by was taken back or has run out.
  bool StillHolds(const Caller& caller) const;
  // Keeps what an admitted call came to, where the table says that it is kept.
  void Record(const Caller& caller, std::string_view method, std::string_view subject,
              const absl::Status& end, const std::string& peer);

  using Work = std::function<void()>;
  // False when too much waits.
  [[nodiscard]] bool Post(Work work) { return works_.Post(std::move(work), PostClass::kControl); }
  // ---- within Post ----
  // Asked again with the same hash by the same caller, it answers the same and makes no other.
  absl::StatusOr<v1::CreateTokenResponse> Create(const v1::CreateTokenRequest& request,
                                                 const std::string& by);
  // For the holder of a joiner's token, once: the token that has this hash becomes a worker's.
  absl::StatusOr<v1::JoinResponse> Join(const v1::JoinRequest& request, const Caller& joiner);
  v1::ListTokensResponse List() const;
  absl::StatusOr<v1::RevokeTokenResponse> Revoke(const v1::RevokeTokenRequest& request);
  absl::StatusOr<v1::ListAuditResponse> Audit(const v1::ListAuditRequest& request);

  // Another token of an admin into <state_dir>/admin.token. REQUIRES: no call is under way.
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
  // The token of this hash as it was made before, where it is the same.
  absl::StatusOr<std::optional<v1::TokenSummary>> FindMade(const StoredToken& token) const;
  void RecordRefusal(v1::AuditEntry entry);
  void Keep(v1::AuditEntry entry);

  const std::string state_dir_;
  const Clock& clock_;
  AccessStore store_;  // of the thread, once that runs
  Mailbox<Work> works_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, StoredToken> tokens_ ABSL_GUARDED_BY(mutex_);  // by hash
  absl::flat_hash_map<std::string, std::string> hashes_ ABSL_GUARDED_BY(mutex_);  // by id
  absl::Duration minute_began_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  int refusals_ ABSL_GUARDED_BY(mutex_) = 0;  // in that minute
  int left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // of them
  std::thread thread_;
};

}  // namespace dt
