// metric_limits.h: bounds of what is read of a program's output and files, each with its reason.
#pragma once

#include <cstddef>

namespace dt::limits {

// `metrics` of a program. A person writes a pattern by hand, and each costs a pass over each line.
inline constexpr int kMetricPatterns = 8;
inline constexpr size_t kMetricPatternBytes = 500;
// A printed line that a pattern is applied to: longer lines are dumps of data.
inline constexpr size_t kMetricLineBytes = 4096;
// Files of metrics that are followed: one per process and purpose, as TensorBoard's writers make
// them. Bytes read from one of them in a turn, so that a large file does not delay a stop.
inline constexpr size_t kMetricFiles = 32;
inline constexpr size_t kMetricReadBytes = 256 << 10;
// A record of TensorBoard's that is read: larger ones hold pictures, and are passed over.
inline constexpr size_t kMetricRecordBytes = 64 << 10;

}  // namespace dt::limits
