// rpc_stats.h: counts calls by their outcome, and how long they took.
//
// Threads: thread-safe; counters only grow.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "prometheus/histogram.h"

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
  kChange,
  kDelete,
  kMarkWorker,
  kGetStatus,
  kPlan,
  kSession,
  kPutCode,
  kGetCode,
  kCreateToken,
  kListTokens,
  kRevokeToken,
  kListAudit,
  kJoin,
  kSetQuota,
  kListQuotas,
};
inline constexpr std::array<const char*, 26> kMethodNames = {
    "Submit",      "ListExperiments", "GetExperiment", "ListTrials",
    "ListWorkers", "ListCheckpoints", "ExplainTrial",  "ReadMetrics",
    "ReadLogs",    "Cancel",          "Retry",         "Change",
    "Delete",      "MarkWorker",      "GetStatus",     "Plan",
    "Session",     "PutCode",         "GetCode",       "CreateToken",
    "ListTokens",  "RevokeToken",     "ListAudit",     "Join",
    "SetQuota",    "ListQuotas"};
inline constexpr std::array<const char*, 17> kCodeNames = {
    "OK",       "Cancelled",      "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

class RpcStats {
 public:
  struct PerMethod {
    std::array<std::atomic<uint64_t>, kCodeNames.size()> handled{};
    prometheus::Histogram handling{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}};
  };

  void CountEnd(Method method, grpc::StatusCode code) {
    const auto index = static_cast<size_t>(code);
    if (index < kCodeNames.size()) Of(method).handled[index].fetch_add(1);
  }
  void CountTime(Method method, absl::Duration took) {
    Of(method).handling.Observe(absl::ToDoubleSeconds(took));
  }
  const PerMethod& of(Method method) const { return methods_[static_cast<size_t>(method)]; }

 private:
  PerMethod& Of(Method method) { return methods_[static_cast<size_t>(method)]; }
  std::array<PerMethod, kMethodNames.size()> methods_;
};

}  // namespace dt
