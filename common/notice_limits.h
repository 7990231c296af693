// notice_limits.h: bounds on the notices that receivers get over HTTP, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace dt::limits {

// Addresses of webhooks have some hundreds of bytes with their tokens.
inline constexpr size_t kReceiverUrlBytes = 1024;
// A key that signs notices: 128 bits at least, as text.
inline constexpr size_t kNotifyKeyBytesMin = 16;
inline constexpr size_t kNotifyKeyBytesMax = 1024;
// Waiting notices of all receivers: a few MiB of memory and of each snapshot. More are dropped.
inline constexpr size_t kNoticesWaiting = 4096;
// Waiting notices of one receiver, so that a dead one keeps no other's out.
inline constexpr size_t kNoticesPerReceiver = 256;
// Texts in a notice that come from elsewhere: a page of a chat, not a log.
inline constexpr size_t kNoticeTextBytes = 1024;

// Transfers at once, to all receivers and to one host.
inline constexpr size_t kNotifyTransfers = 16;
inline constexpr size_t kNotifyTransfersPerHost = 4;
// From the lookup of its name to the end of its answer.
inline constexpr absl::Duration kNotifyTimeout = absl::Seconds(10);
// An answer's head and body, which are dropped; a receiver that sends more is cut off.
inline constexpr size_t kNotifyAnswerBytes = 64 << 10;
// Pause before a receiver that takes nothing is tried again, four times as long each time.
inline constexpr absl::Duration kNotifyRetryFirst = absl::Seconds(2);
inline constexpr absl::Duration kNotifyRetryMost = absl::Minutes(10);
// A notice older than this is given up when its receiver fails again: old news helps nobody.
inline constexpr absl::Duration kNoticeAge = absl::Hours(2);

// A trial that trains but makes no step for this long has stalled, by the same bound as the alert.
inline constexpr absl::Duration kStalled = absl::Minutes(15);

}  // namespace dt::limits
