// telling.h: what a program reports, turned into what a trainer would say, at a bounded rate.
//
// Role:      pure but for the time handed in.
// Bound:     limits::kProgramReportsPerSecond rows and evaluations, with a burst of
//            kProgramReportsBurst; of more the newest waits and takes the place of the one before.
//            The first evaluation at or beyond a step at which a search compares is never left out.
// Invariant: steps of rows and of evaluations rise, and none lies beyond the trial's last.
// Tests:     tests/worker/program/telling_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/frames/frames.h"
#include "worker/program/report.h"

namespace dt::program {

// The trial as far as reports are held against it.
struct Course {
  std::string token;
  uint64_t resumed_step = 0;
  uint64_t steps = 0;           // of the whole trial; 0: not said
  std::vector<uint64_t> rungs;  // steps at which a search compares, ascending
};
// ⌈steps / divisor⌉ of each, ascending, each once; none where the number of steps is not known.
std::vector<uint64_t> RungSteps(uint64_t steps, const std::vector<uint64_t>& divisors,
                                double share_every);

// A folder that the program says is a checkpoint of this step.
struct SavedFolder {
  std::string folder;
  uint64_t step = 0;
  std::optional<double> loss;    // val_loss at this step, where it was told
  std::optional<double> metric;  // that of the search, likewise
};

class Telling {
 public:
  struct Said {
    std::vector<frames::FromTrainer> frames;
    std::vector<std::string> complaints;  // for the trial's log
    std::optional<SavedFolder> saved;
  };
  explicit Telling(Course course, Instant now);

  Said Take(std::string_view line, Instant now);
  // What waited and is due.
  Said Tend(Instant now);
  // The program has ended: all that waits, and how much was left out.
  Said Finish(Instant now);
  // Steady time at which Tend has something; infinite: never.
  absl::Duration NextDeadline() const;
  uint64_t step() const { return step_; }  // the newest told

 private:
  struct Waiting {
    Report report;
    Instant at;
  };
  std::string Doubt(const Report& report, uint64_t newest) const;
  void TakeNumbers(const Report& report, Instant now, Said& said);
  void TakeRow(const Report& report, Instant now, Said& said);
  void TakeEvaluation(const Report& report, Instant now, Said& said);
  void TakeSaved(const Report& report, Said& said);
  void SayRow(const Report& report, Instant at, Said& said);
  void SayEvaluation(const Report& report, Said& said);
  void SayProgress(absl::Duration now, Said& said);
  void Complain(std::string_view line, const std::string& why, Said& said);
  bool Admit(absl::Duration now);
  bool IsAwaited(uint64_t step);

  const Course course_;
  uint64_t step_ = 0;
  std::optional<uint64_t> row_step_, evaluation_step_, saved_step_;
  uint64_t told_row_step_ = 0;
  absl::Duration told_row_at_;
  std::optional<double> validated_loss_;  // at evaluation_step_
  size_t rung_ = 0;                       // the next of course_.rungs
  double allowance_;
  absl::Duration allowance_at_;
  std::optional<Waiting> row_, evaluation_;
  bool progress_due_ = false;
  std::optional<double> share_;
  absl::Duration progress_at_ = -absl::InfiniteDuration();
  uint64_t left_out_ = 0;
  int complaints_ = 0;
};

}  // namespace dt::program
