// curve_keeper.h: curves of trials from the stored rows, which are read once.
//
// Role:      reads what came since the last call and adds it to the curves that it keeps; reads a
//            trial anew where it has made another attempt, which may supersede rows.
// Threads:   one at a time.
// Errors:    the reader's.
// Invariant: at most limits::kApiCurvesKept curves and kApiPointsKept points are kept; those that
//            were not asked for longest go.
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

namespace dt {

struct CurvesWanted {
  ExperimentId experiment = 0;
  uint32_t trial = 0;
  std::vector<std::string> metrics;  // columns of dtctl metrics, or names that a program gives
  size_t points = 0;                 // of each
  bool program = false;              // its rows say 0 of what their program did not tell
};

struct TrialCurves {
  uint64_t rows = 0;                             // read so far
  bool complete = false;                         // there are no more now
  std::vector<std::vector<CurvePoint>> metrics;  // in the order of `metrics`
};

class CurveKeeper {
 public:
  CurveKeeper();
  ~CurveKeeper();
  CurveKeeper(const CurveKeeper&) = delete;
  CurveKeeper& operator=(const CurveKeeper&) = delete;

  // Reads at most `rows_left` rows, and takes what it read from that. `attempts`: of the trial, as
  // the core knows it.
  absl::StatusOr<TrialCurves> Read(Reader& reader, const CurvesWanted& wanted, uint32_t attempts,
                                   size_t& rows_left);

  size_t kept() const { return kept_.size(); }

 private:
  struct Kept;
  Kept& Find(const CurvesWanted& wanted, uint32_t attempts);
  static absl::Status ReadRows(Reader& reader, Kept& kept, size_t& rows_left);
  static absl::Status ReadEvaluations(Reader& reader, Kept& kept);

  std::list<Kept> kept_;  // the one that was asked for last comes first
};

}  // namespace dt
