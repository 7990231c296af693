// curve_keeper.h: curves of trials from the stored rows, each of which is read once.
//
// Role:      reads the new rows since the last call and adds them to the kept curves. Reads a trial
//            again from its beginning after another attempt, which may supersede rows.
// Threads:   one at a time.
// Errors:    the reader's.
// Invariant: keeps at most limits::kApiCurvesKept curves and kApiPointsKept points; the least
//            recently requested go.
// Tests:     tests/coordinator/api/curve_keeper_test.cc
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/api/curve.h"
#include "coordinator/store/store.h"
#include "spec/step_metrics.h"

namespace dt {

struct CurvesWanted {
  ExperimentId experiment = 0;
  uint32_t trial = 0;
  std::vector<std::string> metrics;  // columns of dtctl metrics, or a program's names
  size_t points = 0;                 // of each curve
  spec::RowSource source = spec::RowSource::kTrainer;
};

struct TrialCurves {
  uint64_t rows = 0;                             // read so far
  bool complete = false;                         // there are no more rows now
  std::vector<std::vector<CurvePoint>> metrics;  // in the order of `metrics`
};

class CurveKeeper {
 public:
  CurveKeeper();
  ~CurveKeeper();
  CurveKeeper(const CurveKeeper&) = delete;
  CurveKeeper& operator=(const CurveKeeper&) = delete;

  // Reads at most `rows_left` rows, and subtracts their number from it. `attempts` is the trial's
  // count of attempts in the core.
  absl::StatusOr<TrialCurves> Read(StoreReader& reader, const CurvesWanted& wanted,
                                   uint32_t attempts, size_t& rows_left);

  size_t kept() const { return kept_.size(); }

 private:
  struct Kept;
  Kept& Find(const CurvesWanted& wanted, uint32_t attempts);
  static absl::Status ReadRows(StoreReader& reader, Kept& kept, size_t& rows_left);
  static absl::Status ReadEvaluations(StoreReader& reader, Kept& kept);

  std::list<Kept> kept_;  // the most recently requested first
};

}  // namespace dt
