// access_limits.h: bounds of tokens and of the record of who did what, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dt::limits {

// A token stands for a person, a script or a host. All are looked at when the coordinator starts.
inline constexpr size_t kTokens = 10'000;
// Long enough to start a worker by hand; too short to be of use to someone who finds it in a chat.
inline constexpr int64_t kJoinSeconds = 15 * 60;
// Long enough for a host that is installed overnight.
inline constexpr int64_t kJoinSecondsMax = 24 * 3600;
// Some 3 MB on disk, which is months of people's acts. The oldest rows are dropped.
inline constexpr int64_t kAuditRows = 10'000;
// A page of `dtctl get audit` fits a control message.
inline constexpr uint32_t kAuditPage = 1'000;
// Bounds on slots, one for each user or team. Wherever one is set, all are walked over.
inline constexpr size_t kQuotas = 1'000;
// Rows waiting to be written: a burst of acts while the disk is slow. More are counted, not kept.
inline constexpr size_t kAuditWaiting = 1'000;
// A caller who is refused over and over must not push people's acts out of the record.
inline constexpr int kRefusalsAMinute = 20;
// A token has 68 bytes; a file named by mistake may hold anything.
inline constexpr uint64_t kTokenFileBytes = 4096;
// Bytes that a connection may send without beginning a call, whose headers have 8 KiB at most, and
// bytes that an open call may send without completing a message, which has 8 MiB at most. Less than
// kQuietBytesReceived in a second is pings and window updates.
inline constexpr uint64_t kHeaderBytesReceived = 256 << 10;
inline constexpr uint64_t kCallBytesReceived = 16 << 20;
inline constexpr uint64_t kQuietBytesReceived = 4 << 10;

}  // namespace dt::limits
