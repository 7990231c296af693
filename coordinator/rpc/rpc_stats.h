// rpc_stats.h: how many calls ended how, and how long they took.
//
// Threads: thread-safe; counters only grow, read without a lock by whoever renders them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace dt {

enum class Method {
  kSubmit,
  kListExperiments,
  kGetExperiment,
  kListTrials,
  kListWorkers,
  kListCheckpoints,
  kExplainTrial,
  kReadMetrics,
  kReadLogs,
  kCancel,
  kRetry,
  kDelete,
  kGetStatus,
  kSession,
};
inline constexpr std::array<const char*, 14> kMethodNames = {
    "Submit",          "ListExperiments", "GetExperiment", "ListTrials", "ListWorkers",
    "ListCheckpoints", "ExplainTrial",    "ReadMetrics",   "ReadLogs",   "Cancel",
    "Retry",           "Delete",          "GetStatus",     "Session"};
inline constexpr std::array<const char*, 17> kCodeNames = {
    "OK",       "Cancelled",      "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};
// Of handling times, seconds.
inline constexpr std::array<double, 10> kHandlingBounds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                                           0.05,  0.1,    0.25,  1,    5};

class RpcStats {
 public:
  struct PerMethod {
    std::array<std::atomic<uint64_t>, kCodeNames.size()> handled{};
    std::array<std::atomic<uint64_t>, kHandlingBounds.size() + 1> buckets{};
    std::atomic<int64_t> handling_ns{0};
  };

  void CountEnd(Method method, grpc::StatusCode code) {
    const auto index = static_cast<size_t>(code);
    if (index < kCodeNames.size()) Of(method).handled[index].fetch_add(1, kRelaxed);
  }
  void CountTime(Method method, absl::Duration took) {
    const double seconds = absl::ToDoubleSeconds(took);
    size_t bucket = 0;
    while (bucket < kHandlingBounds.size() && seconds > kHandlingBounds[bucket]) ++bucket;
    Of(method).buckets[bucket].fetch_add(1, kRelaxed);
    Of(method).handling_ns.fetch_add(absl::ToInt64Nanoseconds(took), kRelaxed);
  }
  const PerMethod& of(Method method) const { return methods_[static_cast<size_t>(method)]; }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  PerMethod& Of(Method method) { return methods_[static_cast<size_t>(method)]; }
  std::array<PerMethod, kMethodNames.size()> methods_;
};

}  // namespace dt
