#include "coordinator/store/candidate.h"

#include "absl/strings/str_cat.h"
#include "common/lead_limits.h"
#include "common/status.h"
#include "coordinator/store/schema.h"

namespace dt {
namespace {

// Two numbers, so that another program is unlikely to choose the same lock.
std::string LockKey() { return absl::StrCat(kApplicationId, ", 1"); }

// Returns a query about the leader's connection: its server process, its name, a text that changes
// with each statement, and whether the server is working for it. If it is, the server is slow, not
// the leader. A server that waits for a client, such as one that does not take its answer, is not
// working.
std::string FindLeader() {
  return absl::StrCat(
      "SELECT l.pid, a.application_name, concat_ws(' ', a.backend_start, a.query_start, "
      "a.state_change), a.state = 'active' AND coalesce(a.wait_event_type, '') <> 'Client' "
      "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND "
      "l.granted AND l.objsubid = 2 AND l.classid = ",
      kApplicationId,
      " AND l.objid = 1 AND "
      "l.database = (SELECT oid FROM pg_database WHERE datname = current_database())");
}

}  // namespace

absl::StatusOr<bool> Candidate::Look(absl::Duration now) {
  auto leads = TryLock();
  if (leads.ok() && !*leads) {
    if (absl::Status watched = WatchLeader(now); !watched.ok()) leads = watched;
  }
  if (!leads.ok()) connection_.reset();
  return leads;
}

absl::StatusOr<bool> Candidate::TryLock() {
  if (connection_ == nullptr) {
    DT_ASSIGN_OR_RETURN(connection_, Postgres::Connect(conninfo_, Postgres::IfLost::kFail));
    DT_ASSIGN_OR_RETURN(Statement name, Statement::Prepare(*connection_,
                                                           "SELECT set_config('application_name', "
                                                           "convert_from(?, 'UTF8'), false)"));
    DT_RETURN_IF_ERROR(name.BindText(1, self_).Run());
  }
  DT_ASSIGN_OR_RETURN(const int64_t locked, connection_->QueryInteger(absl::StrCat(
                                                "SELECT pg_try_advisory_lock(", LockKey(), ")")));
  return locked != 0;
}

absl::Status Candidate::WatchLeader(absl::Duration now) {
  DT_ASSIGN_OR_RETURN(Statement find, Statement::Prepare(*connection_, FindLeader()));
  DT_ASSIGN_OR_RETURN(const bool found, find.Step());
  if (!found) return absl::OkStatus();  // the leader's connection ended meanwhile
  const int64_t pid = find.Integer(0);
  const bool works = find.Integer(3) != 0;
  std::string seen = absl::StrCat(pid, " ", find.Text(2));
  leader_ = find.Text(1);
  if (seen != seen_ || works) {
    seen_ = std::move(seen);
    since_ = now;
    return absl::OkStatus();
  }
  if (now - since_ < limits::kLeaderSilence) return absl::OkStatus();
  since_ = now;
  find.Reset();
  return connection_->QueryInteger(absl::StrCat("SELECT pg_terminate_backend(", pid, ")")).status();
}

}  // namespace dt
