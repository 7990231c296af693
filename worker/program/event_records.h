// event_records.h: reads the scalars of TensorBoard's event files.
//
// Role:   pure. A file is a row of records: the length (8 bytes), its checksum, the bytes of a
//         tensorflow.Event, their checksum. Checksums are CRC-32C, masked. An event is a message of
//         protobuf, of which this reads the step and the scalars of the summary.
// Bounds: a record above limits::kMetricRecordBytes holds a picture, and is passed over. Every
//         length is checked before it is used.
// Source: tensorflow/core/lib/io/record_writer.cc, tensorflow/core/util/event.proto, summary.proto
// Tests:  tests/worker/program/metric_rows_test.cc, tests/fuzz/event_records_fuzz.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::program {

struct ScalarEvent {
  double wall_time = 0;  // seconds
  int64_t step = 0;
  std::string tag;
  double value = 0;
};
struct EventRecords {
  uint64_t used = 0;  // bytes to go on after; may lie beyond the bytes that were given
  std::vector<ScalarEvent> scalars;
  std::string damage;  // why nothing more of the file can be read; "": it is sound
};
// Reads all complete records. `bytes` begin at a record.
EventRecords ReadEventRecords(std::string_view bytes);

}  // namespace dt::program
