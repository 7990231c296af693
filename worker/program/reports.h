// reports.h: turns a program's reports into a trainer's frames, at a bounded rate.
//
// Role:      pure, given the time.
// Bound:     limits::kProgramReportsPerSecond reports with the search's metric, as many without,
//            each with a burst of kProgramReportsBurst; of more, the newest waits and replaces the
//            one before. The first report with the metric at or after a step at which a search
//            compares is never dropped.
// Invariant: steps of rows rise, those of evaluations do not fall, and none lies beyond the trial's
//            last. Reports of one step, until one of a later step comes, are merged into one; if
//            that was already sent, the rest is one more.
// Tests:     tests/worker/program/reports_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/frames/frames.h"
#include "worker/program/near_miss.h"
#include "worker/program/report.h"

namespace dt::program {

// The properties of a trial against which reports are checked.
struct TrialInfo {
  std::string token;
  uint64_t resumed_step = 0;
  uint64_t steps = 0;           // of the complete trial; 0: unknown
  std::vector<uint64_t> rungs;  // steps at which a search compares, ascending
  std::string metric;           // the metric of the comparison; "": any evaluation
};
// Returns ⌈steps / divisor⌉ for each divisor, ascending, without repeats; empty if the number of
// steps is unknown.
std::vector<uint64_t> RungSteps(uint64_t steps, const std::vector<uint64_t>& divisors,
                                double share_every);

// A folder that the program reported as a checkpoint of this step.
struct SavedFolder {
  std::string folder;
  uint64_t step = 0;
  std::optional<double> loss;    // val_loss at this step, if reported
  std::optional<double> metric;  // the search's metric, if reported
};

class Reports {
 public:
  struct Outgoing {
    std::vector<frames::FromTrainer> frames;
    std::vector<std::string> complaints;  // for the trial's log
    std::optional<SavedFolder> saved;
  };
  explicit Reports(TrialInfo info, Instant now);

  Outgoing Take(std::string_view line, Instant now);
  // Returns waiting reports that are due.
  Outgoing Tend(Instant now);
  // Returns everything that waits, and the number of dropped reports, after the program's end.
  Outgoing Finish(Instant now);
  // Returns the steady time at which Tend has something; infinite: never.
  absl::Duration NextDeadline() const;
  uint64_t step() const { return step_; }  // the newest reported

  // Returns a hint about its reports: there are none, none has the metric, or some are dropped. "":
  // none. `near`: a line that it printed; `missing`: what its `metrics` did not find.
  enum class When { kRunning, kEnded };
  std::string Hint(When when, const std::optional<NearMiss>& near,
                   std::string_view missing = {}) const;

 private:
  struct Waiting {
    Report report;
    Instant at;            // when its first line came
    absl::Duration due;    // more of the step may come until then
    bool awaited = false;  // a search compares at it
  };
  enum class Kind { kWithMetric, kWithout };
  struct Allowance {
    double reports = 0;
    absl::Duration at;
  };

  bool HasMetric(const Report& report) const;
  std::string Doubt(const Report& report, std::optional<uint64_t> newest) const;
  bool CatchesUp(uint64_t step, std::optional<uint64_t> newest) const;
  std::string DoubtAboutWord(const Report& report);
  void TakeFlaws(std::string_view line, const Report& report, Outgoing& out);
  void TakeNumbers(std::string_view line, Report report, Instant now, Outgoing& out);
  void TakeRow(const Report& report, Instant now, Outgoing& out);
  void TakeEvaluation(Report report, Instant now, Outgoing& out);
  void TakeSaved(const Report& report, Outgoing& out);
  // Sends the waiting report if the rate allows or a search awaits it; otherwise it stays.
  void Release(Kind kind, Instant now, Outgoing& out);
  void ReleaseRow(Instant now, Outgoing& out);
  void Merge(const Report& more, Report& into, Outgoing& out);
  // Replaces a waiting report by a later one.
  void Displace(std::optional<Waiting>& waiting);
  void SayRow(const Report& report, Instant at, Outgoing& out);
  void SayRowOf(const Report& evaluation, Instant at, Outgoing& out);
  void SayEvaluation(const Waiting& waiting, Outgoing& out);
  void SayProgress(absl::Duration now, Outgoing& out);
  void Complain(std::string_view line, const std::string& why, Outgoing& out);
  bool Admit(Kind kind, absl::Duration now);
  bool IsAwaited(uint64_t step);
  void Remember(const Report& report);
  std::optional<Waiting>& Slot(Kind kind);

  const TrialInfo info_;
  uint64_t step_ = 0;
  std::string step_word_;  // its lines' name for their step
  std::optional<uint64_t> row_step_, evaluation_step_, saved_step_;
  bool logged_early_save_ = false, logged_repeat_ = false, logged_catching_up_ = false;
  std::optional<uint64_t> sent_row_step_;
  absl::Duration sent_row_at_;
  std::set<std::string> sent_names_;      // names already sent for evaluation_step_
  std::optional<double> validated_loss_;  // at evaluation_step_
  std::optional<double> measured_;        // the metric there
  size_t rung_ = 0;                       // the next of info_.rungs
  Allowance with_metric_, without_;
  std::optional<Waiting> row_, evaluation_, other_;  // the last two: with and without the metric
  bool progress_due_ = false;
  std::optional<double> share_;
  absl::Duration progress_at_ = -absl::InfiniteDuration();
  uint64_t left_out_ = 0;
  int complaints_ = 0;
  uint64_t reports_ = 0;  // with numbers
  bool got_metric_ = false;
  bool got_number_ = false;               // a value of the metric was finite
  std::set<std::string> names_, flawed_;  // reported names; names that were dropped, with a
                                          // complaint
  std::string first_flaw_, first_wrong_;
};

}  // namespace dt::program
