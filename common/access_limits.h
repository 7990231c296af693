// access_limits.h: bounds of tokens and of the record of who did what, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dt::limits {

// A person, a script or a host each; all are looked at when the coordinator starts.
inline constexpr size_t kTokens = 10'000;
// Long enough to start a worker by hand, and too short for what lies about in a chat.
inline constexpr int64_t kJoinSeconds = 15 * 60;
// A host that is installed over night.
inline constexpr int64_t kJoinSecondsMax = 24 * 3600;
// Some 3 MB on disk: months of people's acts. The oldest go.
inline constexpr int64_t kAuditRows = 10'000;
// One page of `dtctl get audit` fits a control message.
inline constexpr uint32_t kAuditPage = 1'000;
// Bounds of slots: a user or a team each, all walked over where one is set.
inline constexpr size_t kQuotas = 1'000;
// Waiting to be written: a burst of acts while the disk is slow. More are counted, not kept.
inline constexpr size_t kAuditWaiting = 1'000;
// Whoever is refused over and over must not push what people did out of the record.
inline constexpr int kRefusalsAMinute = 20;
// A token has 68 bytes; the file that is named by mistake may be anything.
inline constexpr uint64_t kTokenFileBytes = 4096;
// What a connection may send without beginning a call, whose headers are of 8 KiB at most, and what
// without completing a message, of 8 MiB at most, of a call that is open. Less in a second than
// kQuietBytesReceived is pings and windows.
inline constexpr uint64_t kHeaderBytesReceived = 256 << 10;
inline constexpr uint64_t kCallBytesReceived = 16 << 20;
inline constexpr uint64_t kQuietBytesReceived = 4 << 10;

}  // namespace dt::limits
