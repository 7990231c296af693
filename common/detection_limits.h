// detection_limits.h: bounds of what counts as lost, hung or cut off, each with its reason.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace dt::limits {

// Silence after which a worker counts as lost if its round trip is measured and other hosts are
// heard; otherwise it has kLease. Two heartbeats may be lost, and a third may be late.
inline constexpr absl::Duration kSilenceLeast = absl::Seconds(3);
// Another host counts as heard if it reported within this time: a heartbeat and a half. Not two: if
// the coordinator's own network fails, the hosts' last heartbeats come up to one heartbeat apart.
inline constexpr absl::Duration kOthersHeard = absl::Milliseconds(1500);
// A worker whose stream closed, and that is not back by then, has ended: it connects again after
// kReconnectFirst. Longer if some round trips take longer.
inline constexpr absl::Duration kClosedPatience = absl::Seconds(1);
// How often orders that leave anyway measure the round trip to a worker.
inline constexpr absl::Duration kPingEvery = absl::Seconds(5);
// Time in which the ranks of a gang meet if its hosts reached each other before; otherwise they
// have kRendezvousTimeout.
inline constexpr absl::Duration kRendezvousAgain = absl::Seconds(20);
// A running gang without a step for the larger of this and 20 × its longest step is hung. CPU steps
// of a large model take minutes; evaluation and checkpoints count as progress.
inline constexpr absl::Duration kHangFloor = absl::Minutes(10);
// The same, once its own steps have shown how long a step takes, and while no rank reports longer
// work. A dead host counts as lost before.
inline constexpr absl::Duration kHangLeast = absl::Seconds(10);
// The same while a rank evaluates or saves, once it has shown how long that takes. A file server
// that fails over lets its clients wait for 90 s.
inline constexpr absl::Duration kLongWorkLeast = absl::Minutes(2);
// A host that answers none of so many connections within this time is not reached. The kernel sends
// a lost first packet of each again after a second.
inline constexpr int kPeerConnections = 3;
inline constexpr absl::Duration kPeerAnswers = absl::Seconds(2);
// How long the coordinator waits for what the hosts of a gang say of each other.
inline constexpr absl::Duration kPeersAsked = absl::Milliseconds(2500);
// Addresses in one question. In a gang on more hosts, each is asked for the first ones.
inline constexpr int kPeersPerCheck = 64;
// A worker whose gang goes on stepping is alive even if the coordinator hears nothing from it. This
// bounds how long, since nobody could stop such a worker.
inline constexpr absl::Duration kGangLease = absl::Minutes(5);
// How long to wait for a stream that closed while a peer's collective failed: after a brief break
// the connection is back after kReconnectFirst.
inline constexpr absl::Duration kEvidenceGrace = absl::Milliseconds(500);
// Two hosts that did not reach each other are kept apart this long if others are free, then tried
// again. Pairs beyond this number are forgotten. In a gang on more hosts than kApartHosts nobody
// can tell which pair failed.
inline constexpr absl::Duration kApart = absl::Minutes(10);
inline constexpr size_t kApartPairs = 1024;
inline constexpr size_t kApartHosts = 8;
// Pairs of hosts that are known to reach each other; of more, the newest are not remembered.
inline constexpr size_t kMetPairs = 4096;
// A choice of slots that avoids a pair is tried with one host less, then another, to this depth.
inline constexpr int kApartTries = 3;

}  // namespace dt::limits
