// metrics.h: the newest scrape as Prometheus families.
//
// Role:    the one Collectable behind /metrics. No object for each series, so trials come and go at
//          no cost.
// Threads: thread-safe: SetScrape from the core thread, Collect from the HTTP threads.
// Tests:   tests/coordinator/http/metrics_test.cc pipes a rendering through promtool.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "coordinator/metrics/metrics_model.h"
#include "coordinator/rpc/rpc_stats.h"
#include "prometheus/collectable.h"

namespace dt {

// Reports of workers, counted on arrival.
struct ReportCounts {
  uint64_t reports = 0;
  uint64_t refused = 0;
};

class Metrics final : public prometheus::Collectable {
 public:
  // Calls `reports` at each scrape. Borrows `stats`.
  Metrics(const RpcStats& stats, std::function<ReportCounts()> reports)
      : stats_(stats), reports_(std::move(reports)) {}

  void SetScrape(std::shared_ptr<const MetricsScrape> scrape);
  enum class Readiness { kNotReady, kReady };
  void SetReadiness(Readiness readiness) { readiness_.store(readiness); }
  bool Ready() const { return readiness_.load() == Readiness::kReady; }

  std::vector<prometheus::MetricFamily> Collect() const override;
  // Returns the result of Collect in Prometheus' text format.
  std::string Render() const;
  std::shared_ptr<const MetricsScrape> Scrape() const;

 private:
  const RpcStats& stats_;
  const std::function<ReportCounts()> reports_;
  std::atomic<Readiness> readiness_{Readiness::kNotReady};
  mutable Mutex mutex_;
  // Shared with scrapes in progress; the core thread replaces it and never changes it.
  std::shared_ptr<const MetricsScrape> scrape_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<MetricsScrape>();
};

}  // namespace dt
