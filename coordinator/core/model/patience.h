// patience.h: how long the coordinator waits for a sign of life, by what a worker and its gang have
// shown of themselves. Every limit of detection is made here; silence.h and live.h say from when it
// counts.
//
// Role:  pure: a value in, a value out.
// Tests: tests/coordinator/core/patience_test.cc, a table
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "common/detection_limits.h"
#include "common/limits.h"

namespace dt {

// Work of a gang between two steps, as its ranks announce it.
enum class Work : uint8_t {
  kUnannounced,  // an older worker does not say when it does something longer than a step
  kFirstStep,    // compiles, and makes its first step
  kSteps,
  kEvaluates,  // counts parts of an evaluation
  kPauses,     // saves, rolls back, or evaluates without counting
};

struct Signs {
  // Signs of the worker.
  absl::Duration lease = limits::kLease;
  std::optional<absl::Duration> round_trip;  // nullopt: not measured
  absl::Duration longest_silence;            // between two of its reports, of late
  // Signs of its gang. Zero: not shown yet.
  Work work = Work::kUnannounced;
  absl::Duration first_step;    // with everything before it
  absl::Duration longest_step;  // of the others
  absl::Duration longest_gap;   // between two signs of progress
  absl::Duration longest_part;  // of an evaluation
  absl::Duration longest_pause;
  absl::Duration longest_save;  // of a checkpoint, which may be written beside the steps
  bool met = false;             // its hosts are known to reach each other
};

struct Patience {
  absl::Duration closed;      // after the end of a worker's stream
  absl::Duration silence;     // after a worker's last report, while other hosts are heard
  absl::Duration alone;       // the same, while no other host is heard
  absl::Duration standstill;  // after the gang's last step, if one of its workers is not heard
  absl::Duration progress;    // after the gang's last sign of progress
  absl::Duration rendezvous;  // after all ranks were prepared
};

Patience PatienceOf(const Signs& signs);

}  // namespace dt
