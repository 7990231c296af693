// metrics.cc: see metrics.h.
#include "worker/program/metrics.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace dt::program {
namespace {

// Between two looks at files: a search decides in seconds.
constexpr absl::Duration kLookEvery = absl::Seconds(1);
// Between two searches for more files, once each path gave one: a search reads folders.
constexpr absl::Duration kSearchEvery = absl::Seconds(5);
constexpr size_t kShownPatternBytes = 100;

std::string ShownPath(const char* field, const std::string& path) {
  return absl::StrCat(field, " '", Printable(CleanText(path, kShownPatternBytes)), "'");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Metrics>> Metrics::Make(const ProgramSpec& spec,
                                                       const std::string& folder,
                                                       uint64_t resumed_step) {
  std::unique_ptr<Metrics> metrics(new Metrics(spec));
  if (!spec.metric_patterns.empty()) {
    absl::StatusOr<MetricLines> lines = MetricLines::Make(spec.metric_patterns, resumed_step);
    if (!lines.ok()) {
      return ConfigError(absl::StrCat("metrics.pattern: ", lines.status().message()));
    }
    metrics->printed_.emplace(
        PrintedMetrics{*std::move(lines), Samples(resumed_step, Samples::Fall::kKeep)});
  }
  if (spec.metric_paths.any()) metrics->files_.emplace(folder, spec.metric_paths, resumed_step);
  return metrics;
}

MetricFiles::Taken Metrics::Look(absl::Duration now) {
  if (!files_ || now < due_) return {};
  due_ = now + kLookEvery;
  if (FoundFiles() && now < search_due_) return files_->Read(MetricFiles::Paths::kKnown);
  search_due_ = now + kSearchEvery;
  return files_->Read();
}

MetricFiles::Taken Metrics::LookNow(absl::Duration now) {
  due_ = -absl::InfiniteDuration();
  return Look(now);
}

MetricFiles::Taken Metrics::Finish() { return files_ ? files_->Finish() : MetricFiles::Taken(); }

absl::Duration Metrics::NextDeadline() const { return files_ ? due_ : absl::InfiniteDuration(); }

std::string Metrics::Missing() const {
  if (printed_ && !printed_->lines.matched()) {
    return absl::StrCat("no line matched metrics.pattern '",
                        Printable(CleanText(patterns_[0], kShownPatternBytes)), "'");
  }
  if (!files_ || FoundFiles()) return "";
  std::string missing;
  if (!FoundRows()) missing = ShownPath("metrics.file", paths_.file);
  if (!FoundEvents()) {
    absl::StrAppend(&missing, missing.empty() ? "" : " or ",
                    ShownPath("metrics.tensorboard", paths_.tensorboard));
  }
  return absl::StrCat("it wrote nothing to ", missing);
}

}  // namespace dt::program
