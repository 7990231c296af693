// lead_limits.h: how coordinators that share a database take turns.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace dt::limits {

// How often a leader states that it lives: a statement that reads one row.
inline constexpr absl::Duration kLeaderBeat = absl::Seconds(1);
// Silence after which a leader's connection is ended: five beats, so that no hiccup of a busy
// machine costs a leader its place, and half of the ten seconds within which another serves.
inline constexpr absl::Duration kLeaderSilence = absl::Seconds(5);
// Silence of its database after which a leader reports that it is not ready, and gives no answer
// before it hears from it again: from kLeaderSilence on another may lead. It counts from when an
// answered statement was sent, which is before the server begins to count. The second between the
// two bounds is for an answer on its way and for the readiness check.
inline constexpr absl::Duration kLeadDoubt = absl::Seconds(4);
// How often a standby looks: the most that a leader's death costs, besides reading the journal.
inline constexpr absl::Duration kStandbyLook = absl::Milliseconds(250);
// A file with a connection string: longer than any sensible set of libpq's options.
inline constexpr size_t kConnectionFileBytes = 4096;

// Addresses of coordinators in one flag: a leader, its standby, and some to move to.
inline constexpr size_t kCoordinatorAddresses = 8;
// With several addresses, a worker that found none of them serving waits no longer than this before
// the next round. A standby takes over within a lease of ten seconds, and a round may include one
// dead host, which costs five.
inline constexpr absl::Duration kReconnectMaxOfSeveral = absl::Seconds(2);
// A call to several addresses, one of which answered that it is a standby, tries them in turn until
// one leads: as long as a takeover lasts, with some seconds to read the journal.
inline constexpr absl::Duration kTakeoverPatience = absl::Seconds(15);
inline constexpr absl::Duration kTakeoverPoll = absl::Milliseconds(250);

}  // namespace dt::limits
