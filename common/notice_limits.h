// notice_limits.h: bounds of what receivers are told over HTTP, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace dt::limits {

// Addresses of hooks with their tokens have some hundreds.
inline constexpr size_t kReceiverUrlBytes = 1024;
// A key that notices are signed with: 128 bits at least, as text.
inline constexpr size_t kNotifyKeyBytesMin = 16;
inline constexpr size_t kNotifyKeyBytesMax = 1024;
// Notices that wait, of all receivers: a few MiB of memory and of each snapshot. More are dropped.
inline constexpr size_t kNoticesWaiting = 4096;
// Notices of one receiver that wait, so that a dead one keeps nobody else's out.
inline constexpr size_t kNoticesPerReceiver = 256;
// Texts of a notice that come from elsewhere: a page of a chat, not a log.
inline constexpr size_t kNoticeTextBytes = 1024;

// Receivers that are told at once, and those of one host.
inline constexpr size_t kNotifyTransfers = 16;
inline constexpr size_t kNotifyTransfersPerHost = 4;
// From looking up its name to the end of its answer.
inline constexpr absl::Duration kNotifyTimeout = absl::Seconds(10);
// An answer's head and body, which are dropped; who sends more is cut off.
inline constexpr size_t kNotifyAnswerBytes = 64 << 10;
// A receiver that takes nothing is tried again after so long, four times as long each time.
inline constexpr absl::Duration kNotifyRetryFirst = absl::Seconds(2);
inline constexpr absl::Duration kNotifyRetryMost = absl::Minutes(10);
// A notice that is older when its receiver fails again is given up: old news help nobody.
inline constexpr absl::Duration kNoticeAge = absl::Hours(2);

// A trial that trains and makes no step for so long has stalled, as the alert has it.
inline constexpr absl::Duration kStalled = absl::Minutes(15);

}  // namespace dt::limits
