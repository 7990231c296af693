// metrics.h: finds a program's numbers in its output and files, as the experiment's `metrics` say.
//
// Role:  holds the readers of one attempt, and when files are looked at.
// Tests: tests/worker/program/metrics_test.cc, with real programs
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/program/environment.h"
#include "worker/program/metric_files.h"
#include "worker/program/printed.h"

namespace dt::program {

class Metrics {
 public:
  // Call it before the program starts in `folder`. Errors: ConfigError, a wrong pattern.
  static absl::StatusOr<std::unique_ptr<Metrics>> Make(const ProgramSpec& spec,
                                                       const std::string& folder,
                                                       uint64_t resumed_step);

  // Returns the patterns for printed lines; nullptr: there are none.
  PrintedMetrics* printed() { return printed_ ? &*printed_ : nullptr; }
  // Returns what is new in files, if it is time to look. `now`: steady time.
  MetricFiles::Taken Look(absl::Duration now);
  // Returns what is new in files, at any time.
  MetricFiles::Taken LookNow(absl::Duration now);
  MetricFiles::Taken Finish();
  absl::Duration NextDeadline() const;  // steady time of the next look; infinite: never
  // Returns which of the experiment's `metrics` found nothing; "": each found something.
  std::string Missing() const;

 private:
  explicit Metrics(const ProgramSpec& spec)
      : patterns_(spec.metric_patterns), paths_(spec.metric_paths) {}

  // The program wrote to each path. REQUIRES: files_.
  bool FoundFiles() const { return FoundRows() && FoundEvents(); }
  bool FoundRows() const { return paths_.file.empty() || files_->found_rows(); }
  bool FoundEvents() const { return paths_.tensorboard.empty() || files_->found_events(); }

  const std::vector<std::string> patterns_;
  const MetricPaths paths_;
  std::optional<PrintedMetrics> printed_;
  std::optional<MetricFiles> files_;
  absl::Duration due_ = -absl::InfiniteDuration();
  absl::Duration search_due_ = -absl::InfiniteDuration();  // of the search for more files
};

}  // namespace dt::program
