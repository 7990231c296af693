// lead_limits.h: how coordinators that share a database take turns.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace dt::limits {

// A leader says that it lives so often: a statement that reads one row.
inline constexpr absl::Duration kLeaderBeat = absl::Seconds(1);
// A leader's connection through which nothing came for so long is ended: five beats, so that no
// hiccup of a busy machine costs a leader its place, and half of the ten seconds in which another
// serves.
inline constexpr absl::Duration kLeaderSilence = absl::Seconds(5);
// A leader that has heard nothing of its database for so long says that it is not ready, and gives
// no answer before it has heard again: another may lead from kLeaderSilence on. Counted from when a
// statement was sent that was answered, which is before the server counts from; the second between
// the two is for an answer on its way and for who looks at readiness.
inline constexpr absl::Duration kLeadDoubt = absl::Seconds(4);
// A standby looks so often: what a leader's death costs at most, beside reading the journal.
inline constexpr absl::Duration kStandbyLook = absl::Milliseconds(250);
// A file with a connection string: the longest that libpq's words make sense in, and then some.
inline constexpr size_t kConnectionFileBytes = 4096;

// Addresses of coordinators in one flag: a leader, its standby, and some to move to.
inline constexpr size_t kCoordinatorAddresses = 8;
// With several addresses a worker that found none of them serving rests no longer than this before
// the next round: a lease of ten seconds begins when a standby takes over, and a round may hold one
// host that is gone without a word, which costs five.
inline constexpr absl::Duration kReconnectMaxOfSeveral = absl::Seconds(2);
// A call to several addresses, one of which said that it is a standby, goes round until one of them
// leads, for as long as that takes with some seconds to read the journal.
inline constexpr absl::Duration kTakeoverPatience = absl::Seconds(15);
inline constexpr absl::Duration kTakeoverPoll = absl::Milliseconds(250);

}  // namespace dt::limits
